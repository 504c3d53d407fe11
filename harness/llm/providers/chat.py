"""Chat completions: messages and tools as such a request has them, and reading the answer's bytes.

OpenAI-compatible servers differ in what they leave out, so only what we need is demanded: a first choice with a
message. Anything less is `RetryableError`: proxies answer with half JSON, HTML or an empty list when they are in
trouble.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harness.api import Answer, ChatSettings, RetryableError
from harness.codec import JsonObject, dumps, loads
from harness.errors import ConfigError
from harness.llm.answer import NoAnswer, count, excerpt, given, mapping, mappings, parsed, short, token_details, whole
from harness.llm.connection import Connection, openai_errors
from harness.llm.endpoint import Endpoint
from harness.llm.model_family import REASONING_TOKENS, is_reasoning_model
from harness.llm.providers.provider import SdkConnection, SdkProvider
from harness.records import ComputerTool, Message, Tokens, Tool, ToolCall

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.shared_params import FunctionDefinition

_FINISHES = {one: one for one in ("stop", "length", "tool_calls", "content_filter")} | {
    "model_length": "length",  # Mistral's word
    "max_tokens": "length",
}
_REASONING = ("reasoning_content", "reasoning")
"""What servers call the text of a model's reasoning: DeepSeek and vLLM; OpenRouter and newer vLLM."""
_NAMED_ID = re.compile(r"token_id:([0-9]{1,10})")
# Tables of trajectories have 32 bits for an id.
_LARGEST_ID = (1 << 31) - 1
_ECHOED = ("reasoning_details", "extra_content")
"""What some servers want back: OpenRouter on the message, Gemini (a signature) on each call."""


class ChatCompletions(SdkProvider):
    """Chat completions of OpenAI and of every compatible server."""

    name = "chat"
    path = "/chat/completions"
    conversation_keys = ("messages",)
    maker = "openai"
    request_headers = ("openai-beta",)

    def conversation(self, messages: Sequence[Message]) -> JsonObject:
        """See `ModelProvider.conversation`."""
        return {"messages": [plain_message(message) for message in messages]}

    def parameters(self, settings: ChatSettings) -> JsonObject:
        """See `ModelProvider.parameters`.

        A model whose family is known to reason is sent no `temperature` and no `top_p`, and its limit leaves room for
        the reasoning; naming the field of the limit turns this off.
        """
        limit = settings.max_tokens
        # By the model's name: presets without `temperature` would be other settings to all run folders made with them.
        if settings.max_tokens_field == "max_tokens" and is_reasoning_model(settings.model):
            family = given(max_completion_tokens=None if limit is None else limit + REASONING_TOKENS)
        else:
            sampled = given(temperature=settings.temperature, top_p=settings.top_p)
            family = sampled | given(**{settings.max_tokens_field: limit})
        asked = given(reasoning_effort=settings.reasoning_effort, seed=settings.seed)
        return {**family, **asked, **settings.extra_body}

    def offered(
        self, tools: Sequence[Tool | ComputerTool], settings: ChatSettings
    ) -> "list[ChatCompletionFunctionToolParam]":
        """See `ModelProvider.offered`."""
        if any(isinstance(tool, ComputerTool) for tool in tools):
            raise ConfigError("chat completions have no computer tool; choose llm.api=responses or llm.api=messages")
        return [_plain_tool(tool) for tool in tools if isinstance(tool, Tool)]

    def function(self, tool: Mapping[str, Any]) -> JsonObject | None:
        """See `ModelProvider.function`."""
        match tool:
            case {"type": "function", "function": dict()}:
                return dict(tool)
        return None

    def read(self, content: bytes) -> Answer:
        """See `ModelProvider.read`."""
        data = parsed(content)
        choice, message = _choice(data)
        if message is None:
            raise NoAnswer(f"malformed answer, no choices[0].message: {excerpt(content)}", data)
        counts = mapping(data.get("usage"))
        prompt, completion = (token_details(counts, kind) for kind in ("prompt", "completion"))
        finish = choice.get("finish_reason")
        if finish == "error":  # of a gateway, whose provider failed in the middle of the answer
            raise RetryableError(f"the answer ends with an error: {excerpt(dumps(choice.get('error')))}")
        refusal = whole(message.get("refusal"))
        return Answer(
            text=_text(message.get("content")),
            model=short(data.get("model")),
            prompt_tokens=count(counts.get("prompt_tokens")),
            completion_tokens=_completion_tokens(counts),
            cached_tokens=count(prompt.get("cached_tokens")),
            cache_write_tokens=count(prompt.get("cache_write_tokens")),  # OpenRouter, which serves Claude
            reasoning_tokens=count(completion.get("reasoning_tokens")),
            tool_calls=tuple(_calls(message.get("tool_calls"))),
            finish_reason="refusal" if refusal else _FINISHES.get(str(finish), ""),
            refusal=refusal,
            reasoning=next((text for name in _REASONING if (text := whole(message.get(name)))), ""),
            items=_items(message),
        )

    def joined(self, events: Sequence[JsonObject]) -> bytes:
        """See `ModelProvider.joined`."""
        text, ended, body, sampled = "", None, JsonObject(), JsonObject()
        calls: dict[str, JsonObject] = {}
        for event in events:
            body |= {name: event[name] for name in ("model", "usage", "prompt_token_ids") if event.get(name)}
            for choice in mappings(event.get("choices"))[:1]:
                _add_tokens(sampled, choice)
                delta = mapping(choice.get("delta"))
                text += whole(delta.get("content"))
                _add_calls(calls, delta)
                ended = choice.get("finish_reason") or ended
        if "usage" in body and not any(event.get("choices") for event in events):
            return dumps({**body, "choices": []})  # the prompt was blocked
        if ended is None:
            raise RetryableError("the streamed answer was cut off")
        called = {"tool_calls": list(calls.values())} if calls else {}
        choice = {"message": {"role": "assistant", "content": text, **called}, "finish_reason": ended, **sampled}
        return dumps({**body, "choices": [choice]})

    def token_request(self, body: Mapping[str, Any]) -> JsonObject:
        """See `ModelProvider.token_request`; in both spellings of vLLM, of which old versions know the second only."""
        asked: JsonObject = {"return_token_ids": True}
        if (
            "logprobs" not in body
        ):  # else who asked for them reads the tokens' texts, which the second spelling replaces
            asked |= {"logprobs": True, "return_tokens_as_token_ids": True}
        return {key: value for key, value in asked.items() if key not in body}

    def tokens(self, content: bytes) -> Tokens | None:
        """See `ModelProvider.tokens`; in either spelling of vLLM."""
        try:
            data = parsed(content)
        except RetryableError:
            return None
        if not isinstance(data, dict) or not (choices := mappings(data.get("choices"))):
            return None
        logprobs = _logprobs(choices[0])
        sampled = _ids(choices[0].get("token_ids")) or _ids([_named_id(one.get("token")) for one in logprobs])
        found = Tokens(
            prompt_ids=_ids(data.get("prompt_token_ids")),
            completion_ids=sampled,
            logprobs=tuple(_logprob(one.get("logprob")) for one in logprobs),
        )
        return found if found.prompt_ids or found.completion_ids or found.logprobs else None

    def connect(self, endpoint: Endpoint, settings: ChatSettings) -> Connection:
        """See `SdkProvider.connect`."""
        return _ChatConnection(endpoint, settings)


class _ChatConnection(SdkConnection):
    """Through the package openai."""

    def __init__(self, endpoint: Endpoint, settings: ChatSettings) -> None:
        endpoint = endpoint.with_client()
        self._model = settings.model
        self._has_deployments = endpoint.azure and bool(endpoint.settings.api_version)
        super().__init__(endpoint.connect(), endpoint.http_client, ChatCompletions.path, openai_errors())
        self._raw = self._client.chat.completions.with_raw_response  # imported now, as the browser comes up meanwhile

    async def send(self, body: JsonObject) -> Any:
        """See `Connection.send`."""
        # Raw, because the package's own parsing accepts answers without choices and trips over bad JSON. The messages
        # have their shape already: as `messages` the package would rebuild every one of them, which takes as long as
        # all the rest of a request.
        answer = await self._raw.create(model=self._model, messages=[], extra_body=body)
        return answer.http_response

    async def pass_on(self, body: bytes, headers: Mapping[str, str]) -> Any:
        """See `Connection.pass_on`."""
        return await self._copied.send(body, headers, below=self._deployment(body))

    def _deployment(self, body: bytes) -> str:
        """The path of a model in dated versions of Azure's interface; the package adds it for its own bodies only."""
        match loads(body) if self._has_deployments else None:
            case {"model": str(model)} if model:
                return f"/deployments/{quote(model, safe='')}"
        return ""


def plain_message(message: Message) -> Mapping[str, Any]:
    """A message as the endpoint takes it."""
    if message.items:
        return message.items[0]
    content = message.content if isinstance(message.content, str) else list(message.content)
    plain: JsonObject = {"role": message.role, "content": content}
    if message.name is not None:
        plain["name"] = message.name
    if message.tool_calls:
        plain["tool_calls"] = [plain_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        plain["tool_call_id"] = message.tool_call_id
    return plain


def plain_call(call: ToolCall) -> JsonObject:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _plain_tool(tool: Tool) -> "ChatCompletionFunctionToolParam":
    function: FunctionDefinition = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _completion_tokens(counts: Mapping[str, Any]) -> int:
    """All of them: Gemini and xAI count those of reasoning in the total only.

    Source: https://docs.x.ai/docs/key-information/consumption-and-rate-limits.
    """
    prompt, said, total = (count(counts.get(f"{kind}_tokens")) for kind in ("prompt", "completion", "total"))
    # Without a count of the prompt the total would be taken for the completion.
    return max(said, total - prompt) if prompt else said


def _choice(data: Any) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    match data:
        case {"choices": [{"message": dict(message)} as choice, *_]}:
            return choice, message
        case {"choices": [{"finish_reason": str(finish)} as choice, *_]} if finish.startswith("content_filter"):
            return choice | {"finish_reason": "content_filter"}, {}  # Gemini and Azure, when they withhold all of it
        case {"choices": None | [], "usage": {"prompt_tokens": int(read)}} if read > 0 and not data.get("error"):
            return {"finish_reason": "content_filter"}, {}  # Gemini, when it blocks the prompt, which it has counted
        case _:
            return {}, None


def _calls(calls: Any) -> list[ToolCall]:
    """The calls of functions; anything else is in the raw answer only."""
    found = []
    for call in mappings(calls):
        function = call.get("function")
        if isinstance(function, dict):
            name, written = whole(function.get("name")), function.get("arguments")
            arguments = dumps(written).decode() if isinstance(written, dict) else whole(written)  # some encode nothing
            found.append(ToolCall(id=whole(call.get("id")), name=name, arguments=arguments))
    return found


def _items(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The turn as it has to be sent back, where that is more than its text and calls."""
    calls = mappings(message.get("tool_calls"))
    # The turn as it came: which parts go back, and in what order, are rules of each provider that change.
    if not any(key in part for key in _ECHOED for part in (message, *calls)):
        return ()
    kept = ("role", "content", "tool_calls", *_ECHOED)
    return ({"role": "assistant", **{key: message[key] for key in kept if key in message}},)


def _text(content: Any) -> str:
    """Some servers answer in content parts, as requests may."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return whole("".join(part for part in parts if isinstance(part, str)))
    return whole(content)


def _add_tokens(sampled: JsonObject, choice: Mapping[str, Any]) -> None:
    """The tokens of one chunk."""
    if isinstance(ids := choice.get("token_ids"), list):
        sampled.setdefault("token_ids", []).extend(ids)
    if found := _logprobs(choice):
        sampled.setdefault("logprobs", {"content": []})["content"].extend(found)


def _logprobs(choice: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    match choice.get("logprobs"):
        case {"content": list(content)} if all(isinstance(one, dict) for one in content):
            return content
    return []


def _ids(values: Any) -> tuple[int, ...]:
    """() unless all of them are ids."""
    if not isinstance(values, list) or not all(type(one) is int and 0 <= one <= _LARGEST_ID for one in values):
        return ()
    return tuple(values)


def _named_id(token: Any) -> int | None:
    """The id in the place of a token's text."""
    found = _NAMED_ID.fullmatch(token) if isinstance(token, str) else None
    return int(found[1]) if found else None


def _logprob(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and isfinite(value) else None


def _add_calls(calls: dict[str, JsonObject], delta: Mapping[str, Any]) -> None:
    """The parts of calls in one chunk; `index` says which call a part belongs to."""
    for number, part in enumerate(mappings(delta.get("tool_calls"))):
        call = calls.setdefault(str(part.get("index", number)), {"type": "function", "function": {"arguments": ""}})
        call |= {"id": whole(part["id"])} if part.get("id") else {}
        function = mapping(part.get("function"))
        call["function"] |= {"name": whole(function["name"])} if function.get("name") else {}
        call["function"]["arguments"] += whole(function.get("arguments"))
