"""What readers of a rate have to know when the agent was a process that nothing confined."""

from harness.reports.trials import amount

UNCONFINED = (
    "it could read what the user can, the task files with their answers and the journals included, and use the network"
)
"""Of a process without a sandbox."""


def unconfined_notes(episodes: int) -> tuple[str, ...]:
    """One sentence; () without such an episode."""
    if not episodes:
        return ()
    return (f"the agent's process was not confined in {amount(episodes, 'episode')} (agent.sandbox): {UNCONFINED}",)
