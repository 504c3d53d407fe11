"""The matrix as a page of the viewer: runs are chosen, and cells lead to diffs."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode

from harness.api.command_line import PageAnswer, PageRequest
from harness.errors import ConfigError
from harness.plugins.matrix.matrix import matrix_of
from harness.plugins.matrix.page import TEMPLATES, FlippedSides, values_of
from harness.runs import Run

_MOST_LISTED = 200
_MOST = 30
"""Runs of one matrix."""


class MatrixPage:
    """Implements `harness.api.command_line.ViewerPage`."""

    title: ClassVar[str] = "Compare runs"
    is_of_run: ClassVar[bool] = False
    templates: ClassVar[Path] = TEMPLATES
    saves: ClassVar[bool] = False

    def show(self, request: PageRequest, /) -> PageAnswer:
        """The chosen runs, and the form that chooses; without a choice, the form.

        Raises:
            ConfigError: There is no such run, or too many are chosen.
            JournalError: A journal is damaged.
        """
        names, reference = list(request.folders), request.field("reference")
        chosen = list(dict.fromkeys((*filter(None, (reference,)), *request.fields.get("run", ()))))
        if strange := next((name for name in chosen if name not in request.folders), None):
            raise ConfigError(f"there is no run {strange[:80]}; choose from the list of runs")
        if len(chosen) > _MOST:
            raise ConfigError(f"{len(chosen)} runs are too many for one page; choose at most {_MOST}")
        values: dict[str, object] = {"matrix": None}
        if request.fields.get("run"):
            first = Run(request.folders[chosen[0]])
            runs = [first, *(Run(request.folders[name], scoring=first.scoring) for name in chosen[1:])]
            matrix = matrix_of(runs, chosen)
            values = values_of(matrix, partial(_diff, matrix.scoring))
        form = {
            "names": names[:_MOST_LISTED],
            "more": max(0, len(names) - _MOST_LISTED),
            "chosen": chosen,
            "reference": reference,
        }
        return PageAnswer(template="matrix_chosen.html", values=values | form)

    def save(self, request: PageRequest, /) -> Mapping[str, str]:
        """Never called."""
        raise ConfigError("this page takes no form; open it")


def _diff(scoring: str, _: int, sides: FlippedSides) -> str:
    """Where two episodes part, on the page `diff` of the same viewer."""
    episodes = [("episode", f"{cell.run.folder.name}:{trial}") for _, cell, trial in sides.both]
    return f"diff?{urlencode([('task', sides.task), ('scoring', scoring), *episodes])}"
