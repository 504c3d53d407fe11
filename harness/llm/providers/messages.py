"""Anthropic's Messages API: messages and tools as its content blocks, and reading the answer's bytes.

What Anthropic's cache may keep is marked at two places: after the system prompt (and the tools before it), and before
the newest message, so that a step reads what the step before wrote. Thinking blocks have signatures and are given back
unchanged (`Message.items`). Sending needs the package `anthropic`, an optional extra; reading does not.

Source: https://docs.anthropic.com/en/api/messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.api import Answer, ChatSettings, RetryableError, text_of
from harness.codec import CodecError, JsonObject, dumps, loads
from harness.errors import ConfigError
from harness.llm.answer import NoAnswer, count, excerpt, given, mapping, mappings, parsed, short, whole
from harness.llm.connection import Connection, SdkErrors
from harness.llm.endpoint import ANTHROPIC_URL, Endpoint, without_variables
from harness.llm.model_family import anthropic_computer_tool
from harness.llm.providers.provider import SdkConnection, SdkProvider, example_role
from harness.records import ComputerTool, Message, Tool, ToolCall
from harness.records.chat_messages import COMPUTER

DEFAULT_MAX_TOKENS = 8192
"""The API demands a limit; thinking counts."""
_CACHED = {"cache_control": {"type": "ephemeral"}}
_BETA = {"computer_20250124": "computer-use-2025-01-24", "computer_20251124": "computer-use-2025-11-24"}
"""Computer tools that are offered only with this header."""
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_PLAIN = ("text", "tool_use")


class Messages(SdkProvider):
    """Anthropic's Messages API."""

    name = "messages"
    path = "/messages"
    conversation_keys = ("system", "messages")
    default_url = ANTHROPIC_URL
    maker = "anthropic"
    request_headers = ("anthropic-beta", "anthropic-version")
    has_computer_tool = True

    def conversation(self, messages: Sequence[Message]) -> JsonObject:
        """See `ModelProvider.conversation`; with the marks for the cache."""
        system, turns = _conversation(messages)
        if system:
            system[-1] |= _CACHED
        _mark_before_newest(turns)
        return given(system=system or None, messages=turns)

    def parameters(self, settings: ChatSettings) -> JsonObject:
        """See `ModelProvider.parameters`."""
        if settings.seed is not None:
            raise ConfigError("the Messages API has no seed; unset llm.seed")
        asked = given(temperature=settings.temperature, top_p=settings.top_p)
        asked["max_tokens"] = settings.max_tokens or DEFAULT_MAX_TOKENS
        if settings.reasoning_effort is not None:
            asked |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": settings.reasoning_effort}}
        return {**asked, **settings.extra_body}

    def offered(self, tools: Sequence[Tool | ComputerTool], settings: ChatSettings) -> list[JsonObject]:
        """See `ModelProvider.offered`."""
        return [_tool(tool, settings.model) for tool in tools]

    def function(self, tool: Mapping[str, Any]) -> JsonObject | None:
        """See `ModelProvider.function`."""
        match tool:
            case {"name": str(name), "input_schema": dict(parameters)}:
                described = {"name": name, "description": tool.get("description", ""), "parameters": parameters}
                return {"type": "function", "function": described}
        return None

    def body(
        self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool], settings: ChatSettings
    ) -> JsonObject:
        """See `ModelProvider.body`."""
        said, offered = self.conversation(messages), self.offered(tools, settings)
        # With a system prompt its mark is enough: the tools come before it.
        if offered and "system" not in said:
            offered[-1] |= _CACHED
        return given(model=settings.model, **said, tools=offered or None) | self.parameters(settings)

    def read(self, content: bytes) -> Answer:
        """See `ModelProvider.read`."""
        data = parsed(content)
        if not isinstance(data, dict) or not isinstance(data.get("content"), list):
            raise NoAnswer(f"malformed answer, no content: {excerpt(content)}", data)
        blocks = mappings(data["content"])
        counts = mapping(data.get("usage"))
        details, lifetimes = mapping(counts.get("output_tokens_details")), mapping(counts.get("cache_creation"))
        cached, written = (count(counts.get(f"cache_{name}_input_tokens")) for name in ("read", "creation"))
        finish = _FINISHES.get(str(data.get("stop_reason")), "")
        return Answer(
            text="".join(whole(block.get("text")) for block in blocks if block.get("type") == "text"),
            model=short(data.get("model")),
            # Unlike OpenAI's, its count of input leaves out what the cache held or took.
            prompt_tokens=count(counts.get("input_tokens")) + cached + written,
            completion_tokens=count(counts.get("output_tokens")),
            cached_tokens=cached,
            cache_write_tokens=written,
            cache_write_1h_tokens=count(lifetimes.get("ephemeral_1h_input_tokens")),
            reasoning_tokens=count(details.get("thinking_tokens")),
            tool_calls=tuple(_call(block) for block in blocks if block.get("type") == "tool_use"),
            finish_reason=finish,
            refusal=_refusal(data) if finish == "refusal" else "",
            reasoning="\n".join(text for block in blocks if (text := whole(block.get("thinking")))),
            items=() if all(_is_plain(block) for block in blocks) else tuple(blocks),
        )

    def joined(self, events: Sequence[JsonObject]) -> bytes:
        """See `ModelProvider.joined`; calls of functions are left out."""
        message: JsonObject = {}
        usage: JsonObject = {}
        text, ended = "", False
        for event in events:
            match event:
                case {"type": "message_start", "message": dict(begun)}:
                    message = begun
                    usage |= _counts(begun)
                case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(more)}}:
                    text += more
                case {"type": "message_delta", "delta": dict(changed)}:
                    message = {**message, **changed}
                    usage |= _counts(event)
                case {"type": "message_stop"}:
                    ended = True
        if not ended:
            raise RetryableError("the streamed answer was cut off")
        return dumps({**message, "content": [{"type": "text", "text": text}], "usage": usage})

    def connect(self, endpoint: Endpoint, settings: ChatSettings) -> Connection:
        """See `SdkProvider.connect`."""
        return _MessagesConnection(endpoint)


class _MessagesConnection(SdkConnection):
    """Through the package anthropic."""

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            from anthropic import APIConnectionError, APIStatusError, APITimeoutError, AsyncAnthropic
        except ImportError as error:
            raise ConfigError(
                "llm.api=messages needs the package anthropic: pip install 'cairn-harness[anthropic]'"
            ) from error
        errors = SdkErrors(timeout=APITimeoutError, connection=APIConnectionError, status=APIStatusError)
        # The package adds `/v1` itself.
        url = endpoint.address.rstrip("/").removesuffix("/v1")
        endpoint = endpoint.with_client()
        with without_variables():
            # No spans: their content would leave this process unredacted.
            client = AsyncAnthropic(base_url=url, open_telemetry=False, **endpoint.client_options())
        super().__init__(client, endpoint.http_client, f"/v1{Messages.path}", errors)

    async def send(self, body: JsonObject) -> Any:
        """See `Connection.send`."""
        betas = [_BETA[kind] for tool in body.get("tools", ()) if (kind := tool.get("type")) in _BETA]
        answer = await self._client.messages.with_raw_response.create(
            model="",  # in the body: the package warns of models by their names
            max_tokens=DEFAULT_MAX_TOKENS,
            messages=[],
            extra_body=body,
            extra_headers={"anthropic-beta": betas[0]} if betas else None,
        )
        return answer.http_response


def _tool(tool: Tool | ComputerTool, model: str) -> JsonObject:
    if isinstance(tool, Tool):
        strict = {"strict": True} if tool.strict else {}
        return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters, **strict}
    kind = anthropic_computer_tool(model)
    if kind not in _BETA:  # a toolset sees the size in its screenshots
        return {"type": kind}
    return {"type": kind, "name": COMPUTER, "display_width_px": tool.width, "display_height_px": tool.height}


def _conversation(messages: Sequence[Message]) -> tuple[list[JsonObject], list[JsonObject]]:
    """The system prompt, and the turns; system messages that come after the first turn are the user's."""
    system: list[JsonObject] = []
    turns: list[JsonObject] = []
    members = {call["id"] for message in messages for call in mappings(list(message.items)) if "toolset_name" in call}
    for message in messages:
        role = example_role(message)
        if role in ("system", "developer") and not turns:
            system += _blocks(message.content)
            continue
        role = "assistant" if role == "assistant" else "user"
        blocks = _turn(message, members)
        if turns and turns[-1]["role"] == role:  # results of one turn's calls belong into one message
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return system, turns


def _turn(message: Message, members: set[str]) -> list[JsonObject]:
    if message.items:
        return [dict(item) for item in message.items]
    blocks = _blocks(message.content)
    if message.role == "tool":
        member = {"toolset_name": COMPUTER} if message.tool_call_id in members else {}
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": blocks, **member}]
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)} for call in message.tool_calls
    ]
    return [*blocks, *calls]


def _input(call: ToolCall) -> Any:
    """The arguments; the API takes nothing but an object."""
    try:
        arguments = loads(call.arguments)
    except CodecError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _blocks(content: str | Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """Content blocks; a text block must not be empty."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_block(part) for part in parts if part.get("type") != "text" or part.get("text")]


def _block(part: Mapping[str, Any]) -> JsonObject:
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            head, comma, data = url.partition(";base64,")
            if not comma:
                return {"type": "image", "source": {"type": "url", "url": url}}
            media = head.removeprefix("data:")
            return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
    return dict(part)


def _mark_before_newest(turns: list[JsonObject]) -> None:
    """Mark the last block before the newest message that may carry a mark."""
    if len(turns) > 1:
        for block in reversed(turns[-2]["content"]):
            # The API refuses marks on thinking.
            if "thinking" not in str(block.get("type")):
                block |= _CACHED
                return


def _is_plain(block: Mapping[str, Any]) -> bool:
    return block.get("type") in _PLAIN and "toolset_name" not in block


def _refusal(data: Mapping[str, Any]) -> str:
    said = whole(mapping(data.get("stop_details")).get("explanation"))
    return said or text_of([one for one in mappings(data["content"]) if isinstance(one.get("text"), str)])


def _call(block: Mapping[str, Any]) -> ToolCall:
    """A call; an action of the computer toolset has the shape of one of the single computer tool."""
    name, arguments = whole(block.get("name")), block.get("input")
    if block.get("toolset_name") == COMPUTER and isinstance(arguments, dict):
        name, arguments = COMPUTER, {"action": name, **arguments}
    return ToolCall(id=whole(block.get("id")), name=name, arguments=dumps(arguments).decode())


def _counts(event: JsonObject) -> JsonObject:
    """What an event counts; null says nothing, and an earlier event may have counted it."""
    return given(**mapping(event.get("usage")))
