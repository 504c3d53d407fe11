"""Services that run elsewhere: they are not started here, and are reset by asking their control plane.

`gasse` is the reset server of webarena-setup: `GET /status` ("Ready for duty!", "Reset ongoing", 500 with a message),
`GET /reset` (418 while one is going on); it resets all sites of an instance together. `webharbor` resets one site with
`POST /reset/SITE` and answers once it is done; `GET /health` tells of each site whether it runs. `classifieds` is a
page of VisualWebArena's site itself, which takes its token from a form and answers 200 whatever came of it. That a
control plane says it is clean proves nothing: where `state_urls` are given, the digest of their answers is compared.
"""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from harness.errors import ConfigError
from harness.plugins.site_sets.backend import Instance, NotVerified, Say, SiteFailed
from harness.plugins.site_sets.http_request import NoAnswer, ask
from harness.plugins.site_sets.set_file import Control

_READY, _ONGOING, _TEAPOT = "ready for duty", "reset ongoing", 418
_BUSY = frozenset({409, 418, 423, 425, 429, 502, 503, 504})
_POLL_S, _LONGEST_POLL_S = 0.1, 5.0
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


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

    def memory(self, one: Instance) -> str:
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
    paths = {
        "webharbor": [f"/reset/{site}" for site in one.service.sites],
        "classifieds": ["/index.php?page=reset"],
    }.get(control.kind, ["/reset"])
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
    token = _token(one, control)
    fields = {"token": token} if control.kind == "classifieds" else None
    try:
        status, text = ask(
            control.url + path,
            method="GET" if control.kind == "gasse" else "POST",
            headers=_bearer(token) if fields is None else _FORM,
            body=None if fields is None else urlencode(fields),
            timeout_s=timeout_s,
        )
    except NoAnswer as error:
        return f"its control plane does not answer ({error})"
    where = f"services.{one.service.name}.control"
    if status in (401, 403) or (control.kind == "classifieds" and "invalid token" in text.lower()):
        raise ConfigError(f"{where}: it refuses the token (status {status}); {_token_advice(control, token)}")
    if 300 <= status < 500 and status not in _BUSY:
        raise ConfigError(
            f"{where}: {control.url}{path} answers {status}; correct its url, kind or the name of the site"
        )
    if failed := _failed(control, text):
        raise SiteFailed(f"{one.name}: its reset failed (status {status}: {failed}); look at its log")
    if status in _BUSY:
        return f"its control plane is busy (status {status})"
    if status >= 500:
        raise SiteFailed(f"{one.name}: its control plane failed (status {status}: {_short(text)}); look at its log")
    return ""


def _failed(control: Control, text: str) -> str:
    """What an answer says of a reset that failed, where the status does not; "" = nothing."""
    if control.kind == "webharbor":
        return _short(str(_mapping(text).get("error") or ""))
    if control.kind == "classifieds" and "executed successfully" not in text:
        # Of what stands before it, a command with the password of the database, nothing is repeated.
        return _short(text[text.find("Error") :]) if "Error" in text else "it does not say that it was done"
    return ""


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


def control_state(one: Instance, control: Control) -> str:
    """What the control plane says now: "" = ready, or that it has no way to ask."""
    if control.kind == "classifieds":
        return ""
    path, token = (
        ("/status" if control.kind == "gasse" else "/health"),
        os.environ.get(control.token_variable or "", ""),
    )
    try:
        status, text = ask(control.url + path, headers=_bearer(token), timeout_s=10.0)
    except NoAnswer as error:
        return f"its control plane does not answer ({error})"
    if status in (401, 403):
        return f"its control plane refuses the token (status {status}); {_token_advice(control, token)}"
    if control.kind == "gasse":
        is_ready = status == 200 and _READY in text.lower()
        return "" if is_ready else (_short(text) or f"its control plane answers {status}")
    sites = _mapping(text).get("sites")
    known = [sites[site] for site in one.service.sites if isinstance(sites, dict) and isinstance(sites.get(site), dict)]
    if not known:
        return "" if status == 200 else f"its control plane answers {status}"
    return "" if all(site.get("alive") and site.get("ready", True) for site in known) else "its site does not run"


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


def _token(one: Instance, control: Control) -> str:
    """The token that our environment has; "" = none, which a control plane may accept."""
    token = os.environ.get(control.token_variable, "") if control.token_variable else ""
    if not token.isprintable():
        raise ConfigError(
            f"services.{one.service.name}.control: {control.token_variable} holds characters that no token has; correct"
            " it in the environment"
        )
    return token


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _token_advice(control: Control, token: str) -> str:
    if control.token_variable is None:
        return "name the environment variable that holds it in control.token_variable"
    name = control.token_variable
    return f"correct {name} in the environment" if token else f"{name} is not set in the environment"


def _mapping(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _short(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())[:200]
