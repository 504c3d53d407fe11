"""Fine-tuning through any OpenAI-compatible files, fine_tuning and models API.

What was asked for is recognised by its metadata and file name, so every call may be repeated after a crash or a lost
answer without a second file, job or bill: look first, then make. Waiting for a job is polling; how long training takes
is the server's business, so only a job's end, a refusal or a server that stays away ends it. Decides nothing about
training.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from openai import NotFoundError
from tenacity import AsyncRetrying, retry_if_result, wait_exponential

from harness.api import RetryableError
from harness.api.endpoints import Endpoint
from harness.api.gateway import Retrier, Timing, openai_errors, translate_errors
from harness.api.settings import RetryPolicy
from harness.errors import ModelRejected, ModelUnavailable, RequestRefused

T = TypeVar("T")
ENDED = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuningJob:
    """A fine-tuning job as the server tells it."""

    id: str
    status: str
    model: str
    """What it began with."""
    fine_tuned_model: str | None
    """Set when it has succeeded."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    created_at: int = 0
    trained_tokens: int | None = None
    error: str = ""

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


class FineTuning:
    """A client of one endpoint; close it by leaving its context."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        policy: RetryPolicy | None = None,
        timing: Timing | None = None,
        timeout_s: float = 120.0,
        poll_s: float = 5.0,
    ) -> None:
        """Connects to nothing yet.

        Args:
            timeout_s: Of one request.
            poll_s: First wait between two looks at a job; grows up to twelve times that.
        """
        self._endpoint = endpoint
        self._timing = timing or Timing()
        self._retrier = Retrier(policy or RetryPolicy(), timing=self._timing)
        self._timeout_s = timeout_s
        self._poll_s = poll_s
        self._client = endpoint.connect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.close()

    async def ensure_file(self, name: str, data: bytes) -> str:
        """The id of the training file called `name`, uploaded unless it is there; equal names must mean equal bytes."""

        async def attempt() -> str:
            async for file in self._client.files.list(purpose="fine-tune", timeout=self._timeout_s):
                if file.filename == name and file.bytes == len(data):
                    return file.id
            made = await self._client.files.create(file=(name, data), purpose="fine-tune", timeout=self._timeout_s)
            return made.id

        return await self._run(attempt, "files")

    async def ensure_job(  # noqa: PLR0913  # the endpoint's own
        self,
        *,
        file_id: str,
        model: str,
        suffix: str,
        key: Mapping[str, str],
        about: Mapping[str, str],
        hyperparameters: Mapping[str, Any],
        seed: int | None,
    ) -> FineTuningJob:
        """The job whose metadata holds `key` and that runs or has succeeded, created unless there is one.

        Args:
            file_id: Training file.
            model: What to begin with.
            suffix: Part of the new model's name.
            key: What the job is recognised by.
            about: Further metadata, if it is created.
            hyperparameters: Of supervised training; {} = the endpoint's own choice.
            seed: None = the endpoint's own choice.
        """

        further: dict[str, Any] = {} if seed is None else {"seed": seed}
        if hyperparameters:
            supervised = {"hyperparameters": dict(hyperparameters)}
            further["method"] = {"type": "supervised", "supervised": supervised}

        async def attempt() -> FineTuningJob:
            for job in await self._jobs():
                if key.items() <= job.metadata.items() and (not job.has_ended or job.status == "succeeded"):
                    return job
            made = await self._client.fine_tuning.jobs.create(
                training_file=file_id,
                model=model,
                metadata={**key, **about},
                suffix=suffix,
                **further,
                timeout=self._timeout_s,
            )
            return _job(made)

        return await self._run(attempt, model)

    async def jobs(self, metadata: Mapping[str, str]) -> tuple[FineTuningJob, ...]:
        """All jobs whose metadata holds these pairs, oldest first."""
        found = await self._run(self._jobs, "fine_tuning")
        chosen = [job for job in found if metadata.items() <= job.metadata.items()]
        return tuple(sorted(chosen, key=lambda job: (job.created_at, job.id)))

    async def ended(self, job: FineTuningJob) -> FineTuningJob:
        """The same job once it has ended, however long that takes."""

        async def look() -> FineTuningJob:
            return _job(await self._client.fine_tuning.jobs.retrieve(job.id, timeout=self._timeout_s))

        if job.has_ended:
            return job
        polling = AsyncRetrying(
            sleep=self._timing.sleep,
            retry=retry_if_result(lambda seen: not seen.has_ended),
            wait=wait_exponential(multiplier=self._poll_s, exp_base=1.5, max=12 * self._poll_s),
        )
        seen: FineTuningJob = await polling(self._run, look, job.model)
        return seen

    async def delete_model(self, model: str) -> None:
        """Delete a fine-tuned model; one that is gone already is not an error."""

        async def attempt() -> None:
            try:
                await self._client.models.delete(model, timeout=self._timeout_s)
            except NotFoundError:
                return

        await self._run(attempt, model)

    async def _jobs(self) -> list[FineTuningJob]:
        return [_job(job) async for job in self._client.fine_tuning.jobs.list(limit=100, timeout=self._timeout_s)]

    async def _run(self, action: Callable[[], Awaitable[T]], model: str) -> T:
        async def attempt() -> T:
            try:
                with translate_errors(self._endpoint, openai_errors(), model=model, timeout_s=self._timeout_s):
                    return await action()
            except RequestRefused as exc:
                raise ModelRejected(f"{exc}; check the llm settings, then run again") from exc

        try:
            return await self._retrier.run(attempt)
        except RetryableError as exc:
            raise ModelUnavailable(
                f"{self._endpoint.label} does not answer about fine-tuning {model!r}; last error: {exc}; "
                "nothing is lost, run the same command to continue"
            ) from exc


def _job(seen: Any) -> FineTuningJob:
    error = getattr(seen, "error", None)
    return FineTuningJob(
        id=seen.id,
        status=seen.status,
        model=seen.model,
        fine_tuned_model=seen.fine_tuned_model,
        metadata={str(key): str(value) for key, value in (getattr(seen, "metadata", None) or {}).items()},
        created_at=seen.created_at or 0,
        trained_tokens=seen.trained_tokens,
        error=(getattr(error, "message", None) or "") if error else "",
    )
