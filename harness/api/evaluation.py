"""What `harness run` does with settings, piece by piece: compose them, load the tasks, build benchmark and judge, play.

For commands that play or judge by the person's own settings. Heavy: import it in the function that needs it.
"""

from harness.cli import configured
from harness.commands.configured_judge import open_judge
from harness.config.config_tree import build_redactor
from harness.evaluation.builder import build_agent, build_benchmark, build_evaluators, load_tasks
from harness.evaluation.orchestrator import evaluate

__all__ = [
    "build_agent",
    "build_benchmark",
    "build_evaluators",
    "build_redactor",
    "configured",
    "evaluate",
    "load_tasks",
    "open_judge",
]
