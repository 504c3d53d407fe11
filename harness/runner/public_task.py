"""What an agent is given of its task: nothing of how it is judged.

An agent in our process can look around in it; docs/pages/process_agents_sandbox.md says how to prevent that.
"""

from dataclasses import replace

from harness.records import Episode, Eval, Task

_UNSAID = Eval(eval_types=())


def public_task(task: Task) -> Task:
    """The task without `eval` and `metadata`, which holds the references of plugged-in evaluators."""
    return replace(task, eval=_UNSAID, metadata={})


def public_episode(episode: Episode) -> Episode:
    """What is recorded, without the task's references and without verdicts, which repeat them."""
    opened = episode.opened
    if opened is not None:
        opened = replace(opened, task=public_task(opened.task), files={})
    return replace(episode, opened=opened, judged={}, scores={})
