"""The ways in: what each run is given, and with which canary."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.hostile.canaries.canary import Canary, canary
from tests.hostile.canaries.running import Outcome, Place, run
from tests.hostile.canaries.world import World

TASK: Mapping[str, Any] = {
    "task_id": 0, "sites": ["own"], "intent": "Say what is on the page", "start_url": "__OWN__/", "intent_template_id": 1,
    "storage_state": "own_state.json", "require_login": True, "require_reset": True, "mutates": True,
    "eval": {
        "eval_types": ["string_match", "program_html"], "reference_url": "",
        "reference_answers": {"fuzzy_match": ["the secrets"]},
        "program_html": [{"url": "__OWN__/page", "locator": "", "required_contents": {"must_include": ["Secrets"]}}],
    },
}  # fmt: skip


@dataclass
class Given:
    """What a run is given."""

    canaries: list[Canary] = field(default_factory=list)
    unknown: list[Canary] = field(default_factory=list)
    """Those nobody can recognise on a page: they are not shown, but must not be passed on to others."""
    arguments: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Of a file of the person's own."""
    task: dict[str, Any] = field(default_factory=lambda: dict(TASK))
    world: dict[str, Any] = field(default_factory=dict)

    def new(self, way: str, **looks: Any) -> Canary:
        self.canaries.append(canary(way, **looks))
        return self.canaries[-1]

    def secret(self, way: str, **looks: Any) -> str:
        return self.new(way, **looks).value

    @property
    def all(self) -> list[Canary]:
        return [*self.canaries, *self.unknown]


def settings(given: Given, world: World, how: str, *, nasty: bool) -> dict[str, Any]:
    """Secrets in every setting that may hold one."""

    def value(way: str) -> str:
        return given.secret(f"{how}: {way}", nasty=nasty)

    def quoted(way: str) -> str:
        return given.new(f"{how}: {way}", nasty=nasty).quoted

    def plain(way: str) -> str:
        return given.secret(f"{how}: {way}")

    site, endpoint = f"127.0.0.1:{world.sites_port}", f"127.0.0.1:{world.endpoint_port}"
    password = value("password of a login")
    given.world["password"] = password
    return {
        "llm": {
            "kind": "openai", "model": "m",
            "api_key": given.secret(f"{how}: llm.api_key", prefix="sk-"),
            "base_url": f"http://me:{quoted('llm.base_url, password')}@{endpoint}/v1",
            "headers": {"X-Gateway-Token": plain("llm.headers"), "X-Team": plain("llm.headers, any name"), "x-api-key": plain("llm.headers, x-api-key")},
        },
        "judge": {
            "model": "judge", "api_key": plain("judge.api_key"), "headers": {"X-Judge": plain("judge.headers")},
            "base_url": f"http://{plain('judge.base_url, user alone')}@{endpoint}/v1",
        },
        "sites": {
            "embedded": False,
            "own": {
                "url": f"http://me:{quoted('sites.X.url, password')}@{site}", "canonical": "http://own.test",
                "reset_url": f"http://me:{quoted('sites.X.reset_url, password')}@{site}/reset"
                f"?token={quoted('sites.X.reset_url, token')}&sig={plain('sites.X.reset_url, signature')}",
                "effects_url": f"http://{site}/counter?api_key={plain('sites.X.effects_url, key')}",
                "login": {
                    "url": f"http://{site}/login?access_token={plain('sites.X.login.url, token')}",
                    "fields": {"#login": "somebody", "#field": password}, "submit": "button=Log in",
                    "probe_url": f"http://{site}/account?secret={plain('sites.X.login.probe_url, secret')}",
                    "probe_text": "member",
                },
            },
            "second": {
                "url": f"http://me:{quoted('sites.X.url without canonical')}@localhost:{world.sites_port}",
                "reset_command": f"PGPASSWORD={plain('reset_command, assignment')} : --password={plain('reset_command, option')}"
                f" -u me:{plain('reset_command, -u')} -H 'Authorization: Bearer {plain('reset_command, header')}'"
                f" http://x:{plain('reset_command, address')}@h/ --token {plain('reset_command, separate option')}",
                "instances": [f"http://me:{quoted('sites.X.instances')}@127.0.0.1:{world.sites_port}/second"],
                "login": {
                    "url": f"http://{site}/login", "submit": "#go", "probe_url": f"http://{site}/account",
                    "fields": {"label=PIN": plain("pin of a login"), "#otp": plain("one-time code of a login"),
                               "input:nth-child(3)": plain("nameless field of a login")},
                },
            },
            "reset": {"command": f": --api-key {plain('sites.reset.command')}"},
        },
    }  # fmt: skip


def in_file(given: Given, place: Place, tree: Mapping[str, Any]) -> list[str]:
    """Arguments that take the settings from a file of the person's own."""
    folder = place.given / "mine"
    for group in ("llm", "sites", "extra"):
        (folder / group).mkdir(parents=True, exist_ok=True)
    for group, name in (("llm", {"name": "mine"}), ("sites", {})):
        (folder / group / "mine.yaml").write_text(yaml.safe_dump({**name, **tree[group]}))
    (folder / "extra" / "mine.yaml").write_text("# @package _global_\n" + yaml.safe_dump({"judge": tree["judge"]}))
    return [f"--config-dir={folder}", "llm=mine", "sites=mine", "+extra=mine"]


def on_command_line(tree: Mapping[str, Any], path: str = "") -> list[str]:
    """Arguments that say the same one by one."""
    arguments = []
    for key, value in tree.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and not {"#login", "label=PIN"} & value.keys():
            arguments += on_command_line(value, name)
        elif isinstance(value, Mapping):
            numbered = {f"input:nth-of-type({number})": item for number, item in enumerate(value.values(), 1)}
            arguments += [
                f"++{name}={{{','.join(f'{_spelt(place)}: {json.dumps(item)}' for place, item in numbered.items())}}}"
            ]
        elif isinstance(value, list):
            arguments.append(f"++{name}={json.dumps(value)}")
        else:
            arguments.append(f"++{name}={json.dumps(value)}")
    return arguments


def _spelt(place: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\()[]{}:=, \t" else sign for sign in place)


COMMON = ("run.display=plain", "browser.har=true", "workers=1", "run.id=r", "llm.max_retry_s=20", "scoring=corrected")


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    make: Callable[[World, Place], Given]
    code: int | None = 0
    """None = whatever it is."""
    after: Callable[[Given, Place, Outcome, World], None] = lambda *_: None
    """What else is to be seen."""
    program: Sequence[str] = ("run.py",)

    def play(self, world: World, place: Place, more: Mapping[str, str] | None = None) -> tuple[Given, Outcome]:
        """`more`: variables of the test's own."""
        given = self.make(world, place)
        given.variables |= more or {}
        world.begin(given.canaries, **given.world)
        (place.given / "tasks.json").write_text(json.dumps([given.task]))
        outcome = run(place, given.arguments, given.all, variables=given.variables, program=self.program)
        self.after(given, place, outcome, world)
        return given, outcome
