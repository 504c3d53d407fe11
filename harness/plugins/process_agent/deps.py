"""What the two boundaries of an agent's process share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.api.agent_kinds import SessionJournal
from harness.plugins.process_agent.divergence import Divergence
from harness.plugins.process_agent.events import Inbox
from harness.plugins.process_agent.intake import Intake
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.recording import Recording
from harness.plugins.process_agent.violations import Violations


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeps:
    """What a session of one episode needs."""

    plan: ProcessPlan
    journal: SessionJournal
    inbox: Inbox
    recording: Recording
    divergence: Divergence
    violations: Violations
    intake: Intake = field(default_factory=Intake)
    canonical: Callable[[str], str] = str
    """What is sent to the model in the place of a text of the process, which may see the real addresses of sites."""
