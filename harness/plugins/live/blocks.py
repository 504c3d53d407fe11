"""Recognises pages that keep visitors out: captchas, bot checks, rate limits. Conservative: every sign is listed here.

A page is a block page in three cases: its answer says so in a header, or its address does; its status is 403, 429 or
503 and it has a mark of a known keeper; or it is an interstitial: little text, which asks for a check, and the frames,
scripts or elements of a known captcha. A login form with a captcha is not a block page, nor is a plain 403.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STATUSES = frozenset({403, 429, 503})
_SHORT = 700
"""Characters of visible text; an interstitial has hardly any."""
_MOST = 60
FACTS = """() => {
  const text = (document.body ? document.body.innerText : "") || "";
  const list = (selector) => Array.from(document.querySelectorAll(selector)).slice(0, 60);
  return {
    title: String(document.title).slice(0, 300), text: text.slice(0, 4000), length: text.length,
    sources: list("iframe[src], script[src]").map((one) => String(one.src).slice(0, 500)),
    ids: list("[id]").map((one) => String(one.id).slice(0, 80)),
    fields: document.querySelectorAll("input:not([type=hidden]):not([type=submit]), textarea, select").length
  };
}"""
"""What is looked at, as a script of the page; a page may lie in it, and is then left out as blocked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What a page is recognised by."""

    url: str
    status: int | None = None
    headers: Mapping[str, str] | None = None
    title: str = ""
    text: str = ""
    length: int = 0
    sources: Sequence[str] = ()
    """Addresses of frames and scripts."""
    ids: Sequence[str] = ()
    fields: int = 0
    """Inputs that a visitor fills in."""

    @classmethod
    def of(cls, found: Any, **answer: Any) -> "PageFacts":
        """Read what the script gave; anything else counts as no block."""
        tree = found if isinstance(found, dict) else {}

        def texts(key: str) -> tuple[str, ...]:
            values = tree.get(key)
            return tuple(str(one) for one in values[:_MOST]) if isinstance(values, list) else ()

        def number(key: str) -> int:
            value = tree.get(key)
            return int(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0

        return cls(
            title=str(tree.get("title", ""))[:300],
            text=str(tree.get("text", ""))[:4000],
            length=number("length"),
            sources=texts("sources"),
            ids=texts("ids"),
            fields=number("fields"),
            **answer,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keeper:
    """Who keeps visitors out, and the signs of it, in small letters."""

    name: str
    headers: tuple[tuple[str, str], ...] = ()
    """Header and value that say so whatever the status."""
    sources: tuple[str, ...] = ()
    """Parts of addresses of the frames and scripts of a captcha."""
    ids: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Texts that count with one of `STATUSES` only."""
    paths: tuple[str, ...] = ()
    """Parts of the address of the page itself."""


KEEPERS = (
    _Keeper(
        name="Cloudflare",
        headers=(("cf-mitigated", "challenge"),),
        sources=("/cdn-cgi/challenge-platform/", "challenges.cloudflare.com/"),
        ids=("cf-error-details", "challenge-form", "cf-wrapper"),
        titles=("just a moment...", "attention required! | cloudflare", "access denied | "),
        texts=("error 1020", "error 1015", "cloudflare ray id", "performance & security by cloudflare"),
    ),
    _Keeper(name="hCaptcha", sources=("hcaptcha.com/",), texts=("hcaptcha",)),
    _Keeper(
        name="reCAPTCHA",
        sources=("google.com/recaptcha/", "recaptcha.net/recaptcha/"),
        texts=("recaptcha", "our systems have detected unusual traffic"),
        paths=("google.com/sorry/",),
    ),
    _Keeper(name="DataDome", headers=(("x-datadome", "protected"),), sources=("captcha-delivery.com/",)),
    _Keeper(name="PerimeterX", sources=("captcha.px-cdn.net/", "/px/captcha"), ids=("px-captcha",)),
    _Keeper(name="Imperva", sources=("/_incapsula_resource",), texts=("incapsula incident id",)),
    _Keeper(name="Akamai", texts=("you don't have permission to access", "errors.edgesuite.net")),
    _Keeper(
        name="a bot check",
        titles=("robot check", "are you a robot?", "pardon our interruption", "verify you are human"),
        texts=(
            "verify you are human",
            "are you a robot",
            "unusual traffic",
            "automated access",
            "complete the captcha",
        ),
    ),
    _Keeper(name="a rate limit", titles=("too many requests", "429 too many requests"), texts=("too many requests",)),
)
_WORDS = (
    *("just a moment", "checking your browser", "verify you are human", "verifying you are human", "are you a robot"),
    *(
        "not a robot",
        "unusual traffic",
        "security check",
        "complete the captcha",
        "press & hold",
        "access to this page",
    ),
)
"""What an interstitial that came with status 200 says."""
_HEADER_WITH_STATUS = frozenset({"x-datadome"})
"""Of headers that also other answers of the same keeper have."""


def recognise(page: PageFacts) -> str:
    """What blocked the visitor, and how that was recognized; "" = nothing."""
    refused = page.status in STATUSES
    for keeper in KEEPERS:
        if sign := _sign(keeper, page, refused=refused):
            status = f" with status {page.status}" if page.status is not None else ""
            return f"{page.url[:200]} answered{status} with a page of {keeper.name} ({sign})"
    return ""


def _sign(keeper: _Keeper, page: PageFacts, *, refused: bool) -> str:
    headers = {name.lower(): value.lower() for name, value in (page.headers or {}).items()}
    for name, value in keeper.headers:
        if value in headers.get(name, "") and (refused or name not in _HEADER_WITH_STATUS):
            return f"header {name}"
    if any(path in page.url.lower() for path in keeper.paths):
        return "its address"
    title, text = page.title.strip().lower(), page.text.lower()
    source = next((one for one in keeper.sources if any(one in found.lower() for found in page.sources)), "")
    mark = source or next((one for one in keeper.ids if one in page.ids), "")
    if refused:
        words = next((one for one in keeper.titles if title.startswith(one)), "")
        return mark or words or next((one for one in keeper.texts if one in text), "")
    is_short = page.length <= _SHORT and page.fields <= 1
    return mark if is_short and any(word in title or word in text for word in _WORDS) else ""
