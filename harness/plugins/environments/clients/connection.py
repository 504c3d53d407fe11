"""A client's connection, which outlives sockets and servers: it resumes its episode, and no step is done twice."""

import json
import os
import time
import uuid
from contextlib import ExitStack, suppress
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

URL = "CAIRN_ENVIRONMENTS_URL"
"""Variable with the address of the server, for clients that are given none."""
BUSY = frozenset({"CAPACITY_REACHED", "SESSION_ERROR"})
"""Codes of what may be possible later: other clients have all environments, or one has the episode."""
_TOKEN = "CAIRN_SERVE_TOKEN"
_MAX_BYTES = 100 << 20
_PAUSE_S = 0.2
_PASSING = frozenset({"shutdown", "timeout"})


class EnvironmentFailed(Exception):
    """The server's error. `mask` says that the infrastructure is at fault: the episode is not a sample."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data.get("message", "the server is gone"))
        self.data = data
        self.mask = bool(data.get("mask_sample"))


class Connection:
    """One session."""

    def __init__(self, url: str | None = None, *, patience_s: float = 120.0) -> None:
        """Args:
        url: As the server says it; None = the variable `CAIRN_ENVIRONMENTS_URL`.
        patience_s: For how long a server that is gone, or has no free environment, is asked again for one answer;
            the time for which the server was at work on it does not count.
        """
        self.url = (url or os.environ.get(URL) or "http://127.0.0.1:8000").rstrip("/")
        self._patience_s = patience_s
        self._socket: ClientConnection | None = None
        self._closing = ExitStack()
        self._episode: str | None = None
        self._why_none: dict[str, Any] = {"message": "there is no episode; reset first", "code": "SESSION_ERROR"}

    @property
    def episode_id(self) -> str | None:
        """Of the episode; None = none has begun."""
        return self._episode

    def reset(self, **wanted: Any) -> dict[str, Any]:
        """Begin an episode; see the server's `reset`. Raises EnvironmentFailed; then there is none."""
        wanted = {key: value for key, value in wanted.items() if value is not None}
        if "task" in wanted:  # so that it may be sent again
            wanted = {"episode_id": uuid.uuid4().hex, "resume": True} | wanted
        self._episode = None
        try:
            turn = self._asked("reset", wanted)
        except EnvironmentFailed as failed:
            self._why_none = failed.data
            raise
        self._episode = turn["observation"]["episode_id"]
        return turn

    def step(self, action: dict[str, Any] | str) -> dict[str, Any]:
        """Perform an action, once, whatever is lost meanwhile. Raises EnvironmentFailed.

        Args:
            action: A text, or what the server's `step` takes; with a `request_id` of your own, it may be sent again
                after a kill.
        """
        if self._episode is None:
            raise EnvironmentFailed(self._why_none)
        data = {"action_str": action} if isinstance(action, str) else action
        return self._asked("step", {"request_id": uuid.uuid4().hex, **data})

    def close(self) -> None:
        """Give the environment back."""
        if self._socket is not None:
            with suppress(WebSocketException, OSError):
                self._socket.send(json.dumps({"type": "close"}))
                self._closing.close()
        self._socket = None

    def _asked(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        until, is_new = time.monotonic() + self._patience_s, False
        while True:
            asked_at = None
            try:
                is_new = self._opened() or is_new
                asked_at = time.monotonic()
                if is_new and kind == "step":
                    self._said("reset", {"episode_id": self._episode, "resume": True})
                is_new = False
                return self._said(kind, data)
            except (OSError, WebSocketException) as error:
                with suppress(WebSocketException, OSError):
                    self._closing.close()
                self._socket, lost = None, EnvironmentFailed({"message": str(error), "mask_sample": True})
                is_gone = True
            except EnvironmentFailed as failed:
                lost, code = failed, failed.data.get("code")
                if failed.data.get("failure_class") not in _PASSING and code not in BUSY:
                    raise
                is_new, is_gone = is_new or code == "SESSION_ERROR", failed.data.get("failure_class") == "shutdown"
            if is_gone and asked_at is not None:  # the server was at work until then
                until += time.monotonic() - asked_at
            if time.monotonic() > until:
                raise lost
            time.sleep(_PAUSE_S)

    def _opened(self) -> bool:
        """Whether a connection had to be made."""
        if self._socket is not None:
            return False
        token = os.environ.get(_TOKEN)
        headers = {"Authorization": f"Bearer {token}"} if token else None
        url = self.url.replace("http", "ws", 1) + "/ws"
        self._socket = self._closing.enter_context(connect(url, max_size=_MAX_BYTES, additional_headers=headers))
        return True

    def _said(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        assert self._socket is not None
        self._socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(self._socket.recv())
        if answer["type"] == "error":
            raise EnvironmentFailed(answer["data"])
        return answer["data"]  # type: ignore[no-any-return]
