"""For TRL's argument environment_factory: each public method is a tool, whose docstring the model is given.

    trainer = GRPOTrainer(…, environment_factory=CairnTools, reward_funcs=reward)

The columns of the dataset are the arguments of `reset`: `task`, and if you like `seed`. The address of the server is
the variable `CAIRN_ENVIRONMENTS_URL`. TRL has to be 1.6 or newer: older ones make a reward of 0 where there is none.
"""

import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.plugins.environments.clients.connection import BUSY, Connection, EnvironmentFailed

_LEAST_TRL = (1, 6)
"""The first that leaves a sample without a reward out."""


class CairnTools:
    """One episode at a time."""

    def __init__(self) -> None:
        self._connection = Connection()
        self.reward: float | None = None
        """The score of the episode; None = it has none: it did not begin or end, or the infrastructure failed."""
        self._has_begun = False
        self._goes_on = False

    def reset(self, task: str | None = None, seed: int | None = None, **columns: Any) -> str:
        """The first page, with the goal before it; or why there is no episode, which all tools say then. It begins with
        an empty line, since TRL puts it right behind the prompt.

        Raises:
            EnvironmentFailed: A setting is wrong: there is no such task, or no server or free environment at the start.
            ValueError: The goal has pictures, which no tool shows.
        """
        self.reward, self._goes_on = None, False
        try:
            seen = self._connection.reset(task=task, seed=seed)["observation"]
        except EnvironmentFailed as failed:  # it would end the training
            if not self._is_left_out(failed):
                raise
            return f"\n\n{_told(failed)}"
        self._has_begun = self._goes_on = True
        if seen["task_images"]:
            self._connection.close()
            raise ValueError(f"task {seen['task']} has pictures in its objective, which no tool shows; leave it out")
        return f"\n\n{seen['goal']}\n\n{seen['text']}"

    def click(self, target: str) -> str:
        """Click an element of the page.

        Args:
            target: The id of the element, as in 12.
        """
        return self._done({"kind": "click", "target": target})

    def type(self, target: str, text: str, enter: bool) -> str:
        """Replace the text of a field.

        Args:
            target: The id of the field.
            text: What is typed.
            enter: Whether Enter is pressed after it.
        """
        return self._done({"kind": "type", "target": target, "text": text, "enter": enter})

    def scroll(self, direction: str) -> str:
        """Scroll the page.

        Args:
            direction: up or down.
        """
        return self._done({"kind": "scroll", "direction": direction})

    def go_back(self) -> str:
        """Go to the page before."""
        return self._done({"kind": "go_back"})

    def stop(self, answer: str) -> str:
        """End the task.

        Args:
            answer: The answer, or nothing if none was asked for.
        """
        return self._done({"kind": "stop", "answer": answer})

    def _done(self, action: dict[str, Any]) -> str:
        try:
            turn = self._connection.step(action)
        except EnvironmentFailed as failed:
            self._goes_on = self._goes_on and not failed.mask
            return _told(failed)
        self._goes_on = not turn["done"]
        self.reward = turn["reward"] if turn["done"] else None
        seen = turn["observation"]
        told = "\n".join(filter(None, (seen["error"], *seen["notices"])))
        return f"{told}\n\n{seen['text']}".strip() if not turn["done"] else "The task has ended."

    def _score(self) -> float | None:
        """That of the page as it is, if the model has not ended the task: it would never learn to, left out."""
        if self._goes_on:
            self.stop("")
        return self.reward

    def _is_left_out(self, failed: EnvironmentFailed) -> bool:
        """Whether it costs one sample only: an episode failed, or what was there before is gone."""
        if self._has_begun:
            return failed.mask or failed.data.get("code") in BUSY
        return "failure_class" in failed.data


class CairnToolsWithUser(CairnTools):
    """The same for tasks that have a user."""

    def ask_user(self, question: str) -> str:
        """Ask the user, who can consent to something, refuse it, or tell you what the task leaves out.

        Args:
            question: The whole question; the user sees nothing else of what you do.
        """
        return self._done({"kind": "ask_user", "question": question})


def reward(environments: list[CairnTools], **_: Any) -> list[float | None]:
    """A reward function: the scores; None = TRL leaves the sample out. Ends the episodes that go on.

    Raises:
        RuntimeError: This TRL would make a 0 of None.
    """
    _check_trl()
    return [one._score() for one in environments]  # a public method would be a tool


def _told(failed: EnvironmentFailed) -> str:
    return f"the environment cannot go on: {failed}"


def _check_trl() -> None:
    try:
        installed = version("trl")
    except PackageNotFoundError:  # another trainer calls the function
        return
    found = re.match(r"(\d+)\.(\d+)", installed)
    if found is not None and (int(found[1]), int(found[2])) < _LEAST_TRL:
        raise RuntimeError(f"trl {installed} trains on a reward of 0 where there is none; pip install 'trl>=1.6'")
