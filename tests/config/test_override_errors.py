"""What is said of a command line that hydra refuses: our words, the setting's name, and the fix."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import configured, run
from harness.config.option_order import options_first
from harness.config.site_settings import read_sites
from harness.errors import ConfigError
from tests.e2e.conftest import environment
from tests.forked import Forks

pytestmark = pytest.mark.integration

HYDRAS_WORDS = ("ConfigSchema", "not in struct", "hydra.cc", "EOF", "Could not", "merging override", "struct")
SAID = {
    "tsk=demo": "tsk is not a setting; did you mean task;",
    "task.limt=5": "task.limt is not a setting; did you mean task.limit;",
    "model=gpt-4o": "model is not a setting; did you mean agent.model or llm.model or judge.model;",
    "limit=5": "limit is not a setting; did you mean task.limit;",
    "harness=1": "harness is not a setting; --help says more",
    "agent.arguments.foo=1": "or add it with a plus: +agent.arguments.foo=…",
    "sites.shop.urll=http://a": "sites.shop.urll does not exist yet; did you mean sites.shop.url;",
    "sites.mine.url=http://a": "add it with a plus: +sites.mine.url=…",
    "+task.limit={a: 1}": "not a whole number",
    "task.ids=[0,1": "the value of 'task.ids=[0,1' cannot be read; close its brackets",
    "'task.path=a": "is not the name of a setting",
    "llm.model": "'llm.model' is not a setting with a value; settings are written KEY=VALUE",
    "task.limit=5,6": "task.limit=5,6 has a comma; write task.limit=[5,6] for a list",
    "task.limit=": "task.limit= is not a whole number",
    "workers=1.5": "workers=1.5 is not a whole number",
    "llm.temperature=hot": "llm.temperature=hot is not a number",
    "browser.headless=maybe": "browser.headless=maybe is not true or false",
    "browser.uploads=[a]": "browser.uploads=[a] is a list, and the setting takes one text",
    "resume.in_doubt=x": "resume.in_doubt=x is unknown; choose one of ask_page, skip, repeat, restart, unscored",
    "agent=promt": "agent=promt is unknown; did you mean prompt; choose one of browser-use, careful, computer, ",
    "tracking=wandb2": "tracking=wandb2 is unknown; choose one of art, none",
    "browser.geolocation={latitude: 1, longitude: 2}": "add it with a plus: '+browser.geolocation={…}'",
    "llm.model=${file:a.txt}": "${file:…} in a setting is unknown; write ${oc.env:VARIABLE} or",
    "llm.headers={a: b}": "add it with a plus: '+llm.headers={…}'",
    "+evaluators=mine": "+evaluators=NAME needs a file evaluators/NAME.yaml, and there is none",
    "run.id=é": """the value of 'run.id=é' has letters beyond ASCII (é); quote it: 'run.id="é"'""",
    "~llm": "llm.model is not set, neither in a file llm/NAME.yaml that llm=NAME chooses nor here; give it",
    "~task.limit": "task.limit cannot be removed",
    "++run.dri=1": "run.dri is not a setting; did you mean run.dry;",
    "llm.api_key=${oc.env:NOT_SET_ANYWHERE}": (
        "the environment variable NOT_SET_ANYWHERE is not set, which llm.api_key needs; set it"
    ),
}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "llm.model is not set, neither in a file llm/NAME.yaml that llm=NAME chooses nor here; give it"),
        (b"# \xe9\nmodel: m\n", "conf/llm/mine.yaml: is not UTF-8; save it as UTF-8"),
        (b"model: m\ntemperature: hot\n", "llm/mine.yaml: llm.temperature: hot is not a number; correct it"),
        (b"modell: m\n", "llm/mine.yaml: llm.modell is not a setting; did you mean llm.model"),
    ],
)
def test_of_a_wrong_file_of_ones_own_file_and_field_are_named(tmp_path: Path, content: bytes, said: str) -> None:
    folder = tmp_path / "conf" / "llm"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        configured(["llm=mine"], tmp_path / "conf")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value) and not any(word in str(caught.value) for word in HYDRAS_WORDS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "defaults: [drect, _self_]\n",
            "agent/mine.yaml: its defaults name drect, and there is no file agent/drect.yaml;",
        ),
        ("name: mine\nexamples: hi\n", "agent/mine.yaml: agent.examples: is not a list; write its entries one a line"),
    ],
)
def test_of_a_wrong_prompt_of_ones_own_file_and_field_are_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "mine.yaml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        configured(["agent=mine"], tmp_path)
    assert said in str(caught.value)
    assert not any(word in str(caught.value) for word in HYDRAS_WORDS)


@pytest.mark.parametrize("group", ["experiment", "evaluators", "limits"])
def test_a_group_of_ones_own_is_chosen_with_a_plus(tmp_path: Path, group: str) -> None:
    (tmp_path / group).mkdir()
    (tmp_path / group / "mine.yaml").write_text("# @package _global_\nlimits: {max_steps: 7}\n")
    with pytest.raises(ConfigError, match=rf"choose a file of it with a plus: \+{group}=NAME$"):
        configured([f"{group}=mine"], tmp_path)
    assert configured([f"+{group}=mine"], tmp_path).limits.max_steps == 7


def test_a_key_of_a_login_is_looked_for_among_those_of_a_login() -> None:
    with pytest.raises(ConfigError, match=r"did you mean sites\.shop\.login\.submit"):
        configured(["sites.shop.login.sumbit=a"])


@pytest.mark.sample(3)
@pytest.mark.parametrize("override", SAID)
def test_it_is_one_sentence_in_our_words(override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured([override])
    said = str(caught.value)
    assert SAID[override] in said
    assert "\n" not in said
    assert not any(word in said for word in HYDRAS_WORDS), said


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["task=smoke", "--config-dir", "conf", "run.id=a"], ["--config-dir", "conf", "task=smoke", "run.id=a"]),
        (["task=smoke", "-m", "run.seed=1,2", "--cfg=job"], ["-m", "--cfg=job", "task=smoke", "run.seed=1,2"]),
        (["a=1", "--info", "b=2"], None),
        (["--config-dir=conf", "a=1"], ["--config-dir=conf", "a=1"]),
        (["-cd", "a=1", "a=1"], ["-cd", "a=1", "a=1"]),
        (["~a", "--resolve", "+b=-1"], ["--resolve", "~a", "+b=-1"]),
        ([], []),
    ],
)
def test_options_may_stand_anywhere(given: list[str], read: list[str] | None) -> None:
    if read is None:  # `--info` takes a word of its own
        with pytest.raises(ConfigError, match="--info"):
            options_first(given)
        return
    assert list(options_first(given)) == read


def test_the_options_are_read_where_argparse_checks_each_help_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that of Python 3.14 does; hydra has a help that is not a string."""

    def check(parser: argparse.ArgumentParser, action: argparse.Action) -> None:
        if "%" in (action.help or ""):
            parser._get_formatter()._expand_help(action)

    def add(parser: argparse.ArgumentParser, action: argparse.Action) -> argparse.Action:
        parser._check_help(action)
        return before(parser, action)

    before = argparse.ArgumentParser._add_action
    monkeypatch.setattr(argparse.ArgumentParser, "_check_help", check, raising=False)
    monkeypatch.setattr(argparse.ArgumentParser, "_add_action", add)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.chdir(tmp_path)
    assert run(["--cfg", "job"]) == 0
    assert "max_steps" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--dry-run"], "--dry-run is not an option (--config-dir DIR, --multirun (-m), --cfg job, --help);"
         " settings are written KEY=VALUE; did you mean run.dry=…"),
        (["--limit", "3"], "did you mean task.limit=…"),
        (["task=smoke", "--config-dir"], "--config-dir/-cd: expected one argument"),
    ],
)  # fmt: skip
def test_an_option_that_does_not_exist_is_one_sentence_of_the_program_that_was_typed(
    arguments: list[str], says: str, forked: Forks, tmp_path: Path
) -> None:
    done: Callable[..., subprocess.CompletedProcess[str]] = forked.run
    for program, begin in (("run.py", []), ("harness", ["run"])):
        ended = done(program, *begin, *arguments, cwd=tmp_path, env=environment())
        assert (ended.returncode, ended.stdout) == (2, "")
        (line,) = ended.stderr.splitlines()
        assert line.startswith(f"{' '.join([program, *begin])}: ") and says in line


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("+sites.shop.login.headers=x", "sites.shop.login.headers must be a mapping of names of headers"),
        ("+sites.shop.login.headers={Host: x}", "'Host' cannot be sent"),
        ('+sites.shop.login.headers={X-Any: "aé"}', "sites.shop.login.headers.X-Any holds characters"),
    ],
)
def test_a_header_that_cannot_be_sent_is_named(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured([override])
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_login_by_headers_needs_no_form() -> None:
    login = {"headers": {"X-M2-Customer-Auto-Login": "emma@example.org:x"}, "probe_url": "http://a/account"}
    found = read_sites({"own": {"url": "http://a", "login": login}}).by_name["own"].login
    assert found is not None and (found.url, dict(found.headers)) == ("", login["headers"])
    with pytest.raises(ConfigError, match="'X Any' cannot be sent; name a header such as"):
        read_sites({"own": {"url": "http://a", "login": {"headers": {"X Any": "x"}}}})
    with pytest.raises(ConfigError, match=r"sites\.own\.login\.url must be a string"):
        read_sites({"own": {"url": "http://a", "login": {"probe_url": "http://a/account"}}})


@pytest.mark.sample(2)
@pytest.mark.parametrize("value", ["long", "-1", "true", "1e9"])
def test_a_pause_that_is_no_time_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"sites\.max_outage_s=.* is not a time; give seconds"):
        configured([f"+sites.max_outage_s={value}"])
