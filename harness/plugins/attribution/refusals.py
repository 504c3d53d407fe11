"""Why an action was refused, by the sentence that the agent was shown."""

import re

from harness.runs.attribution import ENVIRONMENT, MODEL

_KINDS = (
    (ENVIRONMENT, "site not available", r"net::ERR_(?!BLOCKED|INVALID|UNKNOWN_URL|ABORTED)|\bno answer within\b"),
    (MODEL, "ambiguous target", r"strict mode violation|resolved to \d+ elements|more than one element|ambiguous"),
    (
        MODEL,
        "element not there",
        r"there is no (?:element|tab|earlier|later)|no longer (?:on|visible)|has no option|does not select an element",
    ),
)


def kind_of_refusal(why: str) -> tuple[str, str]:
    """Class and rule."""
    return next(((kind, rule) for kind, rule, said in _KINDS if re.search(said, why)), (MODEL, "action refused"))
