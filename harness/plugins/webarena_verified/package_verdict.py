"""The package's own scorer: its command, run in its environment on a folder that holds what it reads."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from harness.api import CodecError, JsonObject, loads
from harness.api.files import safe_files
from harness.api.text import cut
from harness.errors import EvaluatorError
from harness.plugins.webarena_verified.verified_package import VerifiedPackage

SUCCESS, FAILURE, ERROR = "success", "failure", "error"
_START_S = 120.0
_EACH_S = 20.0
_MOST_OF_A_WHY = 800
_TAIL = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageVerdict:
    """What the package says of one episode."""

    status: str
    """`success`, `failure`, or `error`: one of its evaluators could not say."""
    value: float | None
    """As a score. An answer that its evaluator fails on is a 0, as in the package; None = it could not say for another
    reason.
    """
    why: str
    version: str
    """Version of the package."""


async def run_scorer(
    package: VerifiedPackage, folder: Path, task_ids: Sequence[str], config: Path
) -> dict[str, PackageVerdict]:
    """Score the episodes in `folder`, which holds a folder for each of `task_ids`.

    Args:
        package: Whose scorer.
        folder: As `export_verified` writes it; results are written into it, too.
        task_ids: Numbers as text.
        config: The scorer's settings.
    Returns:
        Task id to verdict; a task is missing when the scorer wrote nothing for it.
    Raises:
        EvaluatorError: The scorer cannot be started, fails, or takes too long.
    """
    said = await _run(
        package.python,
        *("--output-dir", str(folder), "--config", str(config), "--task-ids", ",".join(task_ids)),
        limit_s=_START_S + _EACH_S * len(task_ids),
    )
    found = {}
    for task_id in task_ids:
        path = folder / task_id / "eval_result.json"
        if path.exists():
            found[task_id] = read_verdict(path)
    if not found:
        raise EvaluatorError(f"webarena-verified gave no verdict: {said}")
    return found


def read_verdict(path: Path) -> PackageVerdict:
    """Raises: EvaluatorError: The file is not a result of the package."""
    try:
        result = loads(safe_files.read(path, most=safe_files.MAX_SIDE_FILE_BYTES))
    except (OSError, CodecError) as error:
        raise EvaluatorError(f"the result of webarena-verified cannot be read: {error}") from error
    match result:
        case {"status": str(status), "evaluators_results": list(parts), "webarena_verified_version": str(version)} if (
            status in (SUCCESS, FAILURE, ERROR) and all(isinstance(part, dict) for part in parts)
        ):
            value = {SUCCESS: 1.0, FAILURE: 0.0}.get(status, 0.0 if _cannot_read_the_answer(parts) else None)
            whole = cut(_why(status, parts, result.get("error_msg")), _MOST_OF_A_WHY)
            return PackageVerdict(status=status, value=value, why=whole, version=version[:40])
    raise EvaluatorError(f"{path.name} of webarena-verified has another form than in its tested version")


async def _run(python: Path, *options: str, limit_s: float) -> str:
    """Run its command to the end; gives the last line that it wrote."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    with TemporaryFile() as output:
        try:
            process = await asyncio.create_subprocess_exec(
                *(str(python), "-I", "-m", "webarena_verified", "eval-tasks", *options),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
            )
        except OSError as error:
            raise EvaluatorError(f"webarena-verified cannot be started: {error}") from error
        try:
            async with asyncio.timeout(limit_s):
                await process.wait()
        except TimeoutError as error:
            raise EvaluatorError(f"webarena-verified did not end within {limit_s:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
        lines = output.read().decode(errors="replace").strip().splitlines()
    said = cut(lines[-1] if lines else "it said nothing", 300)
    if process.returncode:
        raise EvaluatorError(f"webarena-verified ended with exit code {process.returncode}: {said}")
    return said


def _cannot_read_the_answer(parts: Sequence[JsonObject]) -> bool:
    """Whether nothing but the agent's answer made an evaluator fail: what it was to be compared with had been read."""
    failed = [part for part in parts if part.get("status") == ERROR]
    return bool(failed) and all(
        part.get("evaluator_name") == "AgentResponseEvaluator" and part.get("expected") is not None for part in failed
    )


def _why(status: str, parts: Sequence[JsonObject], error: object) -> str:
    said = [f"{part.get('evaluator_name')}: {reason}" for part in parts if (reason := _reason(part))]
    if isinstance(error, str):
        said.append(error)
    if not said:
        said = [", ".join(str(part.get("evaluator_name")) for part in parts)]
    return f"webarena-verified: {status}: {'; '.join(said)}"


def _reason(part: JsonObject) -> str:
    """Why one of its evaluators did not pass; "" when it did."""
    if part.get("status") == SUCCESS:
        return ""
    if isinstance(part.get("error_msg"), str):
        return str(part["error_msg"])
    failed = [one for one in part.get("assertions") or () if isinstance(one, dict) and one.get("status") != SUCCESS]
    texts = [" ".join(map(str, [one.get("assertion_name"), *(one.get("assertion_msgs") or ())])) for one in failed]
    return "; ".join(texts) or str(part.get("status"))
