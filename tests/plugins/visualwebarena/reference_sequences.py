"""Where VisualWebArena's runner stops: run with the Python of an environment that has its package, and a checkout's run.py.

Reads `{"runner": path, "max_steps": …, "thresholds": {…}, "sequences": [[action, …], …]}` from standard input; writes
of each sequence after how many actions the runner ends the episode, and why; null = never. An action that is null could not be parsed.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any

from tests.plugins.visualwebarena.reference import package


def rule(runner, actions):
    """`early_stop` of the runner, unchanged; the rest of the file needs models and a browser."""
    tree = ast.parse(Path(runner).read_text(encoding="utf-8"))
    (found,) = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "early_stop"]
    names = {"Trajectory": list, "Action": Any, "ActionTypes": actions.ActionTypes}
    names["is_equivalent"] = actions.is_equivalent
    exec(compile(ast.Module([found], []), runner, "exec"), names)  # noqa: S102 (a checkout that the person names)
    return names["early_stop"]


def main():
    given = json.load(sys.stdin)
    package()
    from visualwebarena.browser_env import actions

    stops, found = rule(given["runner"], actions), []
    for sequence in given["sequences"]:
        trajectory, ended = [{}], None
        for number, text in enumerate(sequence, 1):
            made = actions.create_none_action() if text is None else actions.create_id_based_action(text)
            trajectory += [made, {}]
            stop, why = stops(trajectory, given["max_steps"], given["thresholds"])
            if stop:
                ended = [number, why]
                break
        found.append(ended)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
