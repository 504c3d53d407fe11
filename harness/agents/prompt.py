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
    template: str
    """User message with `PLACEHOLDERS`; a line that is only `{notices}` goes when there are none."""
    splitter: str = "```"
    """Opens and closes the action in a reply."""
    example_role: str = "system"
    """`system`: examples are system messages named example_user and example_assistant; `user`: they are turns of the
    conversation, for models that accept nothing else."""

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The whole prompt with the template filled from `values`, which holds every placeholder."""
        user = Message(role="user", content=self._filled(values))
        return (Message(role="system", content=self.system), *self._example_messages(), user)

    def _filled(self, values: Mapping[str, str]) -> str:
        template = self.template if values["notices"] else self.template.replace("{notices}\n", "")
        return _PLACEHOLDER.sub(lambda found: values[found[1]], template)

    def _example_messages(self) -> tuple[Message, ...]:
        messages: list[Message] = []
        for user, assistant in self.examples:
            for role, content in (("user", user), ("assistant", assistant)):
                if self.example_role == "system":
                    messages.append(Message(role="system", name=f"example_{role}", content=content))
                else:
                    messages.append(Message(role=role, content=content))
        return tuple(messages)


def read_prompt(settings: Mapping[str, Any], *, action_set: str, more: Sequence[str] = ()) -> Prompt:
    """Build the prompt from the plain data of `configs/agent/*.yaml`.

    Args:
        settings: `system` (with `{actions}`), `actions` (action set to description), `examples` (list of `{user,
            assistant}`; `assistant` is the reply, or action set to reply, and an example without one for the set in use
            is left out), `template`, `splitter` and `example_role`; other keys are not looked at.
        action_set: Whose description goes into the introduction.
        more: Lines about further actions, after that description.
    Raises:
        ConfigError: A part is missing or does not fit.
    """
    actions = settings.get("actions") or {}
    if action_set not in actions:
        known = ", ".join(actions) or "none"
        raise ConfigError(f"agent.actions does not describe the action set {action_set}; it describes {known}")
    template = str(settings["template"])
    for name in _REQUIRED:
        if f"{{{name}}}" not in template:
            raise ConfigError(f"agent.template must contain {{{name}}}")
    prompt = Prompt(
        system=str(settings["system"]).replace("{actions}", "\n".join((str(actions[action_set]).strip(), *more))),
        examples=tuple(_examples(settings.get("examples") or (), action_set)),
        template=template,
        splitter=str(settings.get("splitter", "```")),
        example_role=str(settings.get("example_role", "system")),
    )
    if not prompt.splitter.strip():
        raise ConfigError("agent.splitter must not be empty")
    if prompt.example_role not in _EXAMPLE_ROLES:
        raise ConfigError(f"agent.example_role must be system or user, not {prompt.example_role!r}")
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
