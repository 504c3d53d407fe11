"""An action that somebody else wrote is parsed, recorded, read back and refused like one of ours."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.actions import Action, BrowserControls, CairnActionSet, Stop, Target, resolve
from harness.actions import action as action_module
from harness.agents.prompt import read_prompt
from harness.codec import UnknownKind, decode, encode
from harness.config import Config
from harness.errors import ActionSyntaxError, ConfigError, JournalCorrupt, JournalError
from harness.evaluation.action_classes import action_set_of, prompt_lines
from harness.journal.log import Journal, read
from harness.records import Node
from harness.settings.agents import PromptSettings
from tests.journal.episodes import acted, decided, opened


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleClick(Action):
    kind: ClassVar[str] = "triple_click"
    prompt: ClassVar[str] = "triple_click [id] selects a paragraph."
    target: Target

    async def perform(self, browser: BrowserControls) -> None:
        await browser.double_click(self.target)
        await browser.click(self.target)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(Action):
    """With a field of each kind that needs no `parse` of its own."""

    kind: ClassVar[str] = "move"
    target: Target
    times: int
    note: str

    async def perform(self, browser: BrowserControls) -> None:
        await browser.hover(self.target)

    def may_change_sites(self) -> bool:
        return False


class NoDataclass(Action):
    kind: ClassVar[str] = "no_dataclass"

    async def perform(self, browser: BrowserControls) -> None: ...

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecordable(Action):
    kind: ClassVar[str] = "unrecordable"
    what: set[str]

    async def perform(self, browser: BrowserControls) -> None: ...

    def may_change_sites(self) -> bool:
        return False


HERE = "tests.actions.test_plugin_actions"
SET = CairnActionSet([TripleClick, Move])
NODES = {"7": Node(role="link", name="A", nth=0, line="link 'A'", box=None)}


def test_it_is_read_and_written_by_its_fields() -> None:
    assert SET.parse("triple_click [7] where [7] is link 'A'") == TripleClick(target=Target(id="7"))
    assert SET.parse("Move [7] [3] [up] down]") == Move(target=Target(id="7"), times=3, note="up] down")
    shown = SET.render(resolve(SET.parse("move [7] [3] [a]"), NODES))
    assert shown == "move [7] [3] [a] where [7] is link 'A'"
    with pytest.raises(ActionSyntaxError, match=r"the form is: move \[id\] \[times\] \[note\]"):
        SET.parse("move [7]")


def test_it_is_recorded_by_its_kind_and_read_back() -> None:
    record = replace(decided(1), action=TripleClick(target=Target(id="7")))
    body = encode(record).body
    assert b'"action":{"kind":"triple_click","target":{"id":"7"' in body
    assert decode(body) == record


def test_what_is_forgotten_is_found_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"must define may_change_sites, and .*Forgetful does not"):

        class Forgetful(Action):
            kind: ClassVar[str] = "forgetful"

            async def perform(self, browser: BrowserControls) -> None: ...

    with pytest.raises(TypeError, match="must define kind"):

        class Nameless(Action):
            async def perform(self, browser: BrowserControls) -> None: ...

            def may_change_sites(self) -> bool:
                return False


def test_a_kind_belongs_to_one_action() -> None:
    with pytest.raises(TypeError, match=r"harness\.actions\.pointer\.Click already is"):

        class Other(Action):
            kind: ClassVar[str] = "click"

            async def perform(self, browser: BrowserControls) -> None: ...

            def may_change_sites(self) -> bool:
                return False


def test_an_unknown_kind_in_a_journal_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "1.traj.jsonl"
    with Journal.open(path) as journal:
        for record in (opened(), acted(0), replace(decided(1), action=TripleClick(target=Target(id="7")))):
            journal.append(record)
    assert read(path).pending is not None
    known = action_module._KINDS.pop("triple_click")
    try:
        with pytest.raises(JournalError, match=r":3: action: unknown action 'triple_click': install the package") as no:
            read(path)
        assert not isinstance(no.value, JournalCorrupt), "nothing of the file is damaged"
    finally:
        action_module._KINDS["triple_click"] = known


PACKAGE = """
from dataclasses import dataclass
from typing import ClassVar
from harness.api import Action, BrowserControls

@dataclass(frozen=True, slots=True, kw_only=True)
class Nod(Action):
    kind: ClassVar[str] = "nod"
    async def perform(self, browser: BrowserControls) -> None: ...
    def may_change_sites(self) -> bool:
        return False
"""


def test_an_installed_package_is_imported_when_a_journal_holds_its_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nodding_for_cairn.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    (info := tmp_path / "nodding-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nodding\nVersion: 1.0\n")
    declared = "[cairn.actions]\nnod = nodding_for_cairn:Nod\nshrug = nodding_for_cairn:Shrug\n"
    (info / "entry_points.txt").write_text(declared)
    body = encode(decided(1, Stop())).body
    read_back: Any = decode(body.replace(b'{"kind":"stop","answer":""}', b'{"kind":"nod"}'))
    assert type(read_back.action).__module__ == "nodding_for_cairn"
    with pytest.raises(UnknownKind, match="action=shrug: nodding_for_cairn:Shrug cannot be loaded"):
        decode(body.replace(b'{"kind":"stop","answer":""}', b'{"kind":"shrug"}'))
    action_module._KINDS.pop("nod")
    sys.modules.pop("nodding_for_cairn")


def test_the_settings_name_further_actions() -> None:
    actions = [f"{HERE}.TripleClick", f"{HERE}.Move"]
    assert isinstance(action_set_of("cairn", actions).parse("triple_click [1]"), TripleClick)
    settings = PromptSettings(
        system="Do.\n{actions}",
        actions={"cairn": "click [id] clicks.\n"},
        template="{observation}{url}{objective}{previous_actions}",
    )
    prompt = read_prompt(settings, action_set="cairn", more=prompt_lines(actions))
    said = "click [id] clicks.\ntriple_click [id] selects a paragraph.\nmove [id] [times] [note]"
    assert prompt.system == f"Do.\n{said}"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("undefined", "NameError: name 'undefined' is not defined"),
        ("def", "SyntaxError: "),
        ("class E(Exception): ...\nraise E('mine')", "E: mine"),
    ],
)
def test_whatever_the_module_of_an_action_raises_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    (tmp_path / "taps_for_cairn.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=f"actions: taps_for_cairn.Tap cannot be imported: {why}"):
        action_set_of("cairn", ["taps_for_cairn.Tap"])


def test_further_actions_are_measured_and_none_leave_the_digest_as_it_was() -> None:
    assert Config(actions=["a.B"]).measured()["actions"] == ["a.B"]
    assert "actions" not in Config().measured()


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        (["no_such_module.Tap"], "no_such_module.Tap cannot be imported: ModuleNotFoundError: No module"),
        (["Tap"], "Tap is not a dotted path of a class; give module.Class"),
        ([f"{HERE}.Nothing"], "has no attribute 'Nothing'"),
        (["pathlib.Path"], "pathlib.Path is not an action"),
        ([f"{HERE}.NoDataclass"], "is not a dataclass; put @dataclass"),
        ([f"{HERE}.Unrecordable"], "cannot be recorded in a journal"),
        ([f"{HERE}.Move", f"{HERE}.Move"], "Move and Move share the verb 'move'"),
    ],
)
def test_an_action_that_cannot_be_used_is_refused(actions: list[str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        action_set_of("cairn", actions)


def test_webarenas_action_sets_take_no_further_actions() -> None:
    with pytest.raises(ConfigError, match="needs action_set=cairn"):
        action_set_of("playwright", [f"{HERE}.Move"])
