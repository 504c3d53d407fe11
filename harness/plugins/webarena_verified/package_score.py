"""The package's verdict as the score of an episode."""

import asyncio
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.api import Artifacts, Closed, EvaluatorError, Finding, Task
from harness.api.files import Within
from harness.plugins.webarena_verified.package_verdict import PackageVerdict, run_scorer
from harness.plugins.webarena_verified.verified_export import (
    BENCHMARK,
    lacking_of,
    trace_of,
    write_config,
    write_episode,
)
from harness.plugins.webarena_verified.verified_package import VerifiedPackage

_KEPT = 32


class PackageScore:
    """The eval type `webarena_verified`. Fits `harness.api.Evaluator`.

    The verdict on an episode is kept for a while, because each episode is scored in two dialects.

    Args:
        package: Where the scorer is installed.
        dataset: The file that the tasks were read from; None = the package's own.
    """

    def __init__(self, package: VerifiedPackage, dataset: str | None) -> None:
        self._package = package
        self._dataset = dataset
        self._known: OrderedDict[tuple[str, str, str], PackageVerdict] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        if closed.evidence.trace is None:
            raise EvaluatorError("requests of the pages were not recorded; play the task again with browser.har=true")
        key = (task.task_id, closed.answer, sha256(artifacts.read(closed.evidence.trace)).hexdigest())
        async with self._one_at_a_time:
            if key not in self._known:
                self._known[key] = await self._verdict(task, closed, artifacts)
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            verdict = self._known[key]
        if verdict.value is None:
            raise EvaluatorError(verdict.why)
        return Finding(value=verdict.value, why=verdict.why)

    async def _verdict(self, task: Task, closed: Closed, artifacts: Artifacts) -> PackageVerdict:
        addresses, version = _kept(task)
        if version != self._package.version:
            raise EvaluatorError(
                f"the task is of webarena-verified {version}, but {self._package.version} is installed"
            )
        har = trace_of(artifacts, closed.evidence.trace or "")
        if lacking := lacking_of(har):
            raise EvaluatorError(
                f"the network trace {lacking}, so requests that decide may be missing; play the task again with"
                " run.retry=infra"
            )
        environments = {f"__{site.upper()}__": {"urls": [url]} for site, url in addresses.items()}
        with TemporaryDirectory(prefix="webarena-verified-") as made:
            folder, within = Path(made), Within(Path(made))
            write_config(folder, environments, within, **dataset_setting(self._dataset))
            write_episode(folder / task.task_id, task, closed, har=har, within=within)
            found = await run_scorer(self._package, folder, [task.task_id], folder / "config.json")
            return found[task.task_id]


def dataset_setting(dataset: str | None) -> dict[str, str]:
    """The scorer's setting for a dataset that is not the package's own."""
    return {} if dataset is None else {"test_data_file": str(Path(dataset).absolute())}


def _kept(task: Task) -> tuple[dict[str, str], str]:
    """Addresses of its sites, and the version of the package, from the task.

    Raises:
        EvaluatorError: The task is not one of this benchmark.
    """
    match task.metadata.get(f"eval.{BENCHMARK}"):
        case {"addresses": dict(addresses), "package": str(version)} if task.task_id.isdecimal():
            return {str(site): str(url) for site, url in addresses.items()}, version
    raise EvaluatorError("the task does not say what webarena-verified needs; load it with task=webarena_verified")
