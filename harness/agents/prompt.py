"""A prompt as data: what is said to the model around the page.

Text from pages, tasks and models is only ever put in, never interpreted: placeholders are replaced in one pass over the
template, so braces and placeholder names in a page come out as they went in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.api import Message
from harness.errors import ConfigError
from harness.settings.agents import PromptSettings

PLACEHOLDERS = ("observation", "notices", "url", "objective", "previous_actions")
_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_REQUIRED = ("observation", "objective")
_EXAMPLE_ROLES = ("system", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the model is shown besides the page."""

    system: str
    """Introduction, the action set's description included."""
    examples: tuple[tuple[str, str], ...] = ()
    """(user, assistant) pairs."""
    settings: PromptSettings
    """Its `template`, with `PLACEHOLDERS`, is the user message; a line that is only `{notices}` goes if there are
    none."""

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The whole prompt with the template filled from `values`, which holds every placeholder."""
        user = Message(role="user", content=self._filled(values))
        return (Message(role="system", content=self.system), *self._example_messages(), user)

    def _filled(self, values: Mapping[str, str]) -> str:
        template = self.settings.template if values["notices"] else self.settings.template.replace("{notices}\n", "")
        return _PLACEHOLDER.sub(lambda found: values[found[1]], template)

    def _example_messages(self) -> tuple[Message, ...]:
        messages: list[Message] = []
        for user, assistant in self.examples:
            for role, content in (("user", user), ("assistant", assistant)):
                if self.settings.example_role == "system":
                    messages.append(Message(role="system", name=f"example_{role}", content=content))
                else:
                    messages.append(Message(role=role, content=content))
        return tuple(messages)


def read_prompt(settings: PromptSettings, *, action_set: str, more: Sequence[str] = ()) -> Prompt:
    """Build the prompt.

    Args:
        settings: An example without a reply for the action set in use is left out.
        action_set: Whose description goes into the introduction.
        more: Lines about further actions, after that description.
    Raises:
        ConfigError: A part is missing or does not fit.
    """
    actions = settings.actions
    if action_set not in actions:
        known = ", ".join(actions) or "none"
        raise ConfigError(f"agent.actions does not describe the action set {action_set}; it describes {known}")
    template = settings.template
    for name in _REQUIRED:
        if f"{{{name}}}" not in template:
            raise ConfigError(f"agent.template must contain {{{name}}}")
    prompt = Prompt(
        system=settings.system.replace("{actions}", "\n".join((str(actions[action_set]).strip(), *more))),
        examples=tuple(_examples(settings.examples, action_set)),
        settings=settings,
    )
    if not settings.splitter.strip():
        raise ConfigError("agent.splitter must not be empty")
    if settings.example_role not in _EXAMPLE_ROLES:
        raise ConfigError(f"agent.example_role must be system or user, not {settings.example_role!r}")
    return prompt


def _examples(entries: Iterable[Any], action_set: str) -> Iterator[tuple[str, str]]:
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or set(entry) != {"user", "assistant"}:
            raise ConfigError(f"agent.examples[{number}] must have exactly the keys user and assistant")
        reply = entry["assistant"]
        if isinstance(reply, Mapping):
            reply = reply.get(action_set)
        if reply is not None:
            yield str(entry["user"]), str(reply)
