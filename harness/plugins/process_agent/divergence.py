"""What is done when a process that was started again does something else than is recorded: never in silence."""

from harness.api.agent_kinds import SessionJournal
from harness.api.records import Boundary, Diverged
from harness.api.settings import OnDivergence
from harness.errors import AgentDiverged, EnvironmentDiverged, InfraError
from harness.plugins.process_agent.events import Broken, Inbox, SessionOver
from harness.plugins.process_agent.recording import Recording

MOST_OF_A_REASON = 500


class Divergence:
    """The policy of one episode."""

    def __init__(self, policy: OnDivergence, journal: SessionJournal, inbox: Inbox, recording: Recording) -> None:
        self._policy = policy
        self._journal = journal
        self._inbox = inbox
        self._recording = recording
        self.delivered = 0
        """Steps whose results this process has been given."""

    async def found(self, boundary: Boundary, what: str, *, request: str | None = None) -> None:
        """Record a divergence; returns only if the attempt goes on without the rest of its recording.

        Raises:
            SessionOver: It does not.
        """
        left = self._recording.drop()
        rest = " and ".join(f"{count} recorded {name}" for name, count in left.items() if count)
        why = f"the agent's process diverged: {what[:MOST_OF_A_REASON]}; {rest or 'nothing recorded'} left"
        await self._journal.keep(
            lambda: Diverged(
                boundary=boundary,
                step=self.delivered + 1,
                why=why,
                policy=self._policy.value,
                request=request,
                at=self._journal.now(),
            )
        )
        error: InfraError
        match self._policy:
            case OnDivergence.keep:
                return
            case OnDivergence.restart:
                error = EnvironmentDiverged(f"{why} (resume.on_divergence=restart)")
            case OnDivergence.fail:
                error = AgentDiverged(f"{why} (resume.on_divergence=fail)")
        self._inbox.put(Broken(error))
        raise SessionOver(str(error))
