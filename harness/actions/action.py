"""What an action is: one class, which knows how it is written, what it does, and whether doing it twice can harm.

A class of your own that derives from `Action` is an action like those of this package: it is recorded under its
`kind`, read back, aimed again when an episode is resumed, and shown in reports. Agents may use it when the setting
`actions` names it; an entry point `cairn.actions` of that kind lets every command read journals that hold it.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import form_of_fields, read_fields, written
from harness.actions.target import Target
from harness.errors import ConfigError
from harness.registry import Registry

_INSTALLED = Registry(group="cairn.actions", noun="action")
"""Group of the entry points of installed packages: an action's kind = `my_package:MyAction`."""
_KINDS: dict[str, type["Action"]] = {}
_REQUIRED = ("kind", "perform", "may_change_sites")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A decision of an agent: a frozen dataclass with `kw_only` and `slots`, whose fields a journal can hold.

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
    """

    kind: ClassVar[str]
    """Its tag in a journal, and its verb unless `forms` names others."""
    by_kind: ClassVar[Mapping[str, type["Action"]]] = _KINDS
    """All actions that were imported."""
    forms: ClassVar[Mapping[str, str]] = {}
    """Verb to the form that is named when it cannot be read; {} = `kind`, and an argument for each field."""
    prompt: ClassVar[str] = ""
    """The line that tells an agent of it, for an action that the agent's own prompt does not describe."""
    tool: ClassVar[str] = ""
    """What it does, for a model that calls it as a function; "" = `prompt`, or the docstring's first paragraph."""
    navigates: ClassVar[bool] = False
    """Opens addresses or changes tabs only; so the timeout of a navigation holds, not that of an input."""

    def __init_subclass__(cls) -> None:
        # When the class is made, and not when an episode uses it.
        for name in _REQUIRED:
            if getattr(cls, name, None) is getattr(Action, name, None):
                raise TypeError(f"an action must define {name}, and {cls.__module__}.{cls.__name__} does not")
        known = _KINDS.setdefault(cls.kind, cls)
        if (known.__module__, known.__name__) != (cls.__module__, cls.__name__):
            raise TypeError(
                f"{cls.__module__}.{cls.__name__} cannot be of kind {cls.kind!r}: "
                f"{known.__module__}.{known.__name__} already is"
            )
        _KINDS[cls.kind] = cls  # a dataclass with slots is made twice

    @classmethod
    def of_kind(cls, kind: str) -> type["Action"]:
        """The action of this kind; an installed package that declares it is imported.

        Raises:
            LookupError: There is none; the message says what to do.
        """
        # By an entry point, never by a path in a journal: a folder from elsewhere must not choose what is imported.
        if kind not in _KINDS and kind in _INSTALLED.names():
            try:
                _INSTALLED.find(kind)
            except ConfigError as error:
                raise LookupError(str(error)) from error
        if kind not in _KINDS:
            raise LookupError(
                f"unknown action {kind!r}: install the package that defines it,"
                f" with an entry point in {_INSTALLED.group}"
            )
        return _KINDS[kind]

    @classmethod
    def verbs(cls) -> Mapping[str, str]:
        """Verb to its form."""
        return cls.forms or {cls.kind: form_of_fields(cls.kind, cls)}

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """Read the arguments of a verb; None = they do not fit its form. Targets hold no more than the id yet."""
        values = read_fields(cls, arguments)
        return None if values is None else cls(**values)

    def render(self) -> str:
        """It on one line, as `parse` reads it, with the descriptions of its targets."""
        return written(self.kind, *(getattr(self, field.name) for field in fields(self)))

    @abstractmethod
    async def perform(self, browser: BrowserControls) -> None:
        """Do it.

        Raises:
            ActionFailed: It cannot be done.
        """

    @abstractmethod
    def may_change_sites(self) -> bool:
        """Whether performing it twice could do something twice.

        Whether it did change a site is seen by the requests it causes. Before it is performed, and when it was
        interrupted, this is all there is to go by.
        """

    def only_fills_in(self) -> bool:
        """Whether it puts text into a field and submits nothing: where no request was seen, it can be repeated."""
        return False

    @property
    def targets(self) -> tuple[Target, ...]:
        """The elements it is aimed at."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if isinstance(value, Target))

    def with_targets(self, change: Callable[[Target], Target]) -> Self:
        """A copy of the action that is aimed at other elements."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: change(value) for name, value in values.items() if isinstance(value, Target)})
