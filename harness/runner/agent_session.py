"""The agent of one episode: the lane's own, or one that lasts as long as the episode is played."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from harness.api import Agent
from harness.protocols import AgentSession, Environment, SessionAgent, SessionJournal


@asynccontextmanager
async def agent_session(
    agent: Agent | SessionAgent, journal: SessionJournal, env: Environment
) -> AsyncIterator[AgentSession]:
    """The agent that decides while the context is open; what it has started ends with the context."""
    if isinstance(agent, SessionAgent):
        async with agent.session(journal, env) as session:
            yield session
    else:
        yield agent
