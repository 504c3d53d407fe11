"""The reference answer of a BrowseComp task, which is encrypted in it."""

from collections.abc import Mapping

from harness.api import EvaluatorError, Task
from harness.api.sealed_answers import decrypt

NAME = "browsecomp"


def reference_answer(task: Task) -> str:
    """The answer as text, for the grader's prompt only.

    Raises:
        EvaluatorError: There is none, or it cannot be decrypted.
    """
    held = task.metadata.get(f"eval.{NAME}")
    try:
        reference = decrypt(str(held["answer"]), str(held["canary"])) if isinstance(held, Mapping) else ""
    except (KeyError, ValueError) as error:
        raise EvaluatorError(f"the answer of task {task.task_id} cannot be decrypted: {error}") from error
    if not reference:
        raise EvaluatorError(f"task {task.task_id} has no reference answer")
    return reference
