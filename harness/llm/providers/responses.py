"""OpenAI's Responses API: messages and tools as its input items, and reading the answer's bytes.

Nothing is stored by the provider (`store: false`): the conversation is sent whole in every request, as in the other
interfaces, so that a resume needs nothing but the journal. What a reasoning model thought comes encrypted and is given
back unchanged (`Message.items`).

Source: https://platform.openai.com/docs/api-reference/responses.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.api import Answer, ChatSettings, RetryableError, text_of
from harness.codec import JsonObject, dumps
from harness.errors import ConfigError
from harness.llm.answer import NoAnswer, count, excerpt, given, mapping, mappings, parsed, short, token_details, whole
from harness.llm.connection import Connection, openai_errors
from harness.llm.endpoint import Endpoint
from harness.llm.model_family import REASONING_TOKENS, is_computer_preview, is_reasoning_model
from harness.llm.providers.provider import SdkConnection, SdkProvider, example_role
from harness.records import ComputerTool, Message, Tool, ToolCall
from harness.records.chat_messages import COMPUTER

_FAILED = ("failed", "cancelled")
_PENDING = ("queued", "in_progress")
"""Of a request with `background`."""
_ENDED = ("response.completed", "response.incomplete", "response.failed")
_LIMITS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Responses(SdkProvider):
    """OpenAI's Responses API, at OpenAI, Azure and compatible servers."""

    name = "responses"
    path = "/responses"
    conversation_keys = ("input",)
    maker = "openai"
    request_headers = ("openai-beta",)
    has_computer_tool = True

    def conversation(self, messages: Sequence[Message]) -> JsonObject:
        """See `ModelProvider.conversation`."""
        return {"input": _items(messages)}

    def parameters(self, settings: ChatSettings) -> JsonObject:
        """See `ModelProvider.parameters`."""
        if settings.seed is not None:
            raise ConfigError("the Responses API has no seed; unset llm.seed, or choose llm.api=chat")
        reasons, limit = is_reasoning_model(settings.model), settings.max_tokens
        asked: JsonObject = {"store": False}
        if reasons:
            asked["include"] = ["reasoning.encrypted_content"]
        if limit is not None:
            asked["max_output_tokens"] = limit + REASONING_TOKENS * reasons
        if not reasons:
            asked |= given(temperature=settings.temperature, top_p=settings.top_p)
        if settings.reasoning_effort is not None:
            asked["reasoning"] = {"effort": settings.reasoning_effort}
        if is_computer_preview(settings.model):
            asked["truncation"] = "auto"  # that model takes no other
        return {**asked, **settings.extra_body}

    def offered(self, tools: Sequence[Tool | ComputerTool], settings: ChatSettings) -> list[JsonObject]:
        """See `ModelProvider.offered`."""
        return [_tool(tool, settings.model) for tool in tools]

    def function(self, tool: Mapping[str, Any]) -> JsonObject | None:
        """See `ModelProvider.function`."""
        match tool:
            case {"type": "function", "name": str()}:
                return {"type": "function", "function": {key: tool[key] for key in tool if key != "type"}}
        return None

    def read(self, content: bytes) -> Answer:
        """See `ModelProvider.read`."""
        data = parsed(content)
        if not isinstance(data, dict) or not isinstance(data.get("output"), list):
            raise NoAnswer(f"malformed answer, no output: {excerpt(content)}", data)
        if (status := data.get("status")) in (*_FAILED, *_PENDING):
            why = f"the response is {status}: {excerpt(dumps(data.get('error')))}"
            raise NoAnswer(why, data, is_pending=status in _PENDING)
        output = mappings(data["output"])
        calls = [call for item in output for call in _calls(item)]
        texts, refusals = (_said(output, kind, key) for kind, key in (("output_text", "text"), ("refusal", "refusal")))
        counts = mapping(data.get("usage"))
        prompt, completion = (token_details(counts, kind) for kind in ("input", "output"))
        return Answer(
            text="".join(texts),
            model=short(data.get("model")),
            prompt_tokens=count(counts.get("input_tokens")),
            completion_tokens=count(counts.get("output_tokens")),
            cached_tokens=count(prompt.get("cached_tokens")),
            cache_write_tokens=count(prompt.get("cache_write_tokens")),
            reasoning_tokens=count(completion.get("reasoning_tokens")),
            tool_calls=tuple(calls),
            finish_reason="refusal" if refusals else _finish(data, calls),
            refusal="".join(refusals),
            reasoning="\n".join(_reasoning(output)),
            items=() if all(item.get("type") in ("message", "function_call") for item in output) else tuple(output),
        )

    def joined(self, events: Sequence[JsonObject]) -> bytes:
        """See `ModelProvider.joined`."""
        whole_response = next((event.get("response") for event in events if event.get("type") in _ENDED), None)
        if whole_response is None:
            raise RetryableError("the streamed answer was cut off")
        return dumps(whole_response)

    def connect(self, endpoint: Endpoint, settings: ChatSettings) -> Connection:
        """See `SdkProvider.connect`."""
        return _ResponsesConnection(endpoint, settings)


class _ResponsesConnection(SdkConnection):
    """Through the package openai."""

    def __init__(self, endpoint: Endpoint, settings: ChatSettings) -> None:
        endpoint = endpoint.with_client()
        self._model = settings.model
        super().__init__(endpoint.connect(), endpoint.http_client, Responses.path, openai_errors())

    async def send(self, body: JsonObject) -> Any:
        """See `Connection.send`."""
        answer = await self._client.responses.with_raw_response.create(model=self._model, input=[], extra_body=body)
        return answer.http_response


def _tool(tool: Tool | ComputerTool, model: str) -> JsonObject:
    if isinstance(tool, Tool):
        described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return {"type": "function", **described, "strict": tool.strict}
    if is_computer_preview(model):
        sizes = {"display_width": tool.width, "display_height": tool.height, "environment": "browser"}
        return {"type": "computer_use_preview", **sizes}
    return {"type": "computer"}


def _items(messages: Sequence[Message]) -> list[Any]:
    """The conversation as input items."""
    computer = {call.id: call for message in messages for call in message.tool_calls if call.name == COMPUTER}
    last = {message.tool_call_id: number for number, message in enumerate(messages)}
    found: list[Any] = []
    for number, message in enumerate(messages):
        if message.role != "tool":
            found += _turn(message)
        elif (call := computer.get(message.tool_call_id or "")) is None:
            output = message.content if isinstance(message.content, str) else _parts(message.content)
            found.append({"type": "function_call_output", "call_id": message.tool_call_id, "output": output})
        elif last[message.tool_call_id] == number:  # a call of several actions has one result
            found += _computer_output(message, call)
    return found


def _turn(message: Message) -> list[Any]:
    if message.items:
        return list(message.items)
    role = example_role(message)
    content = text_of(message.content) if role == "assistant" else _content(message.content)
    spoken = [{"role": role, "content": content}] if content or not message.tool_calls else []
    called = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return [*spoken, *called]


def _computer_output(message: Message, call: ToolCall) -> list[Any]:
    """A screenshot; what else there is to say is a separate message.

    Raises:
        ConfigError: There is no screenshot.
    """
    parts = [] if isinstance(message.content, str) else _parts(message.content)
    shots = [part["image_url"] for part in parts if part["type"] == "input_image"]
    if not shots:
        raise ConfigError("the result of a computer call needs a screenshot; set browser.screenshots=true")
    output = {"type": "computer_screenshot", "image_url": shots[-1]}
    checks = {"acknowledged_safety_checks": list(call.safety_checks)} if call.safety_checks else {}
    said = text_of(message.content)
    further = [{"role": "user", "content": said}] if said else []
    return [{"type": "computer_call_output", "call_id": call.id, "output": output, **checks}, *further]


def _content(content: str | Sequence[Mapping[str, Any]]) -> Any:
    return content if isinstance(content, str) else _parts(content)


def _parts(content: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    match part:
        case {"type": "text", "text": text}:
            return {"type": "input_text", "text": text}
        case {"type": "image_url", "image_url": {"url": url, **more}}:
            return {"type": "input_image", "image_url": url, "detail": more.get("detail", "auto")}
    return part


def _finish(data: Mapping[str, Any], calls: Sequence[ToolCall]) -> str:
    match data:
        case {"status": "incomplete", "incomplete_details": {"reason": str(reason)}}:
            return _LIMITS.get(reason, "length")
        case {"status": "incomplete"}:
            return "length"
        case {"status": "completed"}:
            return "tool_calls" if calls else "stop"
    return ""


def _said(output: Sequence[Mapping[str, Any]], kind: str, key: str) -> list[str]:
    messages = (item for item in output if item.get("type") == "message")
    parts = (part for message in messages for part in mappings(message.get("content")))
    return [text for part in parts if part.get("type") == kind and (text := whole(part.get(key)))]


def _reasoning(output: Sequence[Mapping[str, Any]]) -> list[str]:
    thoughts = (item for item in output if item.get("type") == "reasoning")
    parts = (part for item in thoughts for key in ("summary", "content") for part in mappings(item.get(key)))
    return [text for part in parts if (text := whole(part.get("text")))]


def _calls(item: Mapping[str, Any]) -> list[ToolCall]:
    call_id = whole(item.get("call_id"))
    match item.get("type"):
        case "function_call":
            name, arguments = whole(item.get("name")), whole(item.get("arguments"))
            return [ToolCall(id=call_id, name=name, arguments=arguments)]
        case "computer_call":
            single = mappings([item.get("action")])
            checks = tuple(mappings(item.get("pending_safety_checks")))
            return [
                ToolCall(id=call_id, name=COMPUTER, arguments=dumps(action).decode(), safety_checks=checks)
                for action in single or mappings(item.get("actions"))
            ]
    return []
