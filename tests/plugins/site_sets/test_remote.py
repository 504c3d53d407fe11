"""Control planes of sites that run elsewhere: stubs that behave as the known ones, and one that lies."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest

from harness.plugins.site_sets.set_file import find_set, read_set
from tests.plugins.site_sets.small_site import SmallSite

pytestmark = pytest.mark.integration


class Plane:
    """A site with its control plane on one port, as webarena-setup (`/reset`), WebHarbor (`/reset/SITE`) and VisualWebArena's
    classifieds (`/index.php?page=reset`) have them."""

    def __init__(self) -> None:
        self.orders = 0
        self.busy = 0
        """So many requests are answered that another reset is going on."""
        self.ongoing = 0
        """So many looks at `/status` say that the reset is not done."""
        self.failed = ""
        self.token = ""
        self.lies = False
        self.dead: list[str] = []
        """Sites that `/health` says do not run."""
        self.resets: list[str] = []
        plane = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(*plane.answer("GET", self.path, self.headers.get("authorization", "")))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                self._answer(*plane.answer("POST", self.path, self.headers.get("authorization", ""), body))

            def _answer(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, method: str, path: str, given: str, body: str = "") -> tuple[int, str]:
        match (method, path.split("/")[1:]):
            case ("GET", ["status"]):
                self.ongoing = max(0, self.ongoing - 1)
                said = self.failed or ("Reset ongoing" if self.ongoing else "Ready for duty!")
                return 500 if self.failed else 200, said
            case ("GET", ["health"]):
                return self._health(given)
            case ("POST", ["index.php?page=reset"]):
                return 200, self._classifieds(body)
            case ("GET" | "POST", ["reset", *sites]):
                return self._reset(method, path, given, sites)
        return 200, str(self.orders) if path == "/orders" else "hello"

    def _health(self, given: str) -> tuple[int, str]:
        if self.token and given != f"Bearer {self.token}":
            return 401, "no"
        sites = {site: {"alive": site not in self.dead, "port": 40000} for site in ("shop", "forum")}
        return 503 if self.dead else 200, json.dumps({"ok": not self.dead, "sites": sites})

    def _reset(self, method: str, path: str, given: str, sites: list[str]) -> tuple[int, str]:
        if self.token and given != f"Bearer {self.token}":
            return 401, "no"
        if self.busy:
            self.busy -= 1
            return 418, "busy"
        if sites == ["nowhere"]:
            return 404, json.dumps({"error": "unknown site: nowhere"})
        if sites and self.failed:
            return 503, json.dumps({"site": sites[0], "ready": False, "error": self.failed})
        self.resets.append(f"{method} {path}")
        self.orders = self.orders if self.lies else 0
        return 200, "Reset initiated"

    def _classifieds(self, body: str) -> str:
        """What its page answers, always with status 200."""
        if body != urlencode({"token": self.token}):
            return "Error: Invalid token"
        said = "Command: mysql -h db -u root --password='hunter2' osclass < restore.sql"
        if self.failed:
            return f"{said}Error occurred: {self.failed}\n"
        self.resets.append("POST /index.php?page=reset")
        self.orders = 0
        return f"{said}SQL file executed successfully.\n"


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_reset_without_a_state_to_compare_is_not_called_verified(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "webharbor", state_urls=[]))
    small.done("up")
    assert "as its control plane says, not verified: there are no `state_urls`" in small.done("reset")
    small.write(remote(plane, "webharbor"))
    assert "not verified: its state is noted" in small.done("reset"), "there was none to compare it with"
    assert "seed, verified" in small.done("reset")


@pytest.mark.slow
def test_a_failed_reset_is_said_with_its_message(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "gasse"))
    small.done("up")
    plane.failed = "docker: no space left on device"
    typed = small.type("reset")
    assert typed.code == 2 and "its reset failed (status 500: docker: no space left on device)" in typed.err
    assert small.type("status").code == 1


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_slow_control_plane_ends_in_a_sentence(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "gasse", timeout_s=0.5))
    small.done("up")
    plane.ongoing = 10_000
    typed = small.type("reset")
    assert typed.code == 2 and "not reset within 0.5 s: Reset ongoing (control.timeout_s)" in typed.err


@pytest.mark.slow
def test_a_control_plane_that_resets_all_sites_is_served_as_such(small: SmallSite, plane: Plane) -> None:
    shops = remote(plane, "gasse")
    shops["forum"] = {**shops["shop"], "sites": ["forum"]}
    small.write(shops)
    small.done("up")
    served = json.loads((small.state / "sites.json").read_text())
    assert served["reset"]["scope"] == "all" and "{url}" not in served["reset"]["command"]
    assert "reset_command" not in served["shop"] and "reset_command" not in served["forum"]
    assert plane.resets == [], "nothing is reset before somebody asks for it"
    plane.orders = 3
    small.done("reset")
    assert plane.resets == ["GET /reset"], "once for all of its sites"
    small.done("reset", "forum")
    assert plane.resets == ["GET /reset"] * 2 and set(small.states().values()) == {"healthy"}


@pytest.mark.slow
def test_a_failed_reset_of_one_site_is_said_and_not_taken_for_a_busy_one(small: SmallSite, plane: Plane) -> None:
    small.write(remote(plane, "webharbor"))
    small.done("up")
    plane.failed = "RuntimeError: reset failed; prior state restart ready=True"
    typed = small.type("reset")
    assert typed.code == 2 and f"its reset failed (status 503: {plane.failed})" in typed.err
    services = remote(plane, "webharbor")
    services["shop"]["sites"] = ["nowhere"]
    small.write(services)
    typed = small.type("reset")
    assert typed.code == 2 and "correct its url, kind or the name of the site" in typed.err


@pytest.mark.slow
def test_of_many_sites_of_a_control_plane_only_the_dead_one_is_down(small: SmallSite, plane: Plane) -> None:
    services = remote(plane, "webharbor", token_variable="PLANE_TOKEN")
    services["forum"] = {**services["shop"], "sites": ["forum"]}
    small.write(services)
    plane.token = "sesame-17"
    small.done("up")
    (row, _) = small.rows()
    assert "refuses the token (status 401); PLANE_TOKEN is not set in the environment" in row["why"]
    plane.token, plane.dead = "", ["forum"]
    rows = {row["instance"]: (row["state"], row["why"]) for row in small.rows()}
    assert rows == {"shop@0": ("healthy", ""), "forum@0": ("resetting", "its site does not run")}
    served = json.loads((small.state / "sites.json").read_text())
    assert served["shop"]["reset_command"] and served["forum"]["reset_command"], "each is reset by itself"


@pytest.mark.slow
def test_classifieds_say_what_came_of_a_reset_in_their_page(small: SmallSite, plane: Plane) -> None:
    plane.token = "sesame&17"
    small.write(remote(plane, "classifieds", token_variable="PLANE_TOKEN"))
    small.done("up")
    assert small.states() == {"shop@0": "healthy"}
    plane.orders = 3
    typed = small.type("reset")
    assert typed.code == 2 and "refuses the token (status 200); PLANE_TOKEN is not set in the environment" in typed.err
    typed = small.type("reset", env={"PLANE_TOKEN": "wrong"})
    assert typed.code == 2 and "correct PLANE_TOKEN" in typed.err and plane.orders == 3
    typed = small.type("reset", env={"PLANE_TOKEN": plane.token})
    assert (typed.code, plane.orders, plane.resets) == (0, 0, ["POST /index.php?page=reset"]), typed
    plane.failed = "ERROR 1045: access denied"
    typed = small.type("reset", env={"PLANE_TOKEN": plane.token})
    assert typed.code == 2 and "its reset failed (status 200: Error occurred: ERROR 1045: access denied)" in typed.err
    assert "hunter2" not in typed.err, "its answers hold the password of its database"


@pytest.mark.slow
def test_a_page_that_answers_something_else_is_no_reset_of_classifieds(small: SmallSite, plane: Plane) -> None:
    services = remote(plane, "classifieds")
    services["shop"]["control"]["url"] = f"{plane.url}/elsewhere"
    small.write(services)
    small.done("up")
    typed = small.type("reset")
    assert typed.code == 2 and "it does not say that it was done" in typed.err


def test_the_shipped_sets_of_remote_sites_reset_each_site_by_itself() -> None:
    harbor = read_set(find_set("webharbor"))
    assert len(harbor.services) == len(harbor.groups()) == 24
    assert {one.url for one in harbor.services.values()} == {f"http://localhost:{40_000 + at}" for at in range(24)}
    assert all([*one.sites] == [name] for name, one in harbor.services.items())
    visual = read_set(find_set("visualwebarena"))
    assert {name: (one.port, one.url) for name, one in visual.services.items()} == {
        "shopping": (7770, ""),
        "reddit": (9999, ""),
        "classifieds": (None, "http://127.0.0.1:9980"),
    }
    assert sum("indexer:set-mode schedule" in command for command in visual.services["shopping"].patch) == 1
