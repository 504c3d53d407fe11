"""Runs as runs and traces of MLflow, read by MLflow itself."""

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.tracking.exports.mlflow_runs import _metrics
from harness.runs import Run, task_row
from tests.journal.episodes import failed


def test_without_the_package_one_sentence_says_so(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert main(["export", "mlflow", str(run)]) == 2
    assert "needs the package mlflow, which is not installed: pip install mlflow" in capsys.readouterr().err


@pytest.fixture
def mlflow() -> Any:
    pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed here: run `make test-exports`")
    return pytest.importorskip("mlflow", reason="mlflow is not installed here: run `make test-exports`")


def found(mlflow: Any, uri: str) -> tuple[Any, list[Any]]:
    mlflow.set_tracking_uri(uri)
    experiment = mlflow.get_experiment_by_name("cairn").experiment_id
    traces = mlflow.search_traces(locations=[experiment], return_type="list")
    return mlflow.search_runs([experiment]), traces


@pytest.mark.filterwarnings("default")
def test_exporting_twice_does_not_double_and_a_changed_episode_is_replaced(
    run: Path, tmp_path: Path, mlflow: Any
) -> None:
    uri = f"sqlite:///{tmp_path}/store.db"
    for _ in range(2):
        assert main(["export", "mlflow", str(run), "--to", uri]) == 0
        runs, traces = found(mlflow, uri)
        assert (len(runs), len(traces)) == (1, 5)
    row = runs.iloc[0]
    assert (row["params.llm.model"], row["metrics.passed"], row["metrics.unscored"], row["metrics.rate"]) == (
        "gpt/4",
        2,
        3,
        0.4,
    )
    table = mlflow.MlflowClient().load_table(row["experiment_id"], "tasks.json")
    assert sorted(table["task_id"].astype(str)) == ["10", "11", "12", "9", "9"]
    first = {trace.info.tags["cairn.place"]: trace.info.trace_id for trace in traces}
    with RunFolder.open(run) as opened, opened.journal("12") as journal:
        journal.append(failed(message="no site"))
    assert main(["export", "mlflow", str(run), "--to", uri, "--scoring", "webarena"]) == 0
    runs, traces = found(mlflow, uri)
    second = {trace.info.tags["cairn.place"]: trace.info.trace_id for trace in traces}
    assert (len(runs), runs.iloc[0]["metrics.passed"]) == (1, 1)
    assert {place for place in first if first[place] != second[place]} == {"run-a/12/0"}


@pytest.mark.filterwarnings("default")
def test_a_trace_has_a_span_for_each_request_and_action(run: Path, mlflow: Any) -> None:
    assert main(["export", "mlflow", str(run)]) == 0
    _, traces = found(mlflow, f"sqlite:///{run}/export/mlflow.db")
    trace = next(one for one in traces if one.info.tags["cairn.place"] == "run-a/9/0")
    root, *spans = sorted(trace.data.spans, key=lambda span: (span.parent_id is not None, span.start_time_ns))
    assert {span.name for span in spans} == {"chat 1", "1. click", "2. click", "chat 2", "3. stop"}
    assert all(span.parent_id == root.span_id for span in spans)
    kinds = [span.span_type for span in spans]
    assert (kinds.count("CHAT_MODEL"), kinds.count("TOOL")) == (2, 3)
    assert trace.info.tags["cairn.score.corrected"] == "1.0"
    assert trace.info.token_usage["input_tokens"] == 20
    assert [span.status.status_code for span in spans].count("ERROR") == 1


@pytest.mark.browser
@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_a_played_run_is_searched(tmp_path: Path, mlflow: Any, request: pytest.FixtureRequest) -> None:
    uri = f"sqlite:///{tmp_path}/store.db"
    assert main(["export", "mlflow", str(request.getfixturevalue("played")["tools"]), "--to", uri]) == 0
    runs, traces = found(mlflow, uri)
    assert (len(runs), len(traces), runs.iloc[0]["metrics.rate"]) == (1, 2, 1.0)


def test_episodes_that_have_not_begun_are_in_the_denominator_of_the_rate(run: Path) -> None:
    rows = [task_row(episode) for episode in Run(run, scoring="corrected").episodes()]
    assert dict(_metrics(rows, not_begun=0))["rate"] == 2 / 5
    found = dict(_metrics(rows, not_begun=15))
    assert (found["rate"], found["episodes"], found["unscored"], found["failed"]) == (0.1, 20.0, 18.0, 0.0)
