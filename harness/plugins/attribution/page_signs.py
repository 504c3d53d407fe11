"""What a recorded page says of the environment: that it keeps visitors out, asks for a login, or is broken.

Conservative: a page that has much to read, or much to fill in, is a page like others, whatever words are in it. The
text is that of the observation; the status of the answer is not recorded.
"""

import re
from dataclasses import dataclass

from harness.api import Observation

_SHORT = 900
"""Characters of an interstitial or an error page; they have hardly any."""
_FEW_FIELDS = 1
_CAPTCHA = (
    *("just a moment", "checking your browser", "verify you are human", "verifying you are human"),
    *("are you a robot", "not a robot", "are human", "unusual traffic", "security check", "captcha", "press & hold"),
)
_STATUS = r"(?:error\s*|http\s*|status\s*)?"
_DENIED = re.compile(
    rf"^\W*{_STATUS}(?:401|403|429|451)\b|\bforbidden\b|\baccess (?:was |is )?denied\b|\btoo many requests\b", re.I
)
_BROKEN = re.compile(
    rf"^\W*{_STATUS}5\d\d\b|internal server error|bad gateway|service unavailable|gateway time-?out"
    r"|this site can.t be reached|\berr_[a-z_]+",
    re.I,
)
_LOGIN = re.compile(r"\b(?:log|sign)[ -]?in\b|/(?:login|signin|sign-in|auth|session)\b", re.I)
# Within a line: of blank lines, or of brackets that nothing closes, each would be read to the end of the page.
_FIELD = re.compile(r"^[^\S\n]*(?:\[[^\]\n]*\] )?(?:textbox|searchbox|combobox|checkbox|radio|spinbutton)\b", re.M)
_PASSWORD = re.compile(r"^[^\S\n]*(?:\[[^\]\n]*\] )?textbox\b.*\bpassword\b", re.I | re.M)
_HEADING = re.compile(r"^[^\S\n]*(?:\[[^\]\n]*\] )?(?:heading|RootWebArea|StaticText) ['\"](.*?)['\"]", re.M)
CAPTCHA, DENIED, BROKEN, LOGIN = "captcha page", "access denied", "site error", "login wall"


@dataclass(frozen=True, slots=True)
class Sign:
    """What is wrong with a page."""

    rule: str
    said: str
    """The words that say so."""


def sign_of(page: Observation) -> Sign | None:
    """What is wrong with the environment on this page; None = nothing that can be told."""
    if page.url.startswith("chrome-error:"):
        return Sign(BROKEN, "the browser's own error page")
    body = page.text.partition("\n\n")[2] or page.text
    if len(body) <= _SHORT and len(_FIELD.findall(body)) <= _FEW_FIELDS:
        said = [page.title, *_HEADING.findall(body)[:4]]
        low = f"{page.title}\n{body}".casefold()
        if word := next((word for word in _CAPTCHA if word in low), ""):
            return Sign(CAPTCHA, word)
        for rule, pattern in ((DENIED, _DENIED), (BROKEN, _BROKEN)):
            if found := next((text for text in said if pattern.search(text)), ""):
                return Sign(rule, found)
    if _PASSWORD.search(body) and (_LOGIN.search(page.title) or _LOGIN.search(page.url)):
        return Sign(LOGIN, page.title)
    return None
