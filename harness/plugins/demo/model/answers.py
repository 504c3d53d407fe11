"""The endpoint's HTTP answers: whole, streamed, or broken on purpose, in any of the wire formats."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from harness.api import JsonObject, dumps
from harness.plugins.demo.model.chat_api import ChatFormat, events, openai_error
from harness.plugins.demo.model.conversation import Conversation, Ending, WireFormat
from harness.plugins.demo.model.fault_injection import Fault
from harness.plugins.demo.model.prompt_cache import CachedPrompt
from harness.plugins.demo.model.scripted_policy import ScriptedAnswer

UNPARSEABLE = "I would rather not write an action this time."
REFUSAL = "I cannot help with that."
_STREAMED = ChatFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """One request, and all that its answer is made of."""

    format: WireFormat
    asked: Conversation
    answer: ScriptedAnswer
    cached: CachedPrompt

    def whole(self, ending: Ending = Ending.done) -> JsonObject:
        return self.format.whole(self.asked, self.answer, self.cached, ending)

    def complete(self) -> Response:
        """The answer, as one JSON object or (chat completions only) as server-sent events."""
        if self.asked.stream and isinstance(self.format, _STREAMED):
            return StreamingResponse(events(self.asked, self.answer, self.cached), media_type="text/event-stream")
        return JSONResponse(self.whole())

    def spoil(self, fault: Fault) -> Response:
        """The answer with a fault in it; `slow` has done its harm before."""
        if fault.status is not None:
            return self._refusal(fault)
        made = _SPOILT.get(fault.do)
        return self.complete() if made is None else made(self)

    def saying(self, text: str) -> "Answering":
        """The same with another answer, which calls nothing."""
        return replace(self, answer=replace(self.answer, text=text, calls=()))

    def _refusal(self, fault: Fault) -> Response:
        response = refuse(fault.status or 500, f"injected fault {fault.do}", format=self.format)
        if fault.retry_after is not None:
            response.headers["retry-after"] = f"{fault.retry_after:g}"
        return response


def _half(whole: Answering) -> bytes:
    content = dumps(whole.whole())
    return content[: len(content) // 2]


def _cut_off(whole: Answering) -> Response:
    text = whole.answer.text
    return JSONResponse(whole.saying(text[: len(text) // 2]).whole(Ending.length))


_SPOILT: Mapping[str, Callable[[Answering], Response]] = MappingProxyType(
    {
        "hang": lambda whole: _Hang(),
        "cut": lambda whole: _Cut(dumps(whole.whole()), media_type="application/json"),
        "malformed": lambda whole: Response(_half(whole), media_type="application/json"),
        "empty": lambda whole: JSONResponse(whole.format.empty(whole.asked)),
        "length": _cut_off,
        "refusal": lambda whole: JSONResponse(whole.saying(REFUSAL).whole(Ending.refusal)),
        "unparseable": lambda whole: whole.saying(UNPARSEABLE).complete(),
    }
)


def refuse(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    format: WireFormat | None = None,
) -> JSONResponse:
    """An error in the shape of the interface; without one, in OpenAI's."""
    shape = openai_error if format is None else format.error
    return JSONResponse(shape(status, message, code=code, param=param), status_code=status)


class _Hang(Response):
    """Never answers; ends when the client goes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class _Cut(Response):
    """Promises a whole body, sends half of it and leaves: the server then drops the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        half = bytes(self.body[: len(self.body) // 2])
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": half, "more_body": True})
