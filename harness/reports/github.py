"""GitHub's CI, when this is a step of it: what its environment says, and its page for a summary of the step."""

from collections.abc import Mapping
from pathlib import Path

_ACTIONS = "GITHUB_ACTIONS"
_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def reads_annotations(environment: Mapping[str, str]) -> bool:
    """Whether workflow commands on the standard output become annotations."""
    return environment.get(_ACTIONS) == "true"


def wants_summary(environment: Mapping[str, str]) -> bool:
    """Whether `append_step_summary` would add anything."""
    return bool(environment.get(_STEP_SUMMARY))


def append_step_summary(text: str, environment: Mapping[str, str]) -> str:
    """Returns why it was not added, as where a container has GitHub's environment without its files; "" = it was."""
    if path := environment.get(_STEP_SUMMARY):
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            return f"the summary is not added to {_STEP_SUMMARY}={path}: {error.strerror}"
    return ""
