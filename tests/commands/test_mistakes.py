"""What newcomers type wrong: exactly one sentence, in our words, under the name that was typed, with the documented exit
code, whichever command it is; and nothing is left behind.
"""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Start, harness_here
from tests.reports.runs import Shape, fill

__all__ = ["harness_here"]
pytestmark = pytest.mark.integration
THEIR_WORDS = re.compile(
    r"Traceback|omegaconf|ConfigSchema|\bstruct\b|ListConfig|subclass|merging override|group override"
    r"|InstantiationException|usage:|interpolation key|EOF|Could not|\w+Config\b",
    re.IGNORECASE,
)
MISTAKES: dict[str, str] = {
    # keys and groups
    "run tsk=demo": "tsk is not a setting; did you mean task;",
    "run taks.limit=5": "taks.limit is not a setting; did you mean task.limit;",
    "run task.limt=5": "did you mean task.limit;",
    "run agnt=tools": "did you mean agent;",
    "run agent=tool": "agent=tool is unknown; did you mean tools; choose one of",
    "run task=webarna": "task=webarna is unknown; did you mean webarena;",
    "run task=nope": "task=nope is unknown; choose one of apps, assistantbench,",
    "run llm=opnai": "did you mean openai;",
    "run llm=gpt-4o": "llm=gpt-4o is unknown; choose one of anthropic,",
    "run judge=null": "takes a name, as in judge=none, and was given null",
    "run sites=shop": "sites=shop is unknown; choose one of apps, embedded,",
    "run executor=slrum": "did you mean slurm;",
    "run scoring=correct": "scoring=correct is unknown; choose one of webarena, corrected, published",
    "run observation=text": "observation is a group of settings, and takes no value of its own; give one of",
    "run limits=5": "limits is a group of settings, and takes no value of its own; give one of limits.max_steps,",
    "run limits.max_step=5": "did you mean limits.max_steps;",
    "run agent.arguments.foo=1": "or add it with a plus: +agent.arguments.foo=…",
    "run sites.shop.urll=http://a": "did you mean sites.shop.url;",
    "run sites.shop.login.sumbit=a": "did you mean sites.shop.login.submit;",
    "run sites=live sites.live.robot=false": "did you mean sites.live.robots;",
    "run sites.shop=null": "sites.shop is empty; a site is a mapping",
    "run sites.mine.url=http://a": "add it with a plus: +sites.mine.url=…",
    "run evaluators.foo=1": "add it with a plus: +evaluators.foo=…",
    "run llm.extra_body.top_k=5": "or add it with a plus: +llm.extra_body.top_k=…",
    "run agent.env.COLUMNS=80": "or add it with a plus: +agent.env.COLUMNS=…",
    "run fail_under_of.cup=0.8": "or add it with a plus: +fail_under_of.cup=…",
    "run ++nope=1": "nope is not a setting",
    "run ~task": "(${task}) is not set, or was removed with ~; give it a value",
    "run ~task.limit": "task.limit cannot be removed",
    # values
    "run workers=many": "workers=many is not a whole number",
    "run workers=0": "workers=0 cannot be used; give a number from 1",
    "run trials=1.5": "trials=1.5 is not a whole number",
    "run trials=": "trials= is not a whole number",
    "run trials=null": "trials=null cannot be used; give a value, or leave the setting out for its default",
    "run fail_under.cup=null": "fail_under.cup=null cannot be used; give a value",
    "run llm.headers=x": "the setting takes a mapping; give its keys, as in +llm.headers.KEY=VALUE",
    "run task.limit=ten": "task.limit=ten is not a whole number",
    "run llm.temperature=True": "llm.temperature=True is not a number",
    "run llm.max_tokens=None": "llm.max_tokens=None is not a whole number",
    "run browser.headless=maybe": "browser.headless=maybe is not true or false",
    "run browser.uploads=[a]": "browser.uploads=[a] is a list, and the setting takes one text",
    "run browser.width=100000": "browser.width=100000 cannot be used; give a number from 1",
    "run task.sites=shop": "task.sites=shop is one value, and the setting takes a list; write task.sites=[shop]",
    "run agent.kind=process agent.command=python": "write agent.command=[python]",
    "run task.ids=0..5": "task.ids asks for 0..5, but the file contains 40 tasks",
    "run task.ids=[999]": "task.ids asks for 999, but the file contains 40 tasks",
    "run task.ids={a:1}": "give ids and ranges, as in task.ids=[0-99,120]",
    "run fail_under=95": "fail_under=95 cannot be used; give a number from 0 to 1",
    "run 'fail_under=95%'": "fail_under=95% is not a number",
    "run 'limits.max_cost_usd=$5'": "limits.max_cost_usd=$5 is not a number",
    "run resume.in_doubt=x": "choose one of ask_page,",
    "run run.retry=yes": "run.retry=yes is unknown; choose one of infra, failed, all",
    "run observation.type=screenshott": "give one of accessibility_tree,",
    "run action_set=webarina": "choose one of cairn,",
    "run llm.base_url=localhost:8000": "give one that begins with http:// or https://",
    "run llm.base_url=http://localhost:99999": "is not an address",
    "run agent._target_=nope.Nope": "No module named 'nope'; give module.Class",
    "run agent._target_=os.path": "it is not a class; give module.Class",
    "run actions=[nope]": "actions: nope is not a dotted path of a class",
    "run run.id=../x": "run.id=../x is not in run.root",
    # quoting and the order of arguments
    "run task.ids=0,1": "task.ids=0,1 has a comma; write task.ids=[0,1] for a list",
    "run task.ids=[0,1": "the value of 'task.ids=[0,1' cannot be read; close its brackets",
    """run 'llm.model="a b'""": """'llm.model="a b"'""",
    "run 'task=demo task.limit=5'": "cannot be read",
    "run task = demo": "'task' is not a setting with a value; settings are written KEY=VALUE",
    "run demo": "'demo' is not a setting with a value",
    "run 'llm.model=${nope}'": "${nope} refers to a setting that does not exist",
    "run 'llm.model=${oc.env:NOT_SET}'": "the environment variable NOT_SET is not set; set it",
    "run --dry-run": "--dry-run is not an option",
    "run --limit 5": "did you mean task.limit=…",
    "run --task=demo": "did you mean task=…",
    "run task=smoke --config-dir": "--config-dir/-cd: expected one argument",
    "run --cfg jobs": "--cfg/-c: give --cfg job",
    # files and folders
    "run task.path=missing.json": "missing.json: there is no such file or folder; correct the path of the tasks",
    "run task.path=empty.json": "empty.json: is empty; a task file is a JSON array of tasks",
    "run task.path=binary.json": "binary.json: is not valid JSON",
    "run task.path=object.json": "object.json: field `task_id` is missing",
    "run task.path=texts.json": "texts.json, entry 0: contains a text; a task is a JSON object",
    "run task.path=folder": "folder: this folder contains no .json files",
    "run task.path=": "task.path is empty; give it a value",
    "run task=webarena": "task.path is not set; give a task file",
    "run task=webarena task.path=one.json": "set the environment variable SHOP",
    "run agent=plan": "agent.arguments.plan is not set; give it, as in agent.arguments.plan=…",
    "run task=suite": "task.path is not set; give the suite file",
    "run task=suite task.path=broken.yaml": "broken.yaml: is not a suite file in YAML",
    "run task=suite task.path=empty.json": "contains no benchmarks; give `benchmarks:`",
    "run llm.plans=missing.json": "missing.json: cannot read the plan file",
    "run llm.plans=object.json": "object.json: the plan file must be a JSON array of plans",
    "run --config-dir nope": "nope is not a folder; give the folder of your own configurations",
    "run --config-dir one.json": "one.json is not a folder",
    "run --config-dir conf sites=broken": "sites/broken.yaml, line 2: this is not valid YAML",
    "run --config-dir conf sites=tabs": "sites/tabs.yaml, line 2: this is not valid YAML",
    "run --config-dir conf sites=nourl": "sites.shop has no address: set sites.shop.url",
    "run --config-dir conf sites=away task.path=one.json agent=null": "correct its address with sites.shop.url",
    "run run.root=/proc/nowhere": "the run folder cannot be created",
    "run browser.executable=/nope task.limit=1": "browser.executable=/nope is not an executable",
    "run sites.port=1": "the embedded sites are not on the port of sites.port=1",
    "run run.fork=nope": "run.fork=nope names no step; give RUN@STEP",
    # keys
    "run llm=openai llm.model=gpt-4o": "OPENAI_API_KEY is not set; set OPENAI_API_KEY, or llm.api_key",
    "run llm=anthropic": "ANTHROPIC_API_KEY is not set",
    # the other commands
    "shwo results": "COMMAND 'shwo' is unknown; did you mean show; choose one of run,",
    "--nope": "COMMAND is missing",
    "show": "run is missing",
    "show nope": "nope does not exist; give the folder of a run",
    "show one.json": "one.json is not a bundle",
    "show run 99": "run has no journal for task 99",
    "show run 0 99": "task 0 has no step 99",
    "show run 0 last": "step 'last' is not a whole number",
    "show folder": "folder contains no run",
    "report nope": "nope does not exist",
    "compare run": "RUN_B is missing",
    "compare run folder": "folder contains no run",
    "score run --dialect publish": "'publish' is unknown; did you mean published;",
    "score run task.limt=3": "did you mean task.limit;",
    "replay run": "run is not a file; give a journal",
    "view nope": "nope is not a folder; give the folder that contains runs",
    "view --port abc": "--port 'abc' is not a whole number",
    "view folder --port 99999999": "--port 99999999 is not a port",
    "export csvv run": "FORMAT 'csvv' is unknown; did you mean csv;",
    "export csv run --where site=shop": "--where is for harness export sft; leave it out for csv",
    "export csv folder": "folder contains no run",
    "bundle folder": "folder contains no run",
    "verify nope.cairn": "nope.cairn is not a file",
    "report binary.json": "binary.json is not a bundle; give the folder of a run, or a file that `harness bundle` wrote",
    "compare run one.json": "one.json is not a bundle",
    "audit nope": "nope: cannot be read",
    "plan task.limt=3": "did you mean task.limit;",
    "plan --rpm fast": "--rpm 'fast' is not a number",
    "plan --instances shop": "--instances shop must be SITE=N",
    "plan --from nope": "nope is not a folder",
    "doctor tsk=demo": "did you mean task;",
    "doctor --config-dir conf sites=broken": "sites/broken.yaml, line 2: this is not valid YAML",
    "compare run run --fail-if-regresed 0.05": "did you mean --fail-if-regressed; harness compare --help says more",
    "diff run --tsk 0": "--tsk 0 cannot be used here; did you mean --task;",
    "show run --task 0": "--task 0 cannot be used here; harness show --help says more",
    "cache nope": "what 'nope' is unknown; choose one of",
    "clean nope": "nope is not a folder",
    "new agnet foo": "kind 'agnet' is unknown; did you mean agent;",
    "new agent 123bad": "'123bad' cannot name a package",
    "fork nope": "run.fork=nope names no step",
    "fork nope@3": "there is no run nope,",
    "fork run/77@1": "run has no journal 77.traj.jsonl",
    "import nope": "nope: contains no render_*.html",
    "judge-check nope": "nope: there is no such file",
    "completion tcsh": "shell 'tcsh' is unknown; choose one of bash, zsh",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A newcomer's folder, with one run in it."""
    here = tmp_path_factory.mktemp("place")
    (here / "folder").mkdir()
    (here / "conf" / "sites").mkdir(parents=True)
    task = {"task_id": 0, "sites": ["shop"], "start_url": "__SHOP__", "intent": "look"}
    task["eval"] = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
    files = {
        "empty.json": b"",
        "binary.json": bytes(range(256)),
        "object.json": b"{}",
        "texts.json": b'["a"]',
        "one.json": json.dumps([task]).encode(),
        "broken.yaml": b"a: [",
        "conf/sites/broken.yaml": b"shop: [\n",
        "conf/sites/tabs.yaml": b"shop:\n\turl: x\n",
        "conf/sites/nourl.yaml": b"shop: {read_only: true}\n",
        "conf/sites/away.yaml": b"embedded: false\nshop: {url: 'http://127.0.0.1:1'}\n",
    }
    for name, data in files.items():
        (here / name).write_bytes(data)
    fill(here / "run", [Shape(steps=1)])
    return here


@pytest.mark.sample(8)
@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_one_sentence_in_our_words_with_its_exit_code(
    typed: str, place: Path, harness_here: Callable[..., Start], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.browser.network import site_probe

    monkeypatch.setattr(site_probe, "GRACE_S", 0.0)
    monkeypatch.chdir(place)
    for name in ("SHOP", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)
    before = sorted(place.rglob("*"))
    arguments = shlex.split(typed)
    said = harness_here(*arguments)
    assert (said.code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    assert MISTAKES[typed] in line
    program = f"harness {arguments[0]}" if arguments[0] in ("run", "fork") else "harness"
    assert re.match(rf"{program}( [\w-]+)?: ", line)
    assert THEIR_WORDS.search(line) is None and "hydra" not in line.lower()
    assert "internal error" not in line and len(line) < 700
    assert sorted(place.rglob("*")) == before


def test_there_are_as_many_as_a_first_week_brings() -> None:
    assert len(MISTAKES) >= 120
    assert len({typed.split()[0] for typed in MISTAKES}) >= 20, "of nearly all commands"
