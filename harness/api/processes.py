"""Processes: what a machine can bear, workers and others that are ended for certain, and the sandbox for a program that
is not trusted.

For agents with a process of their own, checks that run scripts, and executors.
"""

from harness.interpreter import module_arguments
from harness.runner.capacity import MachineCapacity, machine_capacity
from harness.runner.executors.local_workers import BUFFERED, local_worker
from harness.runner.process_tree import (
    MARK,
    WORKER_MARK,
    end_marked,
    find_marked,
    kill_tree,
    marks,
    unmarked,
    worker_environment,
)
from harness.sandbox.bubblewrap import (
    BROWSER_PORT,
    PORT,
    READ_ONLY_ROOT,
    Bubblewrap,
    choose_sandbox,
    stage_command,
    system_mounts,
)

__all__ = [
    "BROWSER_PORT",
    "BUFFERED",
    "MARK",
    "PORT",
    "READ_ONLY_ROOT",
    "WORKER_MARK",
    "Bubblewrap",
    "MachineCapacity",
    "choose_sandbox",
    "end_marked",
    "find_marked",
    "kill_tree",
    "local_worker",
    "machine_capacity",
    "marks",
    "module_arguments",
    "stage_command",
    "system_mounts",
    "unmarked",
    "worker_environment",
]
