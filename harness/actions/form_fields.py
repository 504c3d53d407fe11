"""Actions at fields of a form that are not typed into."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import read, written
from harness.actions.target import Target
from harness.actions.tool_schema import about


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Action):
    """Choose an option of a native list by its visible label (cairn action set only)."""

    kind: ClassVar[str] = "select"
    tool: ClassVar[str] = "Choose an option of a list (a combobox or listbox)."
    target: Target
    option: str = field(metadata=about("Its visible label."))

    async def perform(self, browser: BrowserControls) -> None:
        await browser.select(self.target, self.option)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Action):
    """Set a checkbox, radio button or switch, whatever it was."""

    kind: ClassVar[str] = "check"
    tool: ClassVar[str] = "Set a checkbox, radio button or switch."
    forms: ClassVar = {"check": "check [id]", "uncheck": "uncheck [id]"}
    target: Target
    checked: bool = field(default=True, metadata=about("The state it shall have."))

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        found = read(arguments, Target)
        return cls(target=found[0], checked=verb == "check") if found else None

    def render(self) -> str:
        return written("check" if self.checked else "uncheck", self.target)

    async def perform(self, browser: BrowserControls) -> None:
        await browser.check(self.target, self.checked)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload(Action):
    """Give a file field a file of the configured folder."""

    kind: ClassVar[str] = "upload"
    tool: ClassVar[str] = "Put one of the available files into a file field."
    forms: ClassVar = {"upload": "upload [id] [file name]"}
    target: Target
    file: str = field(metadata=about("Its plain name; a path is refused."))

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        found = read(arguments, Target, str)
        return cls(target=found[0], file=found[1].strip()) if found and found[1].strip() else None

    async def perform(self, browser: BrowserControls) -> None:
        await browser.upload(self.target, self.file)

    def may_change_sites(self) -> bool:
        return True
