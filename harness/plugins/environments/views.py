"""How a client sees an episode: OpenEnv's shapes, and BrowserGym's keys."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from harness.api import ActionSet, CloseReason, description_of, parameters_of
from harness.api.pictures import image_part, media_type
from harness.plugins.environments.agent import actions_of
from harness.plugins.environments.requests import MAX_TEXT
from harness.plugins.environments.turn import Turn

TEXT: Mapping[str, Any] = {"type": "string"}
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
NUMBER_OR_NULL: Mapping[str, Any] = {"type": ["number", "null"]}
_OBSERVATION: Mapping[str, Any] = {
    "text": {**TEXT, "description": "The page: tabs, a blank line, elements with their ids."},
    "url": {**TEXT, "description": "Canonical address of the current tab."},
    "title": {**TEXT, "description": "Title of the current tab."},
    "goal": {**TEXT, "description": "What is to be done."},
    "notices": {"type": "array", "items": TEXT, "description": "What happened that the page does not show."},
    "error": {**TEXT, "description": "Why the last action was not performed; empty if it was."},
    "last_action_error": {"type": "boolean", "description": "Whether the last action was not performed."},
    "screenshot": {
        "type": ["string", "null"],
        "description": "PNG of the viewport in base64; null without image in observation.type.",
    },
    "task_images": {
        "type": "array",
        "items": TEXT,
        "description": "Pictures that belong to the goal, as data URLs, in the answer to a reset.",
    },
    "episode_id": {**TEXT, "description": "With it the episode is resumed."},
    "task": {**TEXT, "description": "Id of the task."},
    "trial": {**COUNT, "description": "Which repetition of the task it is, from 0."},
    "step": {**COUNT, "description": "Steps that were performed."},
    "doubts": {"type": "array", "items": TEXT, "description": "What is not sure of the episode, after a crash."},
    "closed": {
        "enum": ["", *CloseReason],
        "description": "Why the episode has ended; empty while it goes on.",
    },
    "truncated": {"type": "boolean", "description": "Whether a limit of the run has ended it."},
}
_BROWSERGYM: Mapping[str, Any] = {
    "chat_messages": {"type": "array"},
    "goal_object": {"type": "array"},
    "open_pages_urls": {"type": "array", "items": TEXT},
    "open_pages_titles": {"type": "array", "items": TEXT},
    "active_page_index": {"type": "array", "items": {"type": "integer"}},
    "axtree_txt": TEXT,
    "last_action_error": TEXT,
}


def observation(turn: Turn, *, browsergym: bool = False) -> dict[str, Any]:
    """What is seen, as JSON."""
    page = turn.page
    seen: dict[str, Any] = {
        "text": page.text,
        "url": page.url,
        "title": page.title,
        "goal": turn.goal,
        "notices": list(turn.notices),
        "error": turn.refused,
        "last_action_error": bool(turn.refused),
        "screenshot": None if turn.image is None else b64encode(turn.image).decode(),
        "task_images": [data_url(one) for one in turn.task_images],
        "episode_id": turn.entry.episode_id,
        "task": turn.entry.task_id,
        "trial": turn.entry.trial,
        "step": turn.steps,
        "doubts": list(turn.doubts),
        "closed": turn.closed or "",
        "truncated": turn.truncated,
    }
    if not browsergym:
        return seen
    current = [number for number, tab in enumerate(page.tabs) if tab[2]]
    return seen | {
        "chat_messages": [{"role": "user", "message": turn.goal}],
        "goal_object": [{"type": "text", "text": turn.goal}, *map(image_part, turn.task_images)],
        "open_pages_urls": [tab[0] for tab in page.tabs],
        "open_pages_titles": [tab[1] for tab in page.tabs],
        "active_page_index": current or [0],
        "axtree_txt": page.text,
        "last_action_error": turn.refused,
    }


def data_url(picture: bytes) -> str:
    """A PNG or JPEG as an address that holds it."""
    return f"data:{media_type(picture)};base64,{b64encode(picture).decode()}"


def result(turn: Turn, *, browsergym: bool = False) -> dict[str, Any]:
    """OpenEnv's `data` of an observation frame, and answer of `POST /reset` and `/step`."""
    return {"observation": observation(turn, browsergym=browsergym), "reward": turn.reward, "done": turn.done}


def schema(action_set: ActionSet, *, typed: bool = False, browsergym: bool = False) -> dict[str, Any]:
    """The JSON Schemas of actions, observations and states.

    Args:
        action_set: The one of the run.
        typed: One schema for each action, in the place of a text.
        browsergym: As of `observation`.
    """
    shapes = [_schema_of(action) for action in actions_of(action_set)]
    text = {
        **TEXT,
        "maxLength": MAX_TEXT,
        "description": f"One action of the action set {action_set.name}, as `click [12]`.",
    }
    said = {
        "title": "BrowserAction",
        "type": "object",
        "properties": {"action_str": text},
        "required": ["action_str"],
        "additionalProperties": False,
    }
    seen = {**_OBSERVATION, **(_BROWSERGYM if browsergym else {})}
    return {
        "action": {"title": "BrowserAction", "oneOf": shapes} if typed and shapes else said,
        "observation": {"title": "Observation", "type": "object", "properties": seen, "required": list(seen)},
        "state": {
            "title": "State",
            "type": "object",
            "properties": {
                "episode_id": {"type": ["string", "null"]},
                "step_count": COUNT,
                "task": {"type": ["string", "null"]},
                "trial": {"type": ["integer", "null"]},
                "seed": {"type": ["integer", "null"]},
                "done": {"type": "boolean"},
                "reward": NUMBER_OR_NULL,
            },
        },
    }


def _schema_of(action: Any) -> dict[str, Any]:
    shape = parameters_of(action)
    return {
        **shape,
        "title": action.__name__,
        "description": description_of(action),
        "properties": {"kind": {"const": action.kind}, **shape["properties"]},
        "required": ["kind", *shape["required"]],
    }
