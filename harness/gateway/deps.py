"""What the two boundaries of an agent's process share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.gateway.divergence import Divergence
from harness.gateway.events import Inbox
from harness.gateway.intake import Intake
from harness.gateway.process_plan import ProcessPlan
from harness.gateway.recording import Recording
from harness.gateway.violations import Violations
from harness.protocols import SessionJournal


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
