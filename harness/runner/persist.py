"""Writes contents as artifacts before the record that names them is written."""

from harness.api import Artifacts
from harness.codec import dumps
from harness.protocols import RawEvidence, TargetValue
from harness.records import Evidence, Selected


def store_response(raw: bytes, artifacts: Artifacts) -> str | None:
    """The artifact of an endpoint's answer, byte for byte; None when there was none."""
    return artifacts.put(raw) if raw else None


def store_evidence(gathered: RawEvidence, artifacts: Artifacts, *, reward: float | None = None) -> Evidence:
    """The record of `gathered`, everything large put among the artifacts; `reward` is the attempt's last."""
    return Evidence(
        url=gathered.url,
        title=gathered.title,
        html=artifacts.put(dumps(gathered.html)),
        selected=tuple(_selected(selection, artifacts) for selection in gathered.selections),
        trace=None if gathered.trace is None else artifacts.put(gathered.trace),
        reward=reward,
        benchmark=None if gathered.benchmark is None else artifacts.put(gathered.benchmark),
    )


def _selected(selection: TargetValue, artifacts: Artifacts) -> Selected:
    return Selected(
        index=selection.index,
        url=selection.url,
        content=None if selection.error and selection.value is None else artifacts.put(dumps(selection.value)),
        error=selection.error,
        last_content=None if selection.last_value is None else artifacts.put(dumps(selection.last_value)),
    )
