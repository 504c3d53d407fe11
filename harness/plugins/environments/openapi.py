"""`/openapi.json`: what may be sent to each route, and what comes back."""

from collections.abc import Mapping
from typing import Any

from harness.api import ActionSet
from harness.plugins.environments.cube import PATH as CUBE
from harness.plugins.environments.requests import ID, MAX_FORKS, MAX_SEED, MAX_TIMEOUT_S, MAX_TRIAL
from harness.plugins.environments.views import COUNT, NUMBER_OR_NULL, TEXT, schema

PROTOCOL = "1.0.0"
"""Of these routes, which are those of OpenEnv's 1.x."""
Schema = Mapping[str, Any]


def document(action_set: ActionSet, *, typed: bool, browsergym: bool) -> dict[str, Any]:
    """A document of OpenAPI 3.1; arguments as of `views.schema`."""
    shapes = schema(action_set, typed=typed, browsergym=browsergym)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Cairn environment server", "version": PROTOCOL},
        "paths": {
            "/health": _get("How many environments are in use", _HEALTH),
            "/schema": _get("JSON Schemas of actions, observations and states", {"type": "object"}),
            "/metadata": _get("What is served", _METADATA),
            "/tasks": _get("A reset for each task", _TASKS),
            "/state": _get("The state of a session without an episode", _ref("state")),
            "/reset": _post("The first page of an episode, which is given back at once", "reset", _ref("result")),
            "/step": _post("The first step of an episode, which is given back at once", "step", _ref("result")),
            "/fork": _post("Further episodes that begin at a step of one", "fork", _FORKED),
            "/mcp": _rpc("Actions as tools of MCP"),
            CUBE: _rpc("CUBE's benchmark"),
        },
        "components": {"schemas": {**shapes, **_BODIES, "result": _RESULT, "problem": _PROBLEM}},
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: Mapping[str, Schema], *, required: tuple[str, ...] | None = None) -> Schema:
    """With `required` no other members are allowed: it is sent. Without, all are there: it is an answer."""
    shape = {"type": "object", "properties": properties, "required": list(properties if required is None else required)}
    return shape if required is None else {**shape, "additionalProperties": False}


def _list_of(one: Schema) -> Schema:
    return {"type": "array", "items": one}


_ID: Schema = {"type": "string", "pattern": f"^{ID}$"}
_ID_OR_NULL: Schema = {**_ID, "type": ["string", "null"]}
_TIMEOUT: Schema = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT_S}
_BODIES: Mapping[str, Schema] = {
    "reset": _object(
        {
            "task": {"type": ["string", "integer", "null"], "description": "As in /tasks; null = they take turns."},
            "seed": {"type": ["integer", "null"], "minimum": 0, "maximum": MAX_SEED},
            "trial": {"type": ["integer", "null"], "minimum": 0, "maximum": MAX_TRIAL},
            "episode_id": _ID_OR_NULL,
            "resume": {"type": ["boolean", "null"], "description": "Go on with the episode of episode_id."},
        },
        required=(),
    ),
    "step": _object(
        {"action": _ref("action"), "request_id": _ID_OR_NULL, "timeout_s": _TIMEOUT},
        required=("action",),
    ),
    "fork": _object(
        {
            "episode_id": _ID,
            "step": {"type": "integer", "minimum": 0, "maximum": MAX_TRIAL},
            "n": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_FORKS},
        },
        required=("episode_id", "step"),
    ),
}
_RESULT = _object({"observation": _ref("observation"), "reward": NUMBER_OR_NULL, "done": {"type": "boolean"}})
_HEALTH = _object({"status": TEXT, "active_sessions": COUNT, "max_sessions": COUNT, "waiting_sessions": COUNT})
_METADATA = _object({"name": TEXT, "description": TEXT, "version": TEXT, "action_set": TEXT, "tasks": COUNT})
_TASKS = _object({"tasks": _list_of(_object({"task": TEXT, "sites": _list_of(TEXT), "goal": TEXT}))})
_EPISODE = _object({"episode_id": TEXT, "task": TEXT, "trial": COUNT})
_FORKED = _object({"episode_id": TEXT, "step": COUNT, "episodes": _list_of(_EPISODE)})
_PROBLEM = _object({"detail": _object({"message": TEXT, "code": TEXT})})
_CALL = _object({"jsonrpc": {"const": "2.0"}, "method": TEXT})
_SAID = _object({"jsonrpc": {"const": "2.0"}})


def _answers(answer: Schema, *refusals: tuple[str, str]) -> dict[str, Any]:
    problem = {"application/json": {"schema": _ref("problem")}}
    said = {status: {"description": why, "content": problem} for status, why in (_UNAUTHORIZED, *refusals)}
    return {"200": {"description": "answered", "content": {"application/json": {"schema": answer}}}, **said}


_UNAUTHORIZED = ("401", "the token is missing or wrong, or a web page asks")
_REFUSED = (
    ("400", "the body is not JSON"),
    ("422", "the body cannot be used; nothing was done"),
    ("500", "the episode cannot go on; with mask_sample where the infrastructure is at fault"),
    ("503", "all environments or a site are in use, or the server ends"),
    ("504", "no answer within timeout_s; the step goes on"),
)


def _get(summary: str, answer: Schema) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": _answers(answer)}}


def _post(summary: str, body: str, answer: Schema) -> dict[str, Any]:
    sent = {"required": bool(_BODIES[body]["required"]), "content": {"application/json": {"schema": _ref(body)}}}
    return {"post": {"summary": summary, "requestBody": sent, "responses": _answers(answer, *_REFUSED)}}


def _rpc(summary: str) -> dict[str, Any]:
    """Errors are answers there, too."""
    sent = {"required": True, "content": {"application/json": {"schema": _CALL}}}
    responses = {**_answers(_SAID), "202": {"description": "it was a notification"}}
    return {"post": {"summary": summary, "requestBody": sent, "responses": responses}}
