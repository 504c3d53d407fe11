"""Control planes of sites that run elsewhere: stubs that behave as the two known ones, and one that lies."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.plugins.site_sets.small_site import SmallSite

pytestmark = pytest.mark.integration


class Plane:
    """A site with its control plane on one port, as webarena-setup (`/reset`) and WebHarbor (`/reset/SITE`) have them."""

    def __init__(self) -> None:
        self.orders = 0
        self.busy = 0
        """So many requests are answered that another reset is going on."""
        self.ongoing = 0
        """So many looks at `/status` say that the reset is not done."""
        self.failed = ""
        self.token = ""
        self.lies = False
        self.resets: list[str] = []
        plane = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(*plane.answer("GET", self.path, self.headers.get("authorization", "")))

            def do_POST(self) -> None:
                self._answer(*plane.answer("POST", self.path, self.headers.get("authorization", "")))

            def _answer(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, method: str, path: str, given: str) -> tuple[int, str]:  # noqa: PLR0911 (what it answers)
        match (method, path.split("/")[1:]):
            case ("GET", ["status"]):
                if self.failed:
                    return 500, self.failed
                self.ongoing = max(0, self.ongoing - 1)
                return 200, "Reset ongoing" if self.ongoing else "Ready for duty!"
            case ("GET", ["health"]):
                return 200, "{}"
            case ("GET" | "POST", ["reset", *_]):
                if self.token and given != f"Bearer {self.token}":
                    return 401, "no"
                if self.busy:
                    self.busy -= 1
                    return 418, "busy"
                if "nowhere" in path:
                    return 404, "no such site"
                self.resets.append(f"{method} {path}")
                self.orders = self.orders if self.lies else 0
                return 200, "Reset initiated"
            case ("GET", ["orders"]):
                return 200, str(self.orders)
        return 200, "hello"


@pytest.fixture
def plane() -> Iterator[Plane]:
    made = Plane()
    thread = Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def remote(plane: Plane, kind: str, **control: Any) -> dict[str, Any]:
    control = {"kind": kind, "url": plane.url, "timeout_s": 30, "state_urls": [f"{plane.url}/orders"], **control}
    return {"shop": {"backend": "remote", "url": plane.url, "sites": ["shop"], "control": control}}


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kind", "asked"), [("gasse", "GET /reset"), ("webharbor", "POST /reset/shop")])
def test_a_busy_control_plane_is_waited_for_and_its_reset_verified(
    small: SmallSite, plane: Plane, kind: str, asked: str
) -> None:
    small.write(remote(plane, kind))
    small.done("up")
    assert small.states() == {"shop@0": "healthy"} and small.urls() == [plane.url]
    plane.orders, plane.busy, plane.ongoing = 3, 2, 3
    typed = small.type("reset", "shop")
    assert typed.code == 0 and "its control plane is busy" in typed.err, typed
    assert (plane.resets, plane.orders) == ([asked], 0)
    assert ("Reset ongoing" in typed.err) == (kind == "gasse")
    assert small.rows()[0]["digest"].startswith("sha256:")
    plane.ongoing = 2
    if kind == "gasse":
        assert small.states() == {"shop@0": "resetting"}


def test_a_control_plane_that_lies_is_found_out_by_the_state(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "webharbor"))
    small.done("up")
    small.done("reset")
    plane.orders, plane.lies = 1, True
    typed = small.type("reset")
    assert typed.code == 3 and "says that it was reset, but its state is sha256:" in typed.err
    assert small.states() == {"shop@0": "down"}
    plane.lies = False
    small.done("up")
    assert small.states() == {"shop@0": "healthy"} and plane.orders == 0


def test_a_failed_reset_is_said_with_its_message(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "gasse"))
    small.done("up")
    plane.failed = "docker: no space left on device"
    typed = small.type("reset")
    assert typed.code == 2 and "its reset failed (status 500: docker: no space left on device)" in typed.err
    assert small.type("status").code == 1


def test_a_token_is_read_from_the_environment_and_never_said(small: SmallSite, plane: Plane) -> None:
    plane.token = "sesame-17"
    small.write(remote(plane, "webharbor", token_variable="PLANE_TOKEN"))
    small.done("up")
    typed = small.type("reset")
    assert typed.code == 2 and "PLANE_TOKEN is not set in the environment" in typed.err
    typed = small.type("reset", env={"PLANE_TOKEN": "wrong-17"})
    assert typed.code == 2 and "refuses the token (status 401); correct PLANE_TOKEN" in typed.err
    assert "wrong-17" not in typed.err + typed.out
    assert small.type("reset", env={"PLANE_TOKEN": plane.token}).code == 0
    assert not [path for path in small.state.rglob("*") if path.is_file() and b"sesame" in path.read_bytes()]


def test_a_slow_control_plane_ends_in_a_sentence(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "gasse", timeout_s=0.5))
    small.done("up")
    plane.ongoing = 10_000
    typed = small.type("reset")
    assert typed.code == 2 and "not reset within 0.5 s: Reset ongoing (control.timeout_s)" in typed.err


def test_a_control_plane_that_resets_all_sites_is_served_as_such(small: SmallSite, plane: Plane) -> None:
    shops = remote(plane, "gasse")
    shops["forum"] = {**shops["shop"], "sites": ["forum"]}
    small.write(shops)
    small.done("up")
    served = json.loads((small.state / "sites.json").read_text())
    assert served["reset"]["scope"] == "all" and "{url}" not in served["reset"]["command"]
    assert "reset_command" not in served["shop"] and "reset_command" not in served["forum"]
