"""OpenAI's files, fine_tuning and models routes for the scripted endpoint.

A fine-tuned model is a name: it answers as `scripted` does. Jobs have no clock; a job runs until it has been looked at
`looks` times, then it has succeeded, or failed when its file is not chat JSONL. State is kept in a file when one is
given, so that jobs outlive the endpoint as those of a real server do.

    GET, POST /v1/files        GET /v1/files/{id}, /v1/files/{id}/content       DELETE /v1/files/{id}
    GET, POST /v1/fine_tuning/jobs      GET /v1/fine_tuning/jobs/{id}      POST /v1/fine_tuning/jobs/{id}/cancel
    GET /v1/models             DELETE /v1/models/{name}
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.api import dumps, loads
from harness.plugins.demo.model.answers import refuse
from harness.plugins.demo.model.chat_api import MODEL

Tree = dict[str, Any]
_ENDED = {"succeeded", "failed", "cancelled"}


@dataclass(slots=True, kw_only=True)
class FineTunes:
    """Files, jobs and models of one endpoint."""

    state: Path | None = None
    """Where they are kept; None = in memory."""
    looks: int = 2
    """How often a job is seen running."""
    files: dict[str, Tree] = field(default_factory=dict)
    jobs: dict[str, Tree] = field(default_factory=dict)
    models: dict[str, Tree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state is not None and self.state.exists():
            kept = loads(self.state.read_bytes())
            self.files, self.jobs, self.models = kept["files"], kept["jobs"], kept["models"]

    def save(self) -> None:
        if self.state is not None:
            unfinished = self.state.with_name(f".{self.state.name}.tmp")
            unfinished.write_bytes(dumps({"files": self.files, "jobs": self.jobs, "models": self.models}))
            unfinished.replace(self.state)

    async def upload(self, request: Request) -> Response:
        parts = _parts(request.headers.get("content-type", ""), await request.body())
        if "file" not in parts or "purpose" not in parts:
            return refuse(400, "give the form fields file and purpose")
        name, content = parts["file"]
        count = len(self.files) + 1
        file = {
            "id": f"file-{count:04d}",
            "object": "file",
            "bytes": len(content),
            "created_at": count,
            "filename": name,
            "purpose": parts["purpose"][1].decode(),
            "status": "processed",
        }
        self.files[f"file-{count:04d}"] = {"about": file, "content": content.decode("utf-8", "replace")}
        self.save()
        return JSONResponse(file)

    async def list_files(self, _request: Request) -> Response:
        return _listed([file["about"] for file in self.files.values()])

    async def file(self, request: Request) -> Response:
        if (file := self.files.get(request.path_params["id"])) is None:
            return _missing("file", request)
        if request.method == "DELETE":
            del self.files[request.path_params["id"]]
            self.save()
            return JSONResponse({"id": file["about"]["id"], "object": "file", "deleted": True})
        if request.url.path.endswith("/content"):
            return Response(file["content"], media_type="application/jsonl")
        return JSONResponse(file["about"])

    async def create_job(self, request: Request) -> Response:
        body = _object(await request.body())
        file_id, model = body.get("training_file"), body.get("model")
        if file_id not in self.files or not isinstance(model, str):
            return refuse(400, "training_file must be the id of a file, model a name")
        count = len(self.jobs) + 1
        job = {
            "id": f"ftjob-{count:04d}",
            "object": "fine_tuning.job",
            "created_at": count,
            "finished_at": None,
            "error": None,
            "fine_tuned_model": None,
            "hyperparameters": {"n_epochs": 1},
            "metadata": body.get("metadata"),
            "model": model,
            "organization_id": "org-scripted",
            "result_files": [],
            "seed": 0,
            "status": "queued",
            "trained_tokens": None,
            "training_file": file_id,
            "user_provided_suffix": body.get("suffix"),
            "validation_file": None,
        }
        self.jobs[job["id"]] = {"about": job, "looks": 0}
        self.save()
        return JSONResponse(job)

    async def list_jobs(self, _request: Request) -> Response:
        return _listed([job["about"] for job in reversed(self.jobs.values())])

    async def job(self, request: Request) -> Response:
        if (job := self.jobs.get(request.path_params["id"])) is None:
            return _missing("job", request)
        about = job["about"]
        if about["status"] not in _ENDED:
            if request.method == "POST":
                about["status"] = "cancelled"
            else:
                job["looks"] += 1
                self._advance(about, is_due=job["looks"] > self.looks)
            self.save()
        return JSONResponse(about)

    async def list_models(self, _request: Request) -> Response:
        own = {"id": MODEL, "object": "model", "created": 0, "owned_by": "harness"}
        return _listed([own, *self.models.values()])

    async def delete_model(self, request: Request) -> Response:
        if self.models.pop(request.path_params["name"], None) is None:
            return _missing("model", request)
        self.save()
        return JSONResponse({"id": request.path_params["name"], "object": "model", "deleted": True})

    def _advance(self, job: Tree, *, is_due: bool) -> None:
        job["status"] = "running"
        if not is_due:
            return
        job["finished_at"] = job["created_at"]
        content = self.files.get(job["training_file"], {}).get("content", "")
        if why := _unfit(content):
            job.update(status="failed", error={"code": "invalid_training_file", "message": why, "param": None})
            return
        base = str(job["model"]).removeprefix("ft:").partition(":")[0]
        name = f"ft:{base}:harness:{job['user_provided_suffix'] or ''}:{sha256(job['id'].encode()).hexdigest()[:8]}"
        job.update(status="succeeded", fine_tuned_model=name, trained_tokens=-(-len(content) // 4))
        self.models[name] = {"id": name, "object": "model", "created": job["created_at"], "owned_by": "harness"}


def finetuning_routes(tunes: FineTunes, lets_in: Callable[[Request], bool]) -> list[Route]:
    """The routes; requests that `lets_in` does not accept are refused."""

    def guarded(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            if not lets_in(request):
                return refuse(401, "Incorrect API key provided", code="invalid_api_key")
            return await handler(request)

        return answer

    jobs = "/v1/fine_tuning/jobs"
    return [
        Route("/v1/files", guarded(tunes.list_files), methods=["GET"]),
        Route("/v1/files", guarded(tunes.upload), methods=["POST"]),
        Route("/v1/files/{id}", guarded(tunes.file), methods=["GET", "DELETE"]),
        Route("/v1/files/{id}/content", guarded(tunes.file), methods=["GET"]),
        Route(jobs, guarded(tunes.list_jobs), methods=["GET"]),
        Route(jobs, guarded(tunes.create_job), methods=["POST"]),
        Route(f"{jobs}/{{id}}", guarded(tunes.job), methods=["GET"]),
        Route(f"{jobs}/{{id}}/cancel", guarded(tunes.job), methods=["POST"]),
        Route("/v1/models", guarded(tunes.list_models), methods=["GET"]),
        Route("/v1/models/{name:path}", guarded(tunes.delete_model), methods=["DELETE"]),
    ]


def _listed(data: list[Tree]) -> Response:
    return JSONResponse({"object": "list", "data": data, "has_more": False})


def _missing(kind: str, request: Request) -> Response:
    name = next(iter(request.path_params.values()))
    return refuse(404, f"there is no {kind} {name}", code=f"{kind}_not_found")


def _object(raw: bytes) -> Tree:
    """A JSON object; an empty one for anything else."""
    try:
        found = loads(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _unfit(content: str) -> str:
    """Why this is not chat JSONL; "" when it is."""
    lines = [line for line in content.split("\n") if line]
    for count, line in enumerate(lines, start=1):
        try:
            messages = loads(line)["messages"]
            roles = [message["role"] for message in messages]
        except (ValueError, KeyError, TypeError):
            return f"line {count} is not an object with messages"
        if "assistant" not in roles:
            return f"line {count} has no message of the assistant"
    return "" if lines else "the file is empty"


def _parts(content_type: str, body: bytes) -> dict[str, tuple[str, bytes]]:
    """The fields of a multipart form: name to file name and bytes."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    found: Message = BytesParser(policy=HTTP).parsebytes(head + body)
    parts = found.get_payload()
    named: dict[str, tuple[str, bytes]] = {}
    for part in parts if isinstance(parts, list) else ():
        assert isinstance(part, Message)
        match = re.search(r'\bname="([^"]*)"', part.get("content-disposition", ""))
        payload = part.get_payload(decode=True)
        if match and isinstance(payload, bytes):
            named[match[1]] = (part.get_filename() or "", payload)
    return named
