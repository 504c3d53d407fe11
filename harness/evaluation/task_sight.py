"""Whether the agent of a run is shown the pictures of its tasks, and can ask their users."""

from collections.abc import Sequence

from harness.config.agent_settings import AgentConfig
from harness.errors import ConfigError
from harness.evaluation.agent_registry import session_kind
from harness.records import Task
from harness.settings.observation import PICTURES, ObservationSettings

BASELINES = ("null", "random")


def check_sight(agent: AgentConfig, observation: ObservationSettings, tasks: Sequence[Task]) -> None:
    """See that the agent is shown the pictures of its tasks. The baselines look at nothing, and may be asked anything.

    Raises:
        ConfigError: It is not.
    """
    pictured = [task.task_id for task in tasks if task.images]
    if not pictured or (agent._target_ is None and agent.kind in BASELINES):
        return
    whose = f"{len(pictured)} of {len(tasks)} tasks (the first is {pictured[0]}) have pictures in their objective"
    if agent._target_ is not None:
        if not sees_task_images(agent):
            raise ConfigError(
                f"{whose}, and {agent._target_} does not say that it shows them: let it read "
                "observation.task_images and set shows_task_images = True, or leave these tasks out"
            )
    elif observation.parts.isdisjoint(PICTURES) and agent.kind != "computer":
        raise ConfigError(
            f"{whose}, and agent={agent.name} is shown text only (observation.type={observation.type}); "
            "choose an agent that sees, as agent=vision or agent=visual, or leave these tasks out"
        )


def check_asking(agent: AgentConfig, tasks: Sequence[Task]) -> None:
    """See that an agent that is to be judged by what it asked has a way to ask.

    Raises:
        ConfigError: It sends the browser commands of its own, none of which is a question.
    """
    asked = [task.task_id for task in tasks if task.user is not None]
    if not asked or (kind := session_kind(agent)) is None or not kind.drives_browser(agent):
        return
    raise ConfigError(
        f"{len(asked)} of {len(tasks)} tasks (the first is {asked[0]}) have a user who can be asked, and"
        f" agent={agent.name} drives the browser itself, without actions; choose"
        " agent.browser=mcp or another agent, or leave them out"
    )


def sees_task_images(agent: AgentConfig) -> bool:
    """What an agent's class of the person's own says of itself."""
    from hydra.utils import get_class  # which a run without a class of the person's own does without

    try:
        return getattr(get_class(str(agent._target_)), "shows_task_images", False) is True
    except (ImportError, ValueError, AttributeError, SystemExit):
        return False  # what is wrong with it, `check_plugins` says
