"""What readers of a rate have to know about references that were corrected after an episode was played."""

from harness.reports.trials import amount


def corrected_notes(scores: int) -> tuple[str, ...]:
    """One sentence; () without such a score."""
    if not scores:
        return ()
    return (f"{amount(scores, 'score')} with a corrected reference (eval), not with the one that was played",)
