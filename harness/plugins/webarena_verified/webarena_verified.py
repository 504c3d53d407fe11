"""The tasks of WebArena-Verified, as a benchmark.

A task here has WebArena's number, sites and login, with the intent and start pages that WebArena-Verified gives it. Its
reference is not copied: the scorer reads it from the package when the episode is over, and the digest in the task makes
sure that it is still the same.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from harness.api import Benchmark, Evaluator, JsonObject, dumps
from harness.errors import ConfigError
from harness.plugins.webarena_verified.package_score import PackageScore
from harness.plugins.webarena_verified.verified_export import BENCHMARK
from harness.plugins.webarena_verified.verified_package import VerifiedPackage, find_package


class WebArenaVerified(Benchmark):
    """The 812 tasks of the package `webarena-verified`, or a subset of them.

    Args:
        package: Folder of the environment it is installed in; None = see `find_package`.
        subset: Name of one of its subsets, as in `webarena-verified-hard`; None = all tasks.
        dataset: A JSON file in the form of its dataset, to be used in its place; None = the package's own.
    """

    needs_trace = True

    def __init__(self, package: str | None = None, subset: str | None = None, dataset: str | None = None) -> None:
        self._package: VerifiedPackage = find_package(package)
        self._subset = subset
        self._dataset = dataset

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        every, logins = self._package.tasks(self._dataset), self._package.logins()
        wanted = None if self._subset is None else self._package.subset(self._subset)
        for task in every:
            if wanted is None or task["task_id"] in wanted:
                yield self._entry(task, logins.get(task["task_id"]))

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {BENCHMARK: PackageScore(self._package, self._dataset)}

    def _entry(self, task: JsonObject, storage_state: Any) -> JsonObject:
        """Raises: ConfigError: It is not a task in the package's schema."""
        try:
            sites, starts = [str(site) for site in task["sites"]], [str(url) for url in task["start_urls"]]
            kept = {key: task[key] for key in ("task_id", "intent", "intent_template_id")}
            revision = task["revision"]
        except (KeyError, TypeError) as error:
            raise ConfigError(f"the dataset of webarena-verified: task {task['task_id']} has no {error}") from error
        return {
            **kept,
            "sites": sites,
            "start_url": " |AND| ".join(starts),
            "require_login": storage_state is not None,
            "storage_state": storage_state,
            "intent_template": task.get("intent_template", ""),
            "instantiation_dict": task.get("instantiation_dict", {}),
            "eval": {
                "eval_types": [BENCHMARK],
                BENCHMARK: {
                    "package": self._package.version,
                    "revision": revision,
                    "digest": sha256(dumps(task)).hexdigest(),
                    "addresses": {site: f"__{site.upper()}__" for site in sites},
                },
            },
        }
