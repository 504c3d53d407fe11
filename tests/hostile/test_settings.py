"""Settings of garbage: one sentence that names the setting, exit code 2, before anything is made or played.

The table of numbers is made from the schema, so a setting that is added tomorrow is tried with all of it, too.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from harness.cli import configured
from harness.config import Config
from harness.config.config_validation import BOUNDS, NON_EMPTY, WORDS, check_values, range_of, settings
from harness.errors import ConfigError, ExitCode, UsageError
from harness.evaluation.endpoint_settings import read_yaml
from harness.evaluation.orchestrator import evaluate
from harness.llm.prices import read_prices
from harness.plugins.demo.model.fault_injection import read_faults
from harness.reports.console import Terminal
from tests.e2e.conftest import command, environment

HUGE = 10**400
FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "1e300": 1e300, "-1.5": -1.5}
INTS = {"-1": -1, "10^30": 10**30, "10^400": HUGE}


@cache
def sound() -> Config:
    return configured([])


def kind_of(name: str) -> Any:
    """The declared type of a setting."""
    tree: Any = Config
    for part in name.split("."):
        tree = get_type_hints(tree)[part]
    return tree


def numbers() -> Iterator[tuple[str, Any]]:
    for name, _ in settings(Config()):
        kind = str(kind_of(name))
        wrong = FLOATS if "float" in kind else INTS if "int" in kind else {}
        for label, value in wrong.items():
            if name != "run.seed" or abs(value) > 2:
                yield pytest.param(name, value, id=f"{name}={label}")  # type: ignore[misc]


def with_setting(name: str, value: Any) -> Config:
    def changed(group: Any, first: str, *rest: str) -> Any:
        return replace(group, **{first: changed(getattr(group, first), *rest) if rest else value})

    config: Config = changed(sound(), *name.split("."))
    return config


@pytest.mark.parametrize(("name", "value"), list(numbers()))
def test_a_number_that_is_none_or_out_of_all_bounds_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match="cannot be used; give a number") as caught:
        check_values(with_setting(name, value))
    assert str(caught.value).startswith(f"{name}=") and len(str(caught.value)) < 300


def test_the_tables_name_settings_that_there_are() -> None:
    known = dict(settings(sound()))
    assert set(BOUNDS) | set(WORDS) | set(NON_EMPTY) <= set(known)


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_both_ends_of_what_is_allowed_are_allowed(name: str) -> None:
    bounds = range_of(name)
    ends = [bounds.most] if bounds.above else [bounds.least, bounds.most]
    for end in ends:
        check_values(with_setting(name, int(end) if float(end).is_integer() else end))


@pytest.mark.hostile
def test_the_defaults_and_every_group_of_settings_are_sound() -> None:
    for overrides in ([], ["task=smoke"], ["llm=openai", "llm.model=m"], ["executor=ray"], ["executor=slurm"]):
        check_values(configured(overrides))


DEEP = "{a: " * 900 + "1" + "}" * 900
OVERRIDES = (
    ("llm.timeout_s=nan", "llm.timeout_s=nan"),
    ("llm.timeout_s=inf", "llm.timeout_s=inf"),
    ("llm.timeout_s='1e999'", "llm.timeout_s=inf"),
    ("llm.timeout_s=0", "llm.timeout_s=0"),
    ("llm.timeout_s=true", "llm.timeout_s"),
    ("llm.timeout_s=[1]", "llm.timeout_s"),
    ("llm.timeout_s={a: 1}", "llm.timeout_s"),
    ("limits.max_cost_usd=nan", "limits.max_cost_usd=nan"),
    ("limits.max_cost_usd=-1", "limits.max_cost_usd=-1"),
    ("limits.max_steps=1.5", "limits.max_steps"),
    ("limits.max_steps=true", "limits.max_steps"),
    ("limits.max_steps=1e3", "limits.max_steps"),
    ("workers=true", "workers"),
    ("workers=0", "workers=0"),
    ("workers=99999999999999999999999", "workers=9"),
    ("workers=0x10", "workers"),
    ("executor.lanes=1000000", "executor.lanes=1000000"),
    ("trials=0", "trials=0"),
    ("fail_under=nan", "fail_under=nan"),
    ("fail_under=1.01", "fail_under=1.01"),
    ("browser.width=0", "browser.width=0"),
    ("browser.height=100000", "browser.height=100000"),
    ("browser.headless=maybe", "browser.headless"),
    ("browser.navigation_timeout_s=1e7", "browser.navigation_timeout_s=1e+07"),
    ("browser.locale=''", "browser.locale is empty"),
    ("browser.timezone=' '", "browser.timezone is empty"),
    ("browser.allowed=nothing", "browser.allowed=nothing is unknown"),
    ("resume.min_similarity=2", "resume.min_similarity=2"),
    ("resume.strategy=guess", "resume.strategy"),
    ("resume.max_attempts=0", "resume.max_attempts=0"),
    ("action_set=bogus", "bogus"),
    ("observation.type=smell", "smell"),
    ("observation.dialect=latin", "latin"),
    ("scoring=kind", "kind"),
    ("journal.durability=never", "never"),
    ("run.display=loud", "loud"),
    ("llm.kind=oracle", "llm.kind=oracle is unknown"),
    ("executor.kind=hands", "executor.kind=hands is unknown"),
    ("run.retry=some", "run.retry=some is unknown"),
    ("run.id=''", "run.id is empty"),
    ("run.root=''", "run.root is empty"),
    ("run.id=null", "run.id"),
    ("llm.model=null", "llm.model"),
    ("llm.model=[1]", "llm.model"),
    ("llm.model=''", "llm.model is empty"),
    ("agent.splitter=''", "agent.splitter is empty"),
    ("agent.template=''", "agent.template is empty"),
    ("agent.examples=3", "agent.examples"),
    ("agent.actions=3", "agent.actions"),
    ("llm.faults=3", "llm.faults"),
    ("+llm.extra_body.messages=[]", "llm.extra_body.messages cannot be given"),
    ("+llm.extra_body.a=nan", "llm.extra_body cannot be sent as JSON"),
    ("+agent.arguments.depth=inf", "agent.arguments.depth=inf cannot be used"),
    ("+agent.arguments.modes=[1,{a: [nan]}]", "agent.arguments.modes[1].a[0]=nan cannot be used"),
    ("+evaluators.my={_target_: a.B, arguments: {least: -inf}}", "evaluators.my.arguments.least=-inf cannot be used"),
    ("llm.base_url=ftp://model.test", "llm.base_url='ftp://model.test' is not an address"),
    ("llm.base_url=model.test", "llm.base_url"),
    ("llm.base_url='http://[::1'", "llm.base_url"),
    ("llm.base_url=http://", "llm.base_url"),
    ("llm.base_url='http://a b'", "llm.base_url"),
    ("llm.base_url='http://a:99999/'", "llm.base_url"),
    ("judge.base_url=nonsense", "judge.base_url"),
    ("executor.sbatch=3", "executor.sbatch"),
    ("task.ids=1.5", "task.ids=1.5"),
    ("task.sites=shop", "task.sites"),
    ("task.limit=0", "task.limit=0"),
    ("sites.embedded=no", "sites.embedded=no"),
    ("sites.embedded=3", "sites.embedded=3"),
    ("sites.port=0", "sites.port=0"),
    ("+sites.server=a b", "sites.server=a b is not a module"),
    ("sites.port=true", "sites.port=True"),
    ("sites.port=70000", "sites.port=70000"),
    ("sites.port=http", "sites.port=http"),
    ("sites=null", "a group of settings"),
    ("sites.shop=3", "sites.shop"),
    ("sites.shop.login=3", "sites.shop.login"),
    ("+sites.shop.logn=3", "sites.shop.logn"),
    ("+browser.heedless=false", "browser.headless"),
    ("nope=1", "nope"),
    ("=1", "a group of settings"),
    ("a", "a"),
    ("a=b=c", "a"),
    ("llm.model=${", "llm.model=${"),
    ("llm.model=${nope:1}", "nope"),
    ("llm.model=${oc.env:NO_SUCH_VARIABLE_HERE}", "NO_SUCH_VARIABLE_HERE"),
    ("llm.model=${llm.model}", "Recursive interpolation"),
    ("run.id=${run.id}", "Recursive interpolation"),
    ("llm.model={", "{"),
    (f"+limits.{'max_' * 20_000}=1", "limits.max_"),
    (f"workers={'m' * 20_000}", "workers=mmm"),
)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("override", "word"), OVERRIDES, ids=lambda text: text[:60])
def test_a_wrong_setting_is_a_sentence_that_names_it(override: str, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        configured([override])
    assert word in str(caught.value)
    assert "Traceback" not in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("override", "word"),
    [
        (f"+executor.sbatch.a={DEEP}", "nested too deeply"),
        (f"+sites.shop.url={'[' * 900}{']' * 900}", "nested too deeply"),
        (f"llm.model={'m' * 1_000_001}", "1,000,001 characters"),
    ],
    ids=["deep mappings", "deep lists", "a long text"],
)
def test_a_setting_that_is_too_much_is_a_sentence(override: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        configured([override])


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)
PRICES = {
    "a billion laughs": (BOMB, "through its aliases"),
    "an alias of itself": ("&a [*a]", "through its aliases"),
    "a mapping of itself": ("a: &a {b: *a}", "through its aliases"),
    "deep": ("a: " + "[" * 600 + "]" * 600, "is not valid YAML"),
    "a null character": ("a\0b", "is not valid YAML"),
    "control characters": ("a: \x9b31m", "is not valid YAML"),
    "a tab": ("\tx: 1", "is not valid YAML"),
    "code": ("a: !!python/object/apply:os.system ['false']", "is not valid YAML"),
    "twice the same": ("a: 1\na: 2", "duplicate key"),
    "a list": ("- 1", "must contain one mapping"),
    "a number": ("3", "must contain one mapping"),
    "a text": ("three", "must contain one mapping"),
    "infinite": ("m: {prompt: .inf, completion: 1}", "prompt must be a number from 0"),
    "no number": ("m: {prompt: .nan, completion: 1}", "prompt must be a number from 0"),
    "dear": ("m: {prompt: 1, completion: 1e300}", "completion must be a number from 0"),
    "negative": ("m: {prompt: -1, completion: 1}", "prompt must be a number from 0"),
    "true": ("m: {prompt: true, completion: 1}", "prompt must be a number from 0"),
    "a price that is a text": ("m: {prompt: '1', completion: 1}", "prompt must be a number from 0"),
    "of the environment": ("m: {prompt: '${oc.env:HOME}', completion: 1}", "prompt must be a number from 0"),
    "half": ("m: {prompt: 1}", "expected the keys"),
    "too much": ("m: {prompt: 1, completion: 1, tip: 1}", "expected the keys"),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize(("text", "words"), PRICES.values(), ids=PRICES)
def test_a_wrong_table_of_prices_is_a_sentence_with_its_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=words) as caught:
        read_prices(read_yaml(path, "llm.prices"), str(path))
    assert str(path) in str(caught.value) and len(str(caught.value)) < 800


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00", "m: {prompt: 1, completion: 1}".encode("utf-16"), bytes(range(256))],
    ids=lambda one: one[:4],
)
def test_a_table_of_prices_that_is_no_text_is_a_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "prices.yaml").write_bytes(data)
    with pytest.raises(ConfigError, match="is not valid YAML"):
        read_yaml(tmp_path / "prices.yaml", "llm.prices")


FAULTS: tuple[Any, ...] = (
    *(3, [3], {}, {"do": "nope"}, {"do": "²²²"}, {"do": "9" * 5000}, {"do": []}, {"do": "399"}, {"do": "600"}),
    *({"do": "500", "on": on} for on in (3, {"first": 0}, {"first": True}, {"step": float("nan")})),
    *({"do": "500", "after_s": float("nan")}, {"do": "500", "huh": 1}, {"do": "limit"}),
    *({"do": "limit", "rpm": float("inf")}, {"do": "limit", "rpm": 1, "window": "moon"}),
)


@pytest.mark.parametrize("rule", FAULTS, ids=lambda rule: str(rule)[:40])
def test_a_wrong_fault_is_a_sentence_with_its_number(rule: Any) -> None:
    with pytest.raises(ConfigError, match=r"llm\.faults, rule 1: "):
        read_faults([rule])


@pytest.fixture
def few_files() -> Iterator[Callable[[int], None]]:
    """Sets how many files may be open, as `ulimit -n` does; put back afterwards as far as it can be."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda soft: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_low_limit_of_files_is_raised_where_the_system_grants_it(
    few_files: Callable[[int], None], tmp_path: Path
) -> None:
    few_files(100)
    config = with_setting("task.path", str(tmp_path / "nope.json"))
    with pytest.raises(UsageError, match=r"nope\.json"):
        await evaluate(config, tmp_path / "run", Terminal())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == (4096 if hard == resource.RLIM_INFINITY else min(hard, 4096))


def run(*overrides: str, root: Path, before: str = "") -> tuple[int, str]:
    line = command(*overrides, root=root)
    shell = ["/bin/sh", "-c", f'{before} exec "$@"', "sh", *line] if before else line
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=1200, env=environment(), cwd=root)
    return done.returncode, done.stderr


REAL = (
    ("llm.timeout_s=nan", "", "llm.timeout_s=nan cannot be used"),
    ("task.limit=1", "ulimit -n 40;", "may open only 40 files"),
)


@pytest.mark.hostile
@pytest.mark.parametrize(("override", "before", "words"), REAL, ids=lambda text: text[:30])
def test_the_command_ends_with_2_and_one_sentence_and_leaves_nothing(
    tmp_path: Path, override: str, before: str, words: str
) -> None:
    code, said = run(override, root=tmp_path, before=before)
    assert code == 2, said
    assert words in said and len(said.splitlines()) == 1
    assert not (tmp_path / "run").exists()


PROGRAMS = ("/bin/sh", "/bin/true", "/bin/cat", sys.executable)
UNPLAYED = (
    *((f"browser.executable={path}", "does not start and does not report a version") for path in PROGRAMS),
    ("browser.executable=/etc/passwd", "is not an executable"),
    ("browser.executable=/tmp", "is not an executable"),
    ("browser.executable=/nope", "is not an executable"),
    ("browser.timezone=Mars/Phobos", "browser.timezone='Mars/Phobos' is unknown to Chromium"),
    ("browser.timezone=utc", "browser.timezone='utc' is unknown"),
    ("browser.timezone=../../etc/passwd", "browser.timezone"),
    ("browser.locale='!!'", "browser.locale='!!' is unknown to Chromium"),
    ("browser.locale=C.UTF-8", "browser.locale"),
    ("browser.uploads=/nope", "browser.uploads"),
    ("agent.examples=[3]", "agent.examples"),
    ("llm.faults=[{do: nope}]", "llm.faults, rule 1"),
    ("llm.prices=/etc/passwd", "llm.prices"),
    ("llm.plans=/etc/passwd", "/etc/passwd"),
)


@pytest.mark.hostile
@pytest.mark.parametrize(("override", "words"), UNPLAYED, ids=lambda text: text[:50])
def test_what_only_the_browser_or_a_file_tells_uses_up_no_attempt(tmp_path: Path, override: str, words: str) -> None:
    code, said = run(override, "task.limit=2", "workers=1", "run.report=false", root=tmp_path)
    assert code == 2, said
    assert words in said and "Traceback" not in said
    journals = [path.read_bytes() for path in (tmp_path / "run").glob("*.traj.jsonl")]
    assert not any(b'"kind":"failed"' in data or b'"kind":"decided"' in data for data in journals)


@pytest.mark.hostile
def test_a_log_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "run" / "worker.log").mkdir(parents=True)
    code, said = run("task.limit=1", "workers=1", root=tmp_path)
    assert code == ExitCode.UNSCORED, said
    assert "worker.log is a folder, but a run needs a file there" in said and "Traceback" not in said
    os.rmdir(tmp_path / "run" / "worker.log")  # noqa: PTH106
