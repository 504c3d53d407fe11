"""How the shipped evaluators word their findings, and the names of the dialects."""

from harness.api import Finding

WEBARENA = "webarena"
"""The scores of the benchmark's own code."""
CORRECTED = "corrected"
"""The scores that the benchmark's rules were meant to give."""
DIALECTS = (WEBARENA, CORRECTED)
"""As records name them."""
BLOCKED = "blocked"
"""How the reason begins why an episode is unscored that a captcha or block page stood in the way of."""


def finding(misses: list[str], praise: str) -> Finding:
    """Right when nothing is missed; the first few misses are named."""
    if not misses:
        return Finding(value=1.0, why=praise)
    more = f" (and {len(misses) - 3} more)" if len(misses) > 3 else ""
    return Finding(value=0.0, why="; ".join(misses[:3]) + more)


def shown(text: object, size: int = 120) -> str:
    """Quoted and cut, so that a ten-megabyte answer does not fill a journal."""
    whole = text if isinstance(text, str) else repr(text)
    return repr(whole[:size]) + (f"… ({len(whole)} characters)" if len(whole) > size else "")
