"""`agent=plan`: does what a recorded plan says. It asks no model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness.api import Action, ChatModel, Decision, Episode, LiveObservation, Stop, Task, resolve
from harness.api.actions import Mouse, NodeLike, PointClick
from harness.plugins.record.plan import Aimed, PlanStep, read_plans, state_of


class PlanAgent:
    """An `Agent`. Where an element has moved, it is aimed at where it is now.

    Args:
        model: Not asked.
        plan: The file.
        width: Of the viewport, in px, as `browser.width`.
        height: As `browser.height`.
    """

    def __init__(self, model: ChatModel, plan: str, width: int = 1280, height: int = 720) -> None:
        self._plans = read_plans(Path(plan))
        self._screen = (width, height)

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        """See `harness.api.Agent`. The memory says whether the page is the one that the plan was made on."""
        plan = self._plans.get(task.task_id)
        done = len(episode.steps)
        if plan is None or done >= len(plan.steps):
            return Decision(action=Stop(answer=""))
        before = plan.steps[done - 1].page if done else plan.start
        now = state_of(observation.observation)
        action = _aimed_now(plan.steps[done], observation.nodes, self._screen)
        return Decision(
            action=resolve(action, observation.nodes),
            memory={"same_page": before is not None and now.fingerprint == before.fingerprint},
        )


def _aimed_now(step: PlanStep, nodes: Mapping[str, NodeLike], screen: tuple[int, int]) -> Action:
    action = step.action
    if step.element is None or not isinstance(action, PointClick | Mouse):
        return action
    point = _point(step.element, nodes, screen)
    return action if point is None else replace(action, x=point[0], y=point[1])


def _point(element: Aimed, nodes: Mapping[str, NodeLike], screen: tuple[int, int]) -> tuple[float, float] | None:
    """As fractions of the viewport; None = the element is not there, or not in sight."""
    wanted = (element.role, element.name, element.nth)  # names are cut where they are recorded
    node = next((one for one in nodes.values() if (one.role, one.name[:200], one.nth) == wanted), None)
    if node is None or node.box is None:
        return None
    left, top, width, height = node.box
    x, y = (left + element.x * width) / screen[0], (top + element.y * height) / screen[1]
    return (x, y) if 0 <= x < 1 and 0 <= y < 1 else None
