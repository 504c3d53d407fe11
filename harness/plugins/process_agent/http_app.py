"""What an agent's process can ask over HTTP: its model, in three interfaces, and the browser, as MCP or as plain calls.

    POST /v1/chat/completions, /v1/responses, /v1/messages     passed on to the run's endpoint; GET /v1/models
    POST /mcp                     the actions as MCP tools (streamable HTTP)
    POST /actions/NAME            the same as a plain call: arguments as a JSON object in, result as a JSON object out
    GET  /observation, /task      the present page; the message that the process got at its start

Every request must carry the token of the episode, as a bearer token or in `x-api-key`; others are recorded
as policy violations, and so are requests beyond the bounds of `intake`.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from harness.api import CodecError, loads
from harness.api.endpoints import provider_names, provider_of
from harness.api.gateway import ForeignRequest, NotARequest, kept_headers
from harness.api.records import Guarded
from harness.plugins.process_agent.browser_boundary import BrowserBoundary
from harness.plugins.process_agent.deps import SessionDeps
from harness.plugins.process_agent.events import SessionOver
from harness.plugins.process_agent.intake import LEAST, MOST_BYTES, Overload, Share, TooLarge, check_values
from harness.plugins.process_agent.mcp_server import McpServer
from harness.plugins.process_agent.model_boundary import ModelBoundary
from harness.plugins.process_agent.violations import Violations

_SHARE = "cairn.share"
"""Where a request has its share of what the process may have under way; it counts until its answer is sent."""
_LONGEST_NAME = 64
_LONGEST_PATH = 120

Handler = Callable[[Request], Awaitable[Response]]


def gateway_app(
    deps: SessionDeps, model: ModelBoundary, browser: BrowserBoundary, *, token: str, task: bytes
) -> ASGIApp:
    """The gateway of one episode as an ASGI application.

    Args:
        token: Lets requests in.
        task: The message to the process, JSON.
    """
    doors = _Doors(deps, model, browser, task)
    spoken = {f"/v1{provider_of(name).path}": name for name in provider_names()}

    def route(path: str, handler: Handler, method: str = "POST") -> Route:
        return Route(path, _answering(handler, deps.violations), methods=[method])

    routed = Starlette(
        routes=[
            *(route(path, doors.interface(name)) for path, name in spoken.items()),
            route("/v1/models", doors.models, "GET"),
            route("/mcp", doors.mcp),
            route("/actions/{name}", doors.act),
            route("/observation", doors.observation, "GET"),
            route("/task", doors.task, "GET"),
        ]
    )
    routed.router.redirect_slashes = False  # the address in a redirect is the client's, and may be none
    # Requests to the model are many: they do not go through the layers of an application, which take half as long
    # again as reading them.
    asked = {("POST", path): _answering(doors.interface(name), deps.violations) for path, name in spoken.items()}
    return _Guard(routed, token, deps, asked)


class _Guard:
    """Lets requests with the token of the episode in; requests with none, or another one, are recorded."""

    def __init__(self, app: ASGIApp, token: str, deps: SessionDeps, direct: Mapping[tuple[str, str], Handler]) -> None:
        """`direct`: by method and path, what is answered without `app`."""
        self._app = app
        self._direct = direct
        self._token = token.encode()
        self._violations = deps.violations
        self._intake = deps.intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        given = request.headers.get("x-api-key") or bearer
        if hmac.compare_digest(given.encode(), self._token):
            with self._intake.share() as scope[_SHARE]:
                if (handler := self._direct.get((request.method, scope["path"]))) is not None:
                    return await (await handler(request))(scope, receive, send)
                return await self._app(scope, receive, send)
        token = "a token that is not of this episode" if given else "no token"
        path = scope["path"][:_LONGEST_PATH]
        self._violations.found(Guarded.GATEWAY, f"{request.method[:_LONGEST_NAME]} {path} with {token}")
        await _error(401, "this is not the token of the episode; use CAIRN_TOKEN")(scope, receive, send)


class _Doors:
    """What is behind each address."""

    def __init__(self, deps: SessionDeps, model: ModelBoundary, browser: BrowserBoundary, task: bytes) -> None:
        self._deps = deps
        self._model = model
        self._browser = browser
        self._task = task
        self._mcp = McpServer(browser, deps.inbox)

    def interface(self, name: str) -> Handler:
        """Requests to the model, in one interface."""

        async def ask(request: Request) -> Response:
            headers = {header.lower(): value for header, value in request.headers.items()}
            foreign = ForeignRequest(interface=name, body=await body_of(request), headers=kept_headers(headers, name))
            answer = await self._deps.inbox.work(self._model.ask(foreign))
            return Response(answer.body, status_code=answer.status, headers=dict(answer.headers))

        return ask

    async def act(self, request: Request) -> Response:
        arguments = loads(await body_of(request) or b"{}")
        name = request.path_params["name"][:_LONGEST_NAME]
        return JSONResponse((await self._deps.inbox.work(self._browser.call(name, arguments))).as_json())

    async def observation(self, request: Request) -> Response:
        return JSONResponse(self._browser.look().as_json())

    async def task(self, request: Request) -> Response:
        return Response(self._task, media_type="application/json")

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": self._deps.plan.model, "object": "model"}]})

    async def mcp(self, request: Request) -> Response:
        body = await body_of(request)
        return await self._mcp.answer(body, request.headers.get("accept", ""), _share(request))


def _answering(handler: Handler, violations: Violations) -> Handler:
    """What cannot be done is an answer with a sentence."""

    async def answer(request: Request) -> Response:
        try:
            _share(request).take(LEAST)
            return await handler(request)
        except Overload as error:
            violations.found(Guarded.GATEWAY, str(error))
            return _error(429, str(error), {"retry-after": "1", "connection": "close"})
        except TooLarge as error:
            return _error(413, str(error), {"connection": "close"})
        except (NotARequest, CodecError) as error:
            return _error(400, str(error))
        except SessionOver as error:
            return _error(410, str(error))
        except ClientDisconnect:
            return _error(400, "the request was cut off")

    return answer


async def body_of(request: Request) -> bytes:
    """Read the body of a request.

    Raises:
        TooLarge: It has too many bytes, or values.
        Overload: The process has too much under way.
    """
    body, share = bytearray(), _share(request)
    async for part in request.stream():
        if len(body) + len(part) > MOST_BYTES:
            raise TooLarge(f"the body has more than {MOST_BYTES >> 20} MB")
        share.take(len(part))
        body += part
    content = bytes(body)
    check_values(content)
    return content


def _share(request: Request) -> Share:
    share: Share = request.scope[_SHARE]
    return share


def _error(status: int, said: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error in the shape of the providers' errors, which their packages show."""
    return JSONResponse({"error": {"message": said, "type": "gateway_error"}}, status_code=status, headers=headers)
