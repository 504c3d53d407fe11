"""What is a secret and what is not, wherever it is given; and what those who must not have it get instead."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.api import ChatSettings, Message
from harness.browser.driver.child_environment import browser_environment
from harness.browser.network.addresses import Addresses, SiteFinder
from harness.browser.network.allowlist import Allowlist
from harness.browser.network.http import fetch
from harness.cli import configured
from harness.config import register
from harness.config.argument_secrets import redact_arguments
from harness.errors import ConfigError, SiteUnavailable
from harness.files import safe_files
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.retry import Retrier
from harness.protocols import Phase, ProgressEvent
from harness.records import Eval, Site, Task
from harness.runner import shell
from harness.runner.process_tree import worker_environment
from harness.secrets.config_secrets import config_secrets, redacted_settings, task_secrets
from harness.secrets.redacting_progress import RedactingProgress
from harness.secrets.redaction import Redactor
from harness.secrets.secret_detection import in_command, in_header, in_login, in_text, secrets_in
from harness.settings.models import EndpointSettings, RetryPolicy
from tests.hostile.canaries.world import World, world

SECRET = "Zx7Qw0Lm3Rt9Kp5V"


@pytest.fixture(scope="module")
def there() -> Any:
    with world() as made:
        yield made


# --- variables ---------------------------------------------------------------------------------------

SECRET_VARIABLES = (
    *(
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "PGPASSWORD",
        "MYSQL_PWD",
        "DB_PASS",
    ),
    *(
        "GITHUB_TOKEN",
        "CI_JOB_TOKEN",
        "TOKEN_2",
        "API_KEY_OLD",
        "APIKEY",
        "myApiKey",
        "shop_password",
        "SENTRY_DSN",
        "GITHUB_PAT",
    ),
    *(
        "NPM_AUTH",
        "HTTP_COOKIE",
        "SSH_PASSPHRASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "VAULT_SECRET_ID",
        "WANDB_API_KEY",
    ),
)
HARMLESS_VARIABLES = ("PWD", "OLDPWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "SSH_AUTH_SOCK", "TOKEN_URL", "PASSENGER_ROOT", "HOME")  # fmt: skip


@pytest.mark.parametrize("name", SECRET_VARIABLES)
def test_a_variable_is_a_secret_by_its_name(name: str) -> None:
    assert secrets_in({name: SECRET}) == {name: SECRET}


@pytest.mark.parametrize("name", HARMLESS_VARIABLES)
def test_a_variable_of_another_name_is_none(name: str) -> None:
    assert secrets_in({name: SECRET}) == {}


@pytest.mark.parametrize(
    "value",
    [
        f"postgres://me:{SECRET}@db/x", f"https://{SECRET}@github.com/x.git", f"https://h/x?access_token={SECRET}&a=b",
        f"https://h/#api_key={SECRET}", f"amqp://{SECRET}:x@h", f"Server=h; dsn=http://u:{SECRET}@h",
    ],
)  # fmt: skip
def test_what_stands_in_an_address_of_a_variable_is_a_secret(value: str) -> None:
    assert SECRET in secrets_in({"SOME_URL": value}).values()


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-0123456789abcdefghij", "ghp_0123456789abcdefghij0123", "glpat-0123456789abcdefghij", "xoxb-0123456789-abc",
        "AKIA0123456789ABCDEF", "hf_0123456789abcdefghij", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh",
    ],
)  # fmt: skip
def test_a_key_that_says_so_itself_is_a_secret_wherever_it_stands(key: str) -> None:
    assert list(in_text(f'{{"any": "{key}"}}')) == [key]


# --- commands, headers, logins -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "curl -u me:{} http://h", "curl --user=me:{} http://h", "curl -H 'Authorization: Bearer {}' http://h",
        'curl -H "X-Api-Key: {}" http://h', "curl http://me:{}@h/reset", "curl 'http://h/reset?token={}'", "PGPASSWORD={} psql -f seed.sql",
        "PGPASSWORD='{}' psql", "export DB_PASS={}; ./reset.sh", "mysql -u root -p{} shop < seed.sql", "reset --password {}",
        "reset --password={}", 'reset --api-key "{}"', "reset -token {}", "ssh h 'TOKEN={} reset'",
    ],
)  # fmt: skip
def test_a_secret_in_a_command_is_found(command: str) -> None:
    assert SECRET in set(in_command(command.format(SECRET)))


@pytest.mark.parametrize(
    "command", ["docker compose -p 8080 up", "./reset.sh --site shop", "make reset SITE=shop", "ssh -p 2222 h reset"]
)
def test_an_ordinary_command_holds_none(command: str) -> None:
    assert list(in_command(command)) == []


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("Authorization", f"Bearer {SECRET}", {SECRET}), ("authorization", f"token {SECRET}", {SECRET}),
        ("X-Any", SECRET, {SECRET}), ("Authorization", "Basic dXM6cGFzc3dvcmQ=", {"dXM6cGFzc3dvcmQ=", "password"}),
        ("User-Agent", "Mozilla/5.0", set()), ("HTTP-Referer", "https://example.org", set()), ("X-Title", "Cairn", set()),
    ],
)  # fmt: skip
def test_of_a_header_all_but_the_scheme_is_a_secret(name: str, value: str, found: set[str]) -> None:
    assert set(in_header(name, value)) == found


@pytest.mark.parametrize(
    "place",
    ["#password", "label=PIN", "#pin", "[name=otp]", "label=One-time code", "input:nth-child(2)", "#login input", "#login > .second",
     "[name='login[code]']", "[data-testid=password-field]", "label=Kundennummer", "#user_token", "label=Secret answer", "#userpassword"],
)  # fmt: skip
def test_every_field_of_a_login_is_a_secret(place: str) -> None:
    assert SECRET in set(in_login({"label=User": "somebody", place: SECRET}))


@pytest.mark.parametrize(
    "place",
    [
        "#login",
        "label=Email",
        "label=User name",
        "placeholder=user name",
        "[data-testid=username-field]",
        "#account",
        "label=Phone",
    ],
)
def test_but_those_that_ask_who_somebody_is(place: str) -> None:
    assert list(in_login({place: "nora.field@example.com", "#x": SECRET})) == [SECRET]
    assert list(in_login({place: "nora.field@example.com"})) == ["nora.field@example.com"], (
        "unless there is nothing else"
    )


# --- settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [
        {"llm": {"api_key": SECRET}}, {"judge": {"api_key": SECRET}}, {"llm": {"headers": {"X-Any": SECRET}}},
        {"llm": {"base_url": f"https://me:{SECRET}@h/v1"}}, {"judge": {"base_url": f"https://h/v1?key={SECRET}"}},
        {"sites": {"own": {"url": f"http://me:{SECRET}@h"}}}, {"sites": {"own": {"instances": [f"http://me:{SECRET}@h"]}}},
        {"sites": {"own": {"reset_url": f"http://h/?token={SECRET}"}}}, {"sites": {"own": {"effects_url": f"http://h/?sig={SECRET}"}}},
        {"sites": {"own": {"reset_command": f"reset --password {SECRET}"}}}, {"sites": {"reset": {"command": f"TOKEN={SECRET} reset"}}},
        {"sites": {"own": {"login": {"url": f"http://me:{SECRET}@h/login"}}}}, {"sites": {"own": {"login": {"fields": {"#pin": SECRET}}}}},
        {"sites": {"own": {"login": {"headers": {"X-Auto-Login": f"nora:{SECRET}"}}}}}, {"sites": {"own": {"login": {"headers": {"X-Any": SECRET}}}}},
        {"sites": {"own": {"login": {"probe_url": f"http://h/?secret={SECRET}"}}}},
        {"tracking": {"report_metrics": [{"_target_": "x.Y", "token": SECRET}]}},
        {"executor": {"sbatch": {"export": f"ALL,OPENAI_API_KEY={SECRET},LANG=C"}}},
    ],
)  # fmt: skip
def test_a_setting_is_known_as_a_secret_and_not_shown(tree: dict[str, Any]) -> None:
    assert SECRET in config_secrets(tree).values()
    assert SECRET not in json.dumps(redacted_settings(tree))


def test_of_a_command_only_the_program_is_shown() -> None:
    tree = {"sites": {"own": {"reset_command": f"./reset.sh {SECRET}"}, "reset": {"command": "make"}}}
    assert redacted_settings(tree) == {
        "sites": {"own": {"reset_command": "./reset.sh [redacted]"}, "reset": {"command": "make"}}
    }


def test_several_secrets_of_a_login_have_names_of_their_own() -> None:
    tree = {"sites": {"own": {"login": {"fields": {"#user": "u", "#password": "one-secret", "#otp": "two-secret"}}}}}
    assert config_secrets(tree) == {"sites.own.login": "one-secret", "sites.own.login.2": "two-secret"}


def test_headers_are_no_other_measurement() -> None:
    plain, more = configured(["task=smoke"]), configured(["task=smoke", f"+llm.headers.X-Any={SECRET}"])
    assert plain.measured() == more.measured()
    assert config_secrets(more.tree())["llm.headers.X-Any"] == SECRET
    assert SECRET not in json.dumps(redacted_settings(more.tree()))


def test_a_site_is_shown_to_nobody_with_its_password() -> None:
    config = configured(["task=smoke", "++sites.embedded=false", f'++sites.own.url="http://me:{SECRET}@h:81/x"'])
    assert config.sites.canonical_bases["own"] == "http://h:81/x"


@pytest.mark.parametrize(
    "task",
    [
        {"start_urls": (f"http://me:{SECRET}@h/",)}, {"intent": f"Open http://me:{SECRET}@h/"},
        {"eval": Eval(eval_types=("url_match",), reference_url=f"http://me:{SECRET}@h/")}, {"metadata": {"a": [f"http://me:{SECRET}@h/"]}},
    ],
)  # fmt: skip
def test_a_password_in_an_address_of_a_task_is_a_secret(task: Mapping[str, Any]) -> None:
    fields = {
        "task_id": "7",
        "sites": ("own",),
        "intent": "x",
        "start_urls": ("http://h/",),
        "eval": Eval(eval_types=()),
        **task,
    }
    assert task_secrets([Task(**fields)]) == {"task.7": SECRET}


# --- the command line --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argument",
    [
        "llm.api_key={}", "judge.api_key={}", "+llm.headers.X-Any={}", "+llm.headers={{X-Any: {}, X-Other: b}}", "llm.api_key='{}'",
        'llm.api_key="{}"', "llm.api_key=a,{},b", "llm.base_url=http://me:{}@h/v1", "llm.base_url=http://{}@h/v1",
        'judge.base_url="http://h/v1?key={}"', "++sites.own.url=http://me:{}@h", "++sites.own.instances=[http://h,http://me:{}@h]",
        "++sites.own.login.fields.input={}", "++sites.own.login={{url: http://h, fields: {{input: {}}}}}",
        '++sites.own={{url: http://h, reset_command: "reset --password {}"}}', '++sites.reset.command="TOKEN={} make"',
        "llm.api_kye=sk-{}", "+tracking.report_metrics=[{{_target_: x.Y, token: {}}}]", "hydra.job.env_set.OPENAI_API_KEY={}",
        "task.path=http://me:{}@h", '+executor.sbatch.export="ALL,OPENAI_API_KEY={}"',
    ],
)  # fmt: skip
def test_hydra_does_not_see_a_secret_of_the_command_line(argument: str) -> None:
    hidden = redact_arguments(["task=smoke", argument.format(SECRET)])
    assert SECRET not in "".join(hidden.arguments)
    assert any(SECRET in secret for secret in hidden.secrets.values())
    assert hidden.arguments[0] == "task=smoke"


@pytest.mark.parametrize(
    "argument",
    [
        "llm.model=gpt-4o", "task.ids=[0-9,12]", "llm.max_tokens=100", "llm.api_key=${oc.env:KEY}", "-m", "--config-dir=/x",
        "++sites.own.url=http://h:80", "run.id=a,b", "limits.max_tokens=5", "llm.faults=[{do: limit, rpm: 60}]", "~judge.api_key",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_left_as_it_was_typed(argument: str) -> None:
    assert redact_arguments([argument]).arguments == (argument,)


@pytest.mark.parametrize(
    "argument",
    ['llm.api_key={}"', "llm.api_key={}=", "llm.base_url=http://me:{}@h?a=b", '++sites.x.login.fields={{"#a": "{}"}}'],
)
def test_what_cannot_be_read_is_refused_without_being_told(argument: str) -> None:
    with pytest.raises(ConfigError, match="its value cannot be parsed; quote it") as refused:
        redact_arguments([argument.format(SECRET)])
    assert SECRET not in str(refused.value)


def test_the_configuration_has_the_secret_again() -> None:
    given = [f"llm.api_key={SECRET}", f"llm.base_url=http://me:{SECRET}@h/v1", "++sites.shop.login.fields.pin=4711"]
    config = configured(["task=smoke", *given])
    assert (config.llm.api_key, config.llm.base_url) == (SECRET, f"http://me:{SECRET}@h/v1")
    assert (login := config.sites.by_name["shop"].login) is not None and login.fields["pin"] == "4711"


@pytest.mark.parametrize(
    ("overrides", "suffix"),
    [
        ("", ""), ("limits.max_steps=8", ",limits.max_steps-8"), ("x.key=REDACTED_1_", ""),
        ("a=1,x.key=REDACTED_1_,b=2", ",a-1-b-2"), ("u=http://me:REDACTED_2_@h", ",u-http-me-redacted-h"),
    ],
)  # fmt: skip
def test_the_name_of_a_run_of_several_has_no_place_of_a_secret(overrides: str, suffix: str) -> None:
    from omegaconf import OmegaConf

    register()
    assert OmegaConf.create({"given": overrides, "name": "${suffix:${given}}"}).name == suffix


def test_a_long_name_of_a_run_of_several_fits_a_folder_and_stays_its_own() -> None:
    from omegaconf import OmegaConf

    register()
    names = {OmegaConf.create({"g": f"{'a' * 400}={end}", "name": "${suffix:${g}}"}).name for end in (1, 2)}
    assert len(names) == 2 and all(len(name) <= 160 for name in names)


# --- who must not have it ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "ODDLY_NAMED", "DEBUG", "NODE_OPTIONS", "PLAYWRIGHT_SERVICE_ACCESS_TOKEN",
     "XDG_SESSION_COOKIE", "SSH_AUTH_SOCK", "GTK_PASSWORD", "KUBECONFIG", "PYTHONPATH", "CAIRN_COMMAND"],
)  # fmt: skip
def test_the_browser_does_not_get_a_variable(name: str) -> None:
    assert browser_environment({name: SECRET, "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "LANG", "LC_ALL", "DISPLAY", "XDG_RUNTIME_DIR", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "FONTCONFIG_FILE",
     "PLAYWRIGHT_BROWSERS_PATH", "SSL_CERT_FILE", "CAIRN_RUN", "no_proxy"],
)  # fmt: skip
def test_the_browser_gets_what_it_works_with(name: str) -> None:
    assert browser_environment({name: "x"}) == {name: "x"}


@pytest.mark.parametrize("value", ["http://me:{}@proxy:3128", "me:{}@proxy:3128"])
def test_a_proxy_is_passed_on_without_its_password(value: str) -> None:
    assert browser_environment({"https_proxy": value.format(SECRET)})["https_proxy"].endswith("proxy:3128")
    assert SECRET not in str(browser_environment({"HTTPS_PROXY": value.format(SECRET)}))


def test_a_display_gets_no_secret_that_it_could_wrap() -> None:
    heard: list[ProgressEvent] = []

    class Listening:
        def tell(self, news: ProgressEvent) -> None:
            heard.append(news)

    news = ProgressEvent(
        lane=0, task_id="1", phase=Phase.acting, action=f"type [5] [{SECRET}]", note=f"it said {SECRET}"
    )
    RedactingProgress(Listening(), Redactor({"pin": SECRET}).said).tell(news)
    assert (heard[0].action, heard[0].note) == ("type [5] [[redacted:pin]]", "it said [redacted:pin]")


def test_a_worker_is_not_told_to_log_what_is_typed() -> None:
    assert worker_environment({"DEBUG": "pw:*", "PWDEBUG": "1", "OPENAI_API_KEY": "k"}) == {"OPENAI_API_KEY": "k"}


def test_the_log_of_workers_is_for_its_owner(tmp_path: Path) -> None:
    (tmp_path / "worker.log").touch(0o644)
    with safe_files.open_append(tmp_path / "worker.log") as log:
        log.write(b"x")
    assert stat.S_IMODE((tmp_path / "worker.log").stat().st_mode) == 0o600


async def test_the_arguments_of_a_hook_do_not_show_its_command(tmp_path: Path) -> None:
    ended = await shell.run_command(
        f": {SECRET}; cat /proc/$$/cmdline > {tmp_path}/seen; env > {tmp_path}/env", variables={}, timeout_s=30
    )
    assert ended.code == 0
    assert b"/bin/sh" in (seen := (tmp_path / "seen").read_bytes()) and SECRET.encode() not in seen
    assert SECRET not in (tmp_path / "env").read_text(), "nor do its children get it"


AMBIENT = {
    "OPENAI_API_KEY": "ambient-key", "OPENAI_ADMIN_KEY": "ambient-admin", "OPENAI_ORG_ID": "ambient-org", "OPENAI_PROJECT_ID": "ambient-project",
    "OPENAI_WEBHOOK_SECRET": "ambient-hook", "OPENAI_BASE_URL": "http://127.0.0.1:9/ambient", "AZURE_OPENAI_AD_TOKEN": "ambient-token",
    "AZURE_OPENAI_API_KEY": "ambient-azure", "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9/ambient", "OPENAI_API_VERSION": "ambient-version",
    "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer ambient-bearer\nX-Ambient: ambient-extra\nApi-Key: ambient-api",
}  # fmt: skip


@pytest.mark.parametrize("key", [None, "configured"])
@pytest.mark.parametrize("azure", [None, "v1", "2024-10-21"])
async def test_only_what_is_configured_is_sent_to_an_endpoint(
    there: World, azure: str | None, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    there.begin([], refusals=0)
    endpoint = Endpoint(
        EndpointSettings(
            base_url=f"http://127.0.0.1:{there.endpoint_port}" + ("" if azure else "/v1"),
            api_key=key,
            kind="azure" if azure else "openai",
            api_version=None if azure == "v1" else azure,
            headers={"X-Ours": "ours"},
        )
    )
    chat = EndpointModel(
        Exchanger(
            endpoint, ChatSettings(model="m"), retrier=Retrier(RetryPolicy(max_attempts=1, max_retry_s=10)), prices={}
        )
    )
    async with chat:
        await chat.ask([Message(role="user", content="x")])
    (sent,) = there.headers
    assert "ambient" not in json.dumps(sent)
    assert sent["x-ours"] == "ours"
    assert (key or "none") in (sent.get("authorization", "") + sent.get("api-key", ""))
    assert all(os.environ[name] == value for name, value in AMBIENT.items()), "they are there again"


async def test_a_password_of_an_address_is_sent_as_a_browser_sends_it(there: World) -> None:
    there.begin([], guarded=True)
    answer = await fetch(f"http://me:p%40ss@127.0.0.1:{there.sites_port}/")
    assert answer.status == 200
    assert there.site_headers[0]["authorization"] == "Basic bWU6cEBzcw=="
    assert there.site_headers[0]["host"] == f"127.0.0.1:{there.sites_port}"


async def test_an_address_that_does_not_answer_is_named_without_its_secrets() -> None:
    with pytest.raises(SiteUnavailable, match=r"http://127\.0\.0\.1:9/reset does not answer") as refused:
        await fetch(f"http://me:{SECRET}@127.0.0.1:9/reset?token={SECRET}")
    assert SECRET not in str(refused.value)


def test_a_site_with_a_password_is_the_same_site_without() -> None:
    site = Site(name="own", url=f"http://me:{SECRET}@h:81", canonical="http://own.test")
    assert Allowlist((site,), allowed="sites").reaches("http://h:81/x")
    assert Allowlist((site,), allowed="sites").reaches(f"http://me:{SECRET}@h:81/x")
    assert not Allowlist((site,), allowed="sites").reaches("http://h:81@evil/x")
    assert SiteFinder([("own", site.url)])("http://h:81/x") == "own"
    addresses = Addresses((site,))
    assert addresses.to_real("http://own.test/x") == f"http://me:{SECRET}@h:81/x"
    assert addresses.to_canonical(f"http://me:{SECRET}@h:81/x") == "http://own.test/x"
