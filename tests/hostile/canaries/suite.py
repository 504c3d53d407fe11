"""The runs of the suite: few, each with many ways in."""

import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from tests.hostile.canaries.canary import Sought, canary
from tests.hostile.canaries.running import PROJECT, Leak, Outcome, Place, run, search_files
from tests.hostile.canaries.ways import COMMON, Given, Run, in_file, on_command_line, settings
from tests.hostile.canaries.world import World


def from_file(world: World, place: Place) -> Given:
    """Settings of the person's own file; logged to W&B, with a network trace."""
    given = Given()
    tree = settings(given, world, "file", nasty=True)
    tracking = ("tracking=art", "tracking.name=m", "tracking.report_metrics=[wandb]")
    given.arguments = [*in_file(given, place, tree), f"task.path={place.given / 'tasks.json'}", *COMMON, *tracking]
    given.variables = {"WANDB_MODE": "offline", "WANDB_API_KEY": given.secret("environment: WANDB_API_KEY")}
    return given


def from_command_line(world: World, place: Place) -> Given:
    """The same settings as arguments, of several runs at once, which hydra writes down."""
    given = Given()
    tree = settings(given, world, "command line", nasty=False)
    given.arguments = ["-m", "task.name=t", f"task.path={place.given / 'tasks.json'}", *COMMON, *on_command_line(tree)]
    return given


VARIABLES = (
    *(
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "GITHUB_TOKEN",
        "HF_TOKEN",
        "PGPASSWORD",
        "MYSQL_PWD",
    ),
    *(
        "ANTHROPIC_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "OPENAI_WEBHOOK_SECRET",
        "OPENAI_ADMIN_KEY",
        "NPM_AUTH",
        "DB_PASS",
        "VAULT_TOKEN_2",
    ),
)
NOT_SENT = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ODDLY_NAMED")


def from_environment(world: World, place: Place) -> Given:
    """Variables, some of which the settings name; with a driver that would log what is typed."""
    given = Given()
    given.variables = {name: given.secret(f"environment: {name}") for name in VARIABLES}
    given.unknown = [canary(f"environment: {name}") for name in NOT_SENT]
    given.variables |= {name: one.value for name, one in zip(NOT_SENT, given.unknown, strict=True)}
    password = given.secret("environment: a login's ${oc.env:…}", nasty=True)
    given.world["password"] = password
    headers = (
        f"Authorization: Bearer {given.secret('environment: OPENAI_CUSTOM_HEADERS, Authorization')}\n"
        f"X-Extra: {given.secret('environment: OPENAI_CUSTOM_HEADERS, any name')}"
    )
    given.variables |= {
        "OPENAI_API_KEY": given.secret("environment: OPENAI_API_KEY", prefix="sk-"),
        "OPENAI_CUSTOM_HEADERS": headers,
        "OPENAI_BASE_URL": f"http://me:{given.secret('environment: OPENAI_BASE_URL, password')}@127.0.0.1:9/v1",
        "DATABASE_URL": f"postgres://me:{given.secret('environment: an address, password')}@db/x",
        "ALL_PROXY_OF_OURS": f"http://me:{given.secret('environment: a proxy, password')}@127.0.0.1:9",
        "SENTRY": f"https://h/?auth_token={given.secret('environment: an address, token')}",
        "SOME_JSON": json.dumps({"key": given.secret("environment: a key that says so itself", prefix="sk-")}),
        "TYPED_IN": password, "DEBUG": "pw:*", "NODE_OPTIONS": "--no-warnings",
    }  # fmt: skip
    own = {
        "url": f"http://127.0.0.1:{world.sites_port}", "canonical": "http://own.test",
        "reset_url": f"http://127.0.0.1:{world.sites_port}/reset",
        "login": {
            "url": "http://own.test/login", "fields": {"#login": "somebody", "#field": "${oc.env:TYPED_IN}"},
            "submit": "button=Log in", "probe_url": "http://own.test/account", "probe_text": "member",
        },
    }  # fmt: skip
    tree = {
        "llm": {"kind": "openai", "model": "m", "api_key": "${oc.env:OPENAI_API_KEY}", "base_url": f"http://127.0.0.1:{world.endpoint_port}/v1"},
        "judge": {"model": "judge", "base_url": f"http://127.0.0.1:{world.endpoint_port}/v1"},
        "sites": {"embedded": False, "own": own},
    }  # fmt: skip
    given.arguments = [*in_file(given, place, tree), f"task.path={place.given / 'tasks.json'}", *COMMON]
    return given


def sends_only_what_is_set(given: Given, place: Place, outcome: Outcome, world: World) -> None:
    """What the endpoint was sent: the configured key, and nothing else of the environment."""
    sent = json.dumps(world.headers).encode()
    got = Sought(given.all).in_bytes(sent)
    assert {one.way for one in got} == {"environment: OPENAI_API_KEY"}, got
    assert len(world.headers) > 1, outcome.said


def from_pages(world: World, place: Place) -> Given:
    """What tasks and pages bring along that nobody named: in addresses, headers, cookies and texts."""
    given = Given()
    password = given.new("task: start_url, password", nasty=True)
    what = (
        "Authorization: Bearer",
        "Authorization: Basic",
        "Cookie: in a text",
        "Set-Cookie: in a text",
        "a key of sk-",
        "session cookie",
    )
    given.unknown = [canary(f"page: {one}") for one in what]
    bearer, basic, sid, quiet, shape, cookie = (one.value for one in given.unknown)
    evaluated = given.new("task: address of an evaluator, password")
    given.world = {
        "password": "known",
        "guarded": True,
        "cookie": cookie,
        "extra": (
            f"<p>Authorization: Bearer {bearer}</p><p>authorization: Basic {basic}</p><p>Cookie: sid={sid};"
            f" theme=dark</p><p>set-cookie: sid={quiet};"
            f" Path=/</p><p>sk-{shape}</p><p>http://me:{password.quoted}@127.0.0.1/</p>"
        ),
    }
    given.task["start_url"] = f"http://me:{password.quoted}@127.0.0.1:{world.sites_port}/"
    html = given.task["eval"]["program_html"][0]
    given.task["eval"] = {
        **given.task["eval"],
        "program_html": [{**html, "url": f"http://me:{evaluated.quoted}@127.0.0.1:{world.sites_port}/"}],
    }
    login = {
        "url": "http://own.test/login", "fields": {"#login": "somebody", "#field": "known"}, "submit": "button=Log in",
        "probe_url": "http://own.test/account", "probe_text": "member",
    }  # fmt: skip
    tree: dict[str, Any] = {
        "llm": {"kind": "openai", "model": "m", "base_url": f"http://127.0.0.1:{world.endpoint_port}/v1"},
        "judge": {"model": "judge", "base_url": f"http://127.0.0.1:{world.endpoint_port}/v1"},
        "sites": {"embedded": False, "own": {"url": f"http://127.0.0.1:{world.sites_port}", "canonical": "http://own.test", "login": login}},
    }  # fmt: skip
    given.arguments = [*in_file(given, place, tree), f"task.path={place.given / 'tasks.json'}", *COMMON]
    return given


def reaches_the_page(given: Given, place: Place, outcome: Outcome, world: World) -> None:
    """The browser still gets the password of the task, and only the site it is for."""
    sent = [
        b64decode(headers["authorization"].partition(" ")[2]).decode()
        for headers in world.site_headers
        if "authorization" in headers
    ]
    assert f"me:{given.canaries[0].value}" in sent, sent
    assert not Sought(given.all).in_bytes(
        json.dumps([headers.get("authorization") for headers in world.headers]).encode()
    )


def reads_and_exports(given: Given, place: Place, outcome: Outcome, world: World) -> None:
    """The secrets reached those they are for; then every command that makes something of the run folder."""
    assert "POST /login" in world.asked, world.asked
    assert any("authorization" in headers for headers in world.site_headers), "the site's own password"
    folder = place.out / "work" / "results" / "r"
    assert json.loads((folder / "summary.json").read_bytes())["passed"] == 1, outcome.said
    for command in (
        ["show", str(folder)], ["show", str(folder), "0"], ["report", str(folder)], ["score", str(folder)],
        ["export", "webarena-verified", str(folder)], ["compare", str(folder), str(folder), "--json"],
    ):  # fmt: skip
        told = run(place, command, given.all, variables=given.variables, program=("-m", "harness.main"), files=False)
        outcome.leaks += [Leak(f"harness {command[0]}: {leak.where}", leak.way) for leak in told.leaks]
        outcome.searched += told.searched
        outcome.places += told.places
    search_files(outcome, Sought(given.all), place.out)


def fails(name: str, place: str, code: int) -> Run:
    """A run in which something breaks that nobody foresaw, with every secret in its words."""

    def make(world: World, at: Place) -> Given:
        given = Given()
        key, password = given.secret(f"{name}: llm.api_key"), given.secret(f"{name}: environment")
        task = given.secret(f"{name}: address of a task")
        module, _, function = place.rpartition(".")
        broken = f"raise RuntimeError('{key} {password} http://me:{task}@h/ ' * 3)"
        program = f"import {module} as it\ndef fail(*_, **__):\n    {broken}\nit.{function} = fail\n"
        (at.given / "sitecustomize.py").write_text(program)
        given.task |= {"start_url": f"http://me:{task}@127.0.0.1:9/", "storage_state": None, "sites": []}
        given.task["eval"] = {
            "eval_types": ["string_match"],
            "reference_url": "",
            "program_html": [],
            "reference_answers": {"exact_match": "x"},
        }
        given.variables = {"PYTHONPATH": f"{at.given}:{PROJECT}", "OTHER_TOKEN": password}
        given.arguments = [
            f"task.path={at.given / 'tasks.json'}",
            "task.name=t",
            *COMMON,
            "llm=openai",
            f"llm.api_key={key}",
        ]
        given.arguments += [
            f"llm.base_url=http://127.0.0.1:{world.endpoint_port}/v1",
            "sites=webarena",
            "judge.model=m",
            f"judge.base_url=http://127.0.0.1:{world.endpoint_port}/v1",
        ]
        return given

    return Run(name, make, code)


def refused(
    name: str, way: str, *arguments: str, prefix: str = "", code: int | None = 2, program: Sequence[str] = ("run.py",)
) -> Run:
    """A command line with a mistake in it; `{}` stands for the secret."""

    def make(world: World, place: Place) -> Given:
        given = Given()
        secret = given.secret(f"mistake: {way}", prefix=prefix)
        given.arguments = [argument.replace("{}", secret) for argument in arguments]
        return given

    return Run(name, make, code, program=program)


RUNS = (
    Run("settings of a file", from_file, after=reads_and_exports),
    Run("settings of the command line", from_command_line),
    Run("environment", from_environment, after=sends_only_what_is_set),
    Run("tasks and pages", from_pages, after=reaches_the_page),
)
MISTAKES = (
    fails("an error nobody foresaw", "harness.evaluation.provenance.describe", 70),
    refused("a key that cannot be read", "llm.api_key that hydra cannot read", 'llm.api_key={}"x'),
    refused("an address that cannot be read", "llm.base_url that hydra cannot read", "llm.base_url=http://me:{}@h/v1?a=b"),
    refused("a setting that there is not", "misspelt key", "llm.api_kye={}", prefix="sk-"),
    refused("a setting that there is not, added", "misspelt key, added", "+llm.api_keys.token={}"),
    refused("a value of a wrong type", "text instead of a mapping", "llm.headers=[{}]"),
    refused("a group that there is not", "unknown group", "llm={}", prefix="sk-"),
    refused("a wrong address", "llm.base_url without http", "llm=openai", "llm.base_url=ftp://me:{}@h"),
    refused("a wrong address of a site", "sites.X.url without http", "++sites.own.instances=['ftp://me:{}@h']"),
    refused("a wrong login", "sites.X.login that is not a mapping", "++sites.own.login={}", prefix="sk-"),
    refused("settings shown", "--cfg job", "--cfg", "job", "llm.api_key={}", code=0),
    refused("settings shown, resolved", "--cfg job --resolve", "--cfg=job", "--resolve", "llm.api_key={}", code=0),
    refused("nothing but said", "run.dry", "run.dry=true", "task=smoke", "llm.api_key={}", code=0),
    refused("doctor", "harness doctor", "doctor", "llm=openai", "llm.base_url=http://me:{}@127.0.0.1:9/v1", code=None, program=("-m", "harness.main")),
    refused("hydra's own folder", "hydra.output_subdir", "hydra.output_subdir=.hydra", "task=nowhere", "task.path=/nowhere", "llm.api_key={}", code=None),
)  # fmt: skip
