"""Services that run elsewhere: they are not started here, and are reset by asking their control plane.

`gasse` is the reset server of webarena-setup: `GET /status` ("Ready for duty!", "Reset ongoing", 500 with a message),
`GET /reset` (418 while one is going on); it resets all sites of an instance together. `webharbor` resets one site with
`POST /reset/SITE` and answers once it is done. That a control plane says it is clean proves nothing: where `state_urls`
are given, the digest of their answers is compared.
"""

import hashlib
import os
import time
from pathlib import Path

from harness.errors import ConfigError
from harness.plugins.site_sets.backend import Instance, NotVerified, Say, SiteFailed
from harness.plugins.site_sets.http_request import NoAnswer, ask
from harness.plugins.site_sets.set_file import Control

_READY, _ONGOING, _TEAPOT = "ready for duty", "reset ongoing", 418
_BUSY = frozenset({409, 418, 423, 425, 429, 502, 503, 504})
_POLL_S, _LONGEST_POLL_S = 0.1, 5.0


class RemoteBackend:
    """See the module. To start, stop and run commands there is nothing of ours."""

    def is_running(self, one: Instance) -> bool:
        return True

    def start(self, one: Instance) -> None:
        return None

    def stop(self, one: Instance) -> None:
        return None

    def fill(self, one: Instance, into: Path) -> None:
        return None

    def keep(self, one: Instance) -> str:
        self.stop(one)
        return ""

    def execute(self, one: Instance, command: str) -> tuple[int, str]:
        return 1, "commands cannot be run on a remote service"

    def log(self, one: Instance) -> str:
        return ""

    def image(self, one: Instance) -> str:
        return ""


def reset_remote(one: Instance, control: Control, say: Say) -> None:
    """Ask the control plane for a reset, and wait until it says that it is done.

    Raises:
        ConfigError: It refuses us: the token is wrong or missing, or there is no such site.
        SiteFailed: It failed, or was not done in time.
    """
    until, pause_s, said = time.monotonic() + control.timeout_s, _POLL_S, ""
    paths = [f"/reset/{site}" for site in one.service.sites] if control.kind == "webharbor" else ["/reset"]
    for path in paths:
        while True:
            why = _try_reset(one, control, path, timeout_s=max(1.0, until - time.monotonic()))
            if not why:
                break
            if time.monotonic() >= until:
                raise SiteFailed(f"{one.name}: not reset within {control.timeout_s:g} s: {why} (control.timeout_s)")
            if why != said:
                say(f"{one.name}: waiting: {why}")
                said = why
            time.sleep(pause_s)
            pause_s = min(_LONGEST_POLL_S, pause_s * 1.5)
    if control.kind == "gasse":
        _wait_until_ready(one, control, until, say)


def _try_reset(one: Instance, control: Control, path: str, *, timeout_s: float) -> str:
    """Why it has to be asked again; "" = it was accepted."""
    headers = _token(one, control)
    method = "GET" if control.kind == "gasse" else "POST"
    try:
        status, text = ask(control.url + path, method=method, headers=headers, timeout_s=timeout_s)
    except NoAnswer as error:
        return f"its control plane does not answer ({error})"
    if status < 300:
        return ""
    if status in _BUSY:
        return f"its control plane is busy (status {status})"
    where = f"services.{one.service.name}.control"
    if status in (401, 403):
        variable = control.token_variable or "token_variable"
        raise ConfigError(f"{where}: it refuses the token (status {status}); correct {variable} in the environment")
    if status < 500:
        raise ConfigError(
            f"{where}: {control.url}{path} answers {status}; correct its url, kind or the name of the site"
        )
    raise SiteFailed(f"{one.name}: its control plane failed (status {status}: {_short(text)}); look at its log")


def _wait_until_ready(one: Instance, control: Control, until: float, say: Say) -> None:
    pause_s, said = _POLL_S, ""
    while True:
        try:
            status, text = ask(f"{control.url}/status", timeout_s=max(1.0, min(30.0, until - time.monotonic())))
            if status == 200 and _READY in text.lower():
                return
            if status >= 500 and _ONGOING not in text.lower():
                raise SiteFailed(f"{one.name}: its reset failed (status {status}: {_short(text)}); look at its log")
            why = _short(text) or f"status {status}"
        except NoAnswer as error:
            why = f"its control plane does not answer ({error})"
        if time.monotonic() >= until:
            raise SiteFailed(f"{one.name}: not reset within {control.timeout_s:g} s: {why} (control.timeout_s)")
        if why != said:
            say(f"{one.name}: waiting: {why}")
            said = why
        time.sleep(pause_s)
        pause_s = min(_LONGEST_POLL_S, pause_s * 1.5)


def control_state(control: Control) -> str:
    """What the control plane says now: "" = ready."""
    path = "/status" if control.kind == "gasse" else "/health"
    try:
        status, text = ask(control.url + path, timeout_s=10.0)
    except NoAnswer as error:
        return f"its control plane does not answer ({error})"
    is_ready = _READY in text.lower() if control.kind == "gasse" else True
    return "" if status == 200 and is_ready else (_short(text) or f"its control plane answers {status}")


def remote_digest(one: Instance, control: Control) -> str:
    """Of the answers of `state_urls`; "" = there are none.

    Raises:
        NotVerified: One of them does not answer.
    """
    if not control.state_urls:
        return ""
    whole = hashlib.sha256()
    for url in control.state_urls:
        try:
            status, text = ask(one.said(url), timeout_s=60.0)
        except NoAnswer as error:
            raise NotVerified(f"{one.name}: its state cannot be compared: {url} does not answer ({error})") from error
        if status != 200:
            raise NotVerified(f"{one.name}: its state cannot be compared: {url} answers {status}")
        whole.update(f"{len(text)}:{text}".encode())
    return f"sha256:{whole.hexdigest()}"


def _token(one: Instance, control: Control) -> dict[str, str]:
    if control.token_variable is None:
        return {}
    token = os.environ.get(control.token_variable, "")
    if not token or not token.isprintable():
        raise ConfigError(
            f"services.{one.service.name}.control: {control.token_variable} is not set in the environment; put the"
            " token of the control plane there"
        )
    return {"Authorization": f"Bearer {token}"}


def _short(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())[:200]
