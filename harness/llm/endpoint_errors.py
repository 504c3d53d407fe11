"""Maps errors of a provider's package to `RetryableError`, `RequestRefused` or `ModelRejected`.

Retried (an allow-list): timeouts, connection errors, 408, 409, 424, 429, redirects and 5xx but 501. 400, 413, 422 and
501 reject one request, because its prompt is too long or was filtered, or asks for what the endpoint does not have; so
does a 403 for a flagged prompt, and a 429 for a prompt that is larger than the limit itself. If the cause is a setting,
no request is ever answered: one whose parameter the endpoint names rejects all at once, any other is detected by the
rate limiter. A redirect is never followed; several in a row mean a wrong address (`exchange`). Every other status
rejects all requests, and so does an exhausted account, whatever the status: the user must act. The key never gets into
a message.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.api import RetryableError
from harness.errors import ModelRejected, RequestRefused
from harness.llm.answer import NoAnswer
from harness.llm.connection import HttpStatusError, SdkErrors
from harness.llm.endpoint import Endpoint
from harness.llm.rate_limit_headers import read_headers
from harness.llm.retry_after import retry_after_s

_RETRIED = {408, 409, 424, 429}
"""424: Text Generation Inference, when it failed while generating."""
_READ = 10_000
"""Characters of an error that are looked at."""
_EXHAUSTED = ("insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted")
_NO_CREDIT = re.compile(r"(?i)credit balance is too low|reached your (?:specified )?(?:workspace )?API usage limits")
"""Anthropic's words for it, which come with 400 and 429 and no code."""
_OF_THE_REQUEST = {400, 413, 422, 501}
_FLAGGED = re.compile(r"(?i)\b(?:flagged|moderation|prompt injection)\b")
_TOO_LARGE = re.compile(r"(?i)Request too large|must be reduced in order to run")
_LIMIT = re.compile(r"Limit (\d+), Requested (\d+)")
_OF_THE_PROMPT = """
    invalid_prompt context_length_exceeded bio_policy misalignment_policy_violation invalid_image invalid_image_format
    invalid_base64_image invalid_image_url invalid_image_mode image_too_large image_too_small image_file_too_large
    image_parse_error image_content_policy_violation unsupported_image_media_type empty_image_file
    """.split()
_STATUS_OF_CODE = (
    {str(status): status for status in (400, 402, 403, 413, 422, 429)}
    | dict.fromkeys(_OF_THE_PROMPT, 400)
    | dict.fromkeys(("rate_limit_exceeded", *_EXHAUSTED), 429)
)
"""What the code of an error in an answer with status 200 stands for: an HTTP status, or a word of the Responses API."""
_FIX = {401: "check {}.api_key", 403: "check {}.api_key", 404: "check {}.model and {}.base_url"}
_UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
_UNSUPPORTED = re.compile(
    r"(?i)\b(?:unsupported|unrecognized|unknown|unexpected)\b.*\b(?:parameter|argument|field|value|key)\b"
    r"|\b(?:not supported|does not support|not permitted|deprecated)\b"
)
_INSTEAD = {
    "max_tokens": "set {0}.max_tokens_field=max_completion_tokens, or {0}.max_tokens=null to send no limit",
    "max_completion_tokens": "set {0}.max_tokens_field=max_tokens, or {0}.max_tokens=null to send no limit",
    "max_output_tokens": "set {0}.max_tokens=null",
    "temperature": "set {0}.temperature=null to send none",
    "top_p": "set {0}.top_p=null to send none",
    "seed": "set {0}.seed=null",
    "reasoning_effort": "set {0}.reasoning_effort=null",
}
"""What to do about a parameter that an endpoint does not take: no request with it is ever answered."""


class ReplyRefused(Exception):
    """An answer that `http_client` does not read; the message gives the reason and continues `the answer …`."""


@contextmanager
def translate_errors(endpoint: Endpoint, sdk: SdkErrors, *, model: str, timeout_s: float) -> Iterator[None]:
    """Translate what one attempt raises.

    Raises:
        RetryableError: Another attempt may succeed.
        RequestRefused: No attempt can; another prompt may.
        ModelRejected: No request can succeed.
    """
    try:
        yield
    except (TimeoutError, sdk.timeout) as exc:
        raise RetryableError(f"no answer within {timeout_s:g} s") from exc
    except ReplyRefused as exc:
        raise RequestRefused(f"the answer of {endpoint.label} {exc}") from exc
    except sdk.connection as exc:
        # The packages take what a hook of the HTTP client raises for an error of the connection.
        if isinstance(exc.__cause__, ReplyRefused):
            raise RequestRefused(f"the answer of {endpoint.label} {exc.__cause__}") from exc
        cause = str(exc.__cause__ or exc) or type(exc.__cause__).__name__
        raise RetryableError(endpoint.redact(f"connection failed: {cause}")) from exc
    except sdk.status as exc:
        raise _translated(exc, endpoint, model) from exc


def _translated(exc: Any, endpoint: Endpoint, model: str) -> Exception:
    """The error of ours that an answer with an error status is."""
    status, said, error = exc.status_code, _said(exc, endpoint), _error_in(exc.body)
    answered = exc.response.status_code
    told = f"HTTP {status}" if status == answered else f"HTTP {answered} and error {error.get('code')}"
    if status == 402 and _is_busy(error):
        status = 429
    exhausted = _is_exhausted(status, error, said)
    if status in _OF_THE_REQUEST and (parameter := _unsupported(error, said)):
        return ModelRejected(
            f"{endpoint.label} does not take {parameter} for model {model!r} ({told}: {said});"
            f" {_INSTEAD[parameter].format(endpoint.group)}, then run again"
        )
    # A prompt that is too long or filtered fails its own task: taken for wrong settings, it ended runs of hundreds.
    if not exhausted and (status in _OF_THE_REQUEST or _is_of_the_prompt(exc, error, said)):
        return RequestRefused(f"{endpoint.label} rejected this request to model {model!r} with {told} ({said})")
    if not exhausted and (status in _RETRIED or status >= 500):
        now, headers = time.time(), {name.lower(): value for name, value in exc.response.headers.items()}
        wait_s = retry_after_s(headers, status=status, now=now)
        limits = read_headers(headers, now)
        return RetryableError(f"{told}: {said}", wait_s=wait_s, refused=status == 429, limits=limits)
    # Retried first: one bad answer of a proxy would end the run. Several in a row are the address (`exchange`).
    if exc.response.is_redirect:
        to = endpoint.redact(exc.response.headers.get("location", "no address"))[:200]
        return RetryableError(
            f"{endpoint.label} answers HTTP {status}, a redirect to {to}; redirects are not followed:"
            " set base_url to the final address",
            redirected=True,
        )
    fix = "check the account's quota" if exhausted else _FIX.get(status, "check the {} settings")
    return ModelRejected(
        f"{endpoint.label} rejected model {model!r} with {told} ({said});"
        f" {fix.format(*[endpoint.group] * 2)}, then run again"
    )


def check_error(found: NoAnswer, response: Any, endpoint: Endpoint, model: str) -> None:
    """Raise what an error in an answer with status 200 comes to, if it stands for a status.

    Not for every status: a gateway passes on those of its providers, and for 401 or 404 it may choose another one.
    """
    status = _STATUS_OF_CODE.get(str(found.error.get("code")))
    if status is not None:
        named = HttpStatusError(response, status_code=status, body=found.error)
        raise _translated(named, endpoint, model) from named


def _error_in(body: Any) -> Mapping[str, Any]:
    """The object that says what is wrong, which the packages give with or without what is around it."""
    match body:
        case {"error": dict(error)} | dict(error):
            return error
    return {}


def _is_exhausted(status: int, error: Mapping[str, Any], said: str) -> bool:
    """Whether no request is answered until somebody pays."""
    # 402 is OpenRouter's word for an account without credit.
    named = (error.get("code"), error.get("type"))
    return status == 402 or any(name in _EXHAUSTED for name in named) or _NO_CREDIT.search(said) is not None


def _is_busy(error: Mapping[str, Any]) -> bool:
    """Whether an account has credit, and too many requests on their way that will cost it."""
    match error:
        case {"metadata": {"limit_source": "openrouter_in_flight_budget"}}:
            return True
    return False


def _is_of_the_prompt(exc: Any, error: Mapping[str, Any], said: str) -> bool:
    """Whether a status that means all requests otherwise means this one."""
    match exc.status_code, error:
        case 403, {"metadata": {"flagged_input": _} | {"reasons": _}}:
            return True
        case 403, _:  # the endpoint had taken the key when it began to answer
            return exc.response.is_success or _FLAGGED.search(said) is not None
        case 429, _ if _TOO_LARGE.search(said):
            # OpenAI says the same of a request that only has to wait for its share of the limit.
            limit = _LIMIT.search(said)
            return limit is None or int(limit[1]) < int(limit[2])
    return False


def _unsupported(error: Mapping[str, Any], said: str) -> str:
    """The parameter of the settings that the endpoint takes from nobody, or not with this model; "" = it is none."""
    code, named = error.get("code"), error.get("param")
    if not (isinstance(code, str) and code in _UNSUPPORTED_CODES) and not _UNSUPPORTED.search(said):
        return ""
    found = re.search(rf"\b({'|'.join(_INSTEAD)})\b", said)
    return named if isinstance(named, str) and named in _INSTEAD else found[1] if found else ""


def _said(exc: Any, endpoint: Endpoint) -> str:
    """The server's message on one line, redacted before it is cut, because half a key is a secret, too."""
    match exc.body:
        case {"message": str(message)} | {"error": {"message": str(message)}} if message.strip():
            text = message
        case {"detail": str(message)} if message.strip():
            text = message
        case str(message) if message.strip():
            text = message
        case _:
            text = exc.response.text or exc.response.reason_phrase
    text = " ".join(re.sub(r"<[^<>]*>", " ", endpoint.redact(text)[:_READ]).split()).rstrip(".")
    return text if len(text) <= 300 else f"{text[:300]}…"
