"""The scripted endpoint: three interfaces of model providers over HTTP, answered by one scripted policy.

It is a reference for tests and smoke runs, not a model: it knows a plan for each task and follows it. It keeps no
conversation, so the reply follows from the request alone; only the request log, fault rules and the count of cached
tokens know earlier requests. It is as strict as the providers are about parameters of models with names like theirs,
results of calls, and reasoning that has to be given back.

    POST /v1/chat/completions    plain, or `"stream": true` (server-sent events; usage with `include_usage`)
    POST /v1/responses           OpenAI's Responses API
    POST /v1/messages            Anthropic's Messages API; keys in `x-api-key`
    /v1/files, /v1/fine_tuning/jobs, /v1/models     see `fine_tuning_server`
    GET  /__requests__           every chat request so far: sequence, time, task, step, status, fault, sha256 of body
    and messages GET  /__stats__              how many, by status (`none` = no answer was finished), and how many at
    most at once

    python -m harness.plugins.demo.model.model_server --intents FILE --plans FILE [--port N] [--faults JSON]
        [--latency-ms N] [--state FILE]

A run takes its secrets out of the files that it writes; CAIRN_SCRIPTED_SECRETS holds those to be put back, as JSON.
"""

import argparse
import asyncio
import hmac
import os
import sys
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.api import dumps, loads
from harness.api.http_server import run
from harness.api.secrets import Redactor
from harness.errors import ConfigError, ExitCode, TaskError, UsageError
from harness.plugins.demo.model.answers import Answering, refuse
from harness.plugins.demo.model.chat_api import ChatFormat
from harness.plugins.demo.model.conversation import Conversation, WireFormat
from harness.plugins.demo.model.fault_injection import Fault, Injector, read_faults
from harness.plugins.demo.model.fine_tuning_server import FineTunes, finetuning_routes
from harness.plugins.demo.model.messages_api import MessagesFormat
from harness.plugins.demo.model.policy import answer
from harness.plugins.demo.model.prompt_cache import CachedPrompt, PromptCache
from harness.plugins.demo.model.responses_api import ResponsesFormat
from harness.plugins.demo.model.scripted_policy import ScriptedAnswer
from harness.plugins.demo.model.scripts import SECRETS_VARIABLE, Scripts, read_plans


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """One chat request, as `/__requests__` tells it."""

    sequence: int
    """1-based, in order of arrival."""
    at_s: float
    """Seconds since the endpoint began to serve."""
    task_id: str | None
    step: int
    """Number of the decision asked for; 0 = none."""
    status: int | None
    """None = the answer was never finished (hung or cut)."""
    fault: str | None
    body: str
    """sha256 of the request's body."""
    messages: tuple[str, ...]
    """sha256 of each message, written as a run writes it among its artifacts."""


class _Endpoint:
    def __init__(self, plans: Scripts, faults: Sequence[Fault], *, api_key: str | None, latency_s: float) -> None:
        self._plans = plans
        self._injector = Injector(faults)
        self._api_key = api_key
        self._latency_s = latency_s
        self._log: list[LoggedRequest] = []
        self._began = time.monotonic()
        self._at_once = self._most_at_once = 0
        self._cache = PromptCache()

    async def chat(self, request: Request) -> Response:
        return await self._counted(request, ChatFormat())

    async def responses(self, request: Request) -> Response:
        return await self._counted(request, ResponsesFormat())

    async def messages(self, request: Request) -> Response:
        return await self._counted(request, MessagesFormat())

    async def _counted(self, request: Request, format: WireFormat) -> Response:
        self._at_once += 1
        self._most_at_once = max(self._most_at_once, self._at_once)
        try:
            return await self._answer(request, format)
        finally:
            self._at_once -= 1

    async def _answer(self, request: Request, format: WireFormat) -> Response:
        raw = await request.body()
        digest = sha256(raw).hexdigest()
        asked = _conversation(raw, format, digest)
        said = answer(asked, self._plans) if asked else ScriptedAnswer(text="")
        if not self.lets_in(request):
            self._note(said, asked, digest, status=401)
            return refuse(401, "Incorrect API key provided", code="invalid_api_key", format=format)
        if asked is None:
            self._note(said, asked, digest, status=400)
            return refuse(400, "the body must be a JSON object with a list of messages", format=format)
        if asked.refused:
            self._note(said, asked, digest, status=400)
            code = "unsupported_parameter" if asked.refused_parameter else None
            return refuse(400, asked.refused, code=code, param=asked.refused_parameter, format=format)
        fault = self._injector.choose(task_id=said.task_id, step=said.step, digest=digest)
        cached = self._cached(asked, format, refused=fault is not None and fault.status is not None)
        answering = Answering(format=format, asked=asked, answer=said, cached=cached)
        response = answering.complete() if fault is None else answering.spoil(fault)
        response.headers.update(self._injector.headers())
        unfinished = fault is not None and fault.do in ("hang", "cut")
        status = None if unfinished else response.status_code
        self._note(said, asked, digest, status=status, fault=fault.do if fault else None)
        if fault is not None and fault.do == "limit":
            return response  # a refusal costs no model's time
        if delay_s := self._latency_s + (fault.delay_ms / 1000 if fault and fault.do == "slow" else 0.0):
            await asyncio.sleep(delay_s)  # the latency that was asked for, not a wait for anything
        return response

    def _cached(self, asked: Conversation, format: WireFormat, *, refused: bool) -> CachedPrompt:
        """A request that is refused is not read, and leaves nothing in the cache."""
        if refused:
            return CachedPrompt(total=0)
        return self._cache.count(asked.model, asked.segments, marked=isinstance(format, MessagesFormat))

    async def requests(self, _request: Request) -> Response:
        return JSONResponse([asdict(one) for one in self._log])

    async def stats(self, _request: Request) -> Response:
        counts = Counter("none" if one.status is None else str(one.status) for one in self._log)
        return JSONResponse(
            {"requests": len(self._log), "by_status": dict(sorted(counts.items())), "most_at_once": self._most_at_once}
        )

    def lets_in(self, request: Request) -> bool:
        if self._api_key is None:
            return True
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = request.headers.get("x-api-key") or bearer
        return hmac.compare_digest(given.encode(), self._api_key.encode())

    def _note(
        self,
        answer: ScriptedAnswer,
        asked: Conversation | None,
        digest: str,
        *,
        status: int | None,
        fault: str | None = None,
    ) -> None:
        self._log.append(
            LoggedRequest(
                sequence=len(self._log) + 1,
                at_s=round(time.monotonic() - self._began, 4),
                task_id=answer.task_id,
                step=answer.step,
                status=status,
                fault=fault,
                body=digest,
                messages=tuple(_message_digest(message) for message in asked.messages) if asked else (),
            )
        )


def _conversation(raw: bytes, format: WireFormat, digest: str) -> Conversation | None:
    try:
        body = loads(raw)
    except ValueError:
        return None
    return format.read(body, digest) if isinstance(body, dict) else None


def _message_digest(message: Mapping[str, Any]) -> str:
    kept = ("role", "name", "content", "tool_calls", "tool_call_id")
    return sha256(dumps({key: _stored(message[key]) for key in kept if key in message})).hexdigest()


def _stored(value: Any) -> Any:
    """A value of a message as a run stores it: a picture by its hash."""
    match value:
        case str() if value.startswith("data:image/"):
            head, _, data = value.partition(";base64,")
            return {"picture": sha256(b64decode(data)).hexdigest(), "media_type": head.removeprefix("data:")}
        case dict():
            return {key: _stored(item) for key, item in value.items()}
        case list():
            return [_stored(item) for item in value]
    return value


def endpoint_app(
    plans: Scripts,
    faults: Sequence[Fault] = (),
    *,
    api_key: str | None = None,
    latency_ms: float = 0.0,
    tunes: FineTunes | None = None,
) -> Starlette:
    """The endpoint as an ASGI application.

    Args:
        plans: What to answer.
        faults: What to answer wrongly.
        api_key: The only bearer key let in; None = any, or none.
        latency_ms: How long each answer takes.
        tunes: What is known of fine-tuning; None = nothing yet.
    """
    endpoint = _Endpoint(plans, faults, api_key=api_key, latency_s=latency_ms / 1000)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", endpoint.chat, methods=["POST"]),
            Route("/v1/responses", endpoint.responses, methods=["POST"]),
            Route("/v1/messages", endpoint.messages, methods=["POST"]),
            *finetuning_routes(tunes or FineTunes(), endpoint.lets_in),
            Route("/__requests__", endpoint.requests),
            Route("/__stats__", endpoint.stats),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input ends; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m harness.plugins.demo.model.model_server", description="Serve the scripted endpoint."
    )
    parser.add_argument("--intents", type=Path, required=True, help="JSON object of task id to intent")
    parser.add_argument("--plans", type=Path, required=True, help="JSON array of plans")
    parser.add_argument("--placeholders", default="{}", help='JSON, as in {"__SHOP__": "http://shop.localhost"}')
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 = any free one")
    parser.add_argument("--faults", default="[]", help="JSON array of fault rules")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="how long each answer takes")
    parser.add_argument("--api-key", default=None, help="the only key let in; without it any is")
    parser.add_argument("--state", type=Path, default=None, help="file to keep fine-tuning jobs in")
    parser.add_argument("--no-stdin", action="store_true", help="keep running when standard input ends")
    options = parser.parse_args(arguments)
    try:
        placeholders = _texts(options.placeholders.encode(), "--placeholders")
        secrets = _texts(os.environ.pop(SECRETS_VARIABLE, "{}").encode(), SECRETS_VARIABLE)
        reveal = Redactor(secrets).reveal_data
        intents = _intents(options.intents, reveal)
        plans = read_plans(options.plans, intents, placeholders=placeholders, reveal=reveal)
        faults = read_faults(_json(options.faults.encode(), "--faults"))
    except UsageError as exc:
        sys.stderr.write(f"{exc}\n")
        return ExitCode.USAGE
    tunes = FineTunes(state=options.state)
    app = endpoint_app(plans, faults, api_key=options.api_key, latency_ms=options.latency_ms, tunes=tunes)
    run(app, name="endpoint", port=options.port, watch_stdin=not options.no_stdin)
    return ExitCode.DONE


def _intents(path: Path, reveal: Callable[[bytes], bytes]) -> dict[str, str]:
    try:
        raw = reveal(path.read_bytes())
    except OSError as exc:
        raise TaskError(f"{path}: cannot read the intents: {exc.strerror}") from exc
    return _texts(raw, str(path))


def _json(raw: bytes, place: str) -> Any:
    try:
        return loads(raw)
    except ValueError as exc:
        raise ConfigError(f"{place}: not JSON: {exc}") from exc


def _texts(raw: bytes, place: str) -> dict[str, str]:
    data = _json(raw, place)
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ConfigError(f"{place}: must be a JSON object of texts")
    return data


if __name__ == "__main__":
    sys.exit(main())
