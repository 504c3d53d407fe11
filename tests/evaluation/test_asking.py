"""Tasks with a user, and agents that cannot ask: refused before anything is played."""

import pytest

from harness.cli import configured
from harness.errors import ConfigError
from harness.evaluation.builder import load_tasks

pytestmark = pytest.mark.integration

PROCESS = ("agent=process", "agent.command=[true]", "llm=none")


def test_an_agent_that_drives_the_browser_itself_is_refused() -> None:
    said = (
        r"40 of 40 tasks \(the first is 0\) have a user who can be asked, and agent=process drives the browser itself"
    )
    with pytest.raises(ConfigError, match=said):
        load_tasks(configured(["task=demo_policies", *PROCESS, "agent.browser=cdp"]))
    assert len(load_tasks(configured(["task=demo_policies", *PROCESS, "agent.browser=mcp"]))) == 40
    assert len(load_tasks(configured(["task=demo", *PROCESS, "agent.browser=cdp"]))) == 40
