"""When an episode ends without the agent saying so."""

from dataclasses import dataclass

from harness.choices import MAX_NUMBER, ValueRange
from harness.settings.fields import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """What ends an episode; null = no limit."""

    max_steps: int = 30
    """Actions of an episode."""
    # WebArena's rules. Null where a benchmark has none: a large number is compared all the same, and reads like a rule.
    parsing_failures: int | None = 3
    """Unreadable replies in a row that end an episode; null = no number of them does."""
    repeated_actions: int | None = 3
    """Equal actions that end an episode, by WebArena's rule; null = no number of them does."""
    max_tokens: int | None = None
    """Tokens of prompts and replies of an attempt."""
    max_cost_usd: float | None = None
    """Cost of the replies of an attempt, by `llm.prices`."""
    max_working_s: float | None = setting(None, bounds=ValueRange(0, MAX_NUMBER))
    """Seconds that an attempt works; waiting for locks, limits and outages does not count."""
    # For agents that are a process: 12 requests of one filled 481 MB of a disk that all episodes share.
    max_disk_mb: int | None = setting(2048, added=True, bounds=ValueRange(1, 1 << 30))
    """MiB that an attempt keeps in the run folder: its records, screenshots, pages, requests and answers."""
