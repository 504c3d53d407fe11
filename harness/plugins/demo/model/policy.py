"""The one policy behind all wire formats: which of its parts answers follows from what a request offers."""

from dataclasses import replace

from harness.plugins.demo.model.browser_use_policy import is_browser_use, reply_to_browser_use
from harness.plugins.demo.model.computer_policy import reply_with_computer
from harness.plugins.demo.model.conversation import Conversation
from harness.plugins.demo.model.playwright_mcp_policy import offers_playwright, reply_with_playwright
from harness.plugins.demo.model.scripted_policy import ScriptedAnswer, reply
from harness.plugins.demo.model.scripts import Scripts
from harness.plugins.demo.model.tool_calls import as_calls
from harness.plugins.demo.model.tool_policy import is_conversation, reply_with_calls


def answer(asked: Conversation, plans: Scripts) -> ScriptedAnswer:
    """Answer one request; the same request always gets the same answer."""
    if asked.computer:
        return reply_with_computer(asked.messages, plans, openai=asked.computer in ("computer", "computer_use_preview"))
    if is_browser_use(asked.messages):
        return reply_to_browser_use(asked.messages, plans)
    if offers_playwright(asked.tools):
        return reply_with_playwright(asked.messages, plans)
    if asked.tools and is_conversation(asked.messages):
        return reply_with_calls(asked.messages, plans)
    said = reply(asked.messages, plans)
    calls = as_calls(said.text, asked.tools)
    return replace(said, text="", calls=calls) if calls else said
