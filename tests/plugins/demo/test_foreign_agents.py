"""The scripted endpoint asked by agents of others: shaped as their packages ask, each request built here."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.plugins.demo.model.conversation import Conversation
from harness.plugins.demo.model.policy import answer
from harness.plugins.demo.model.scripted_policy import MAX_SEARCHES, ScriptedAnswer
from harness.plugins.demo.model.scripts import Script, Scripts, ScriptStep

INTENT = "Write to the shop."
STEPS = (
    ScriptStep(do="click", role="link", name="Contact"),
    ScriptStep(do="type", role="textbox", name="Your e-mail", text="a@b.example", enter=True),
    ScriptStep(do="select", role="combobox", name="Topic", option="Other"),
    ScriptStep(do="click", role="checkbox", name="Send me a copy"),
    ScriptStep(do="press", key="Enter"),
    ScriptStep(do="stop", answer="Sent."),
)
PLANS = Scripts(by_intent={INTENT: Script(task_id="7", steps=STEPS)})
DOM = """[Start of page]
[35]<a />
\tThimble and Oak
*[81]<a />
\tContact
[2]<form />
\tYour e-mail
\t[90]<input type=email required=true />
\tTopic
\t|scroll element[93]<select compound_components=(role=listbox,count=2,options=Returns|Other) />
\t[95]<input type=checkbox checked=false />
\tSend me a copy
[End of page]"""
SNAPSHOT = """### Snapshot
```yaml
- generic [active] [ref=e1]:
  - link "Contact" [ref=e14] [cursor=pointer]:
    - /url: /contact
  - textbox "Your e-mail" [ref=e20]
  - combobox "Topic" [ref=e21]:
    - option "Returns" [selected]
  - 'checkbox "Send me a copy" [ref=e22]'
```"""


def browser_use(page: str, *memories: str, intent: str = INTENT, plans: Scripts = PLANS) -> ScriptedAnswer:
    """What browser-use is answered after steps with these memories."""
    history = "".join(f"\n<step>\n{memory}\nResult\nClicked a.\n" for memory in memories)
    text = (
        f"<user_request>\n{intent}\n</user_request>\n\n<agent_history>\nAgent initialized{history}\n</agent_history>\n\n"
        f"<browser_state>\nCurrent tab: 25A7\nTab 25A7: http://a/ - A\nTab 99B1: http://b/ - B\n{page}\n</browser_state>"
    )
    messages = ({"role": "system", "content": "You are"}, {"role": "user", "content": [{"type": "text", "text": text}]})
    return answer(Conversation(model="m", messages=messages), plans)


def said(answered: ScriptedAnswer) -> dict[str, Any]:
    return dict(json.loads(answered.text))


def test_browser_use_is_led_through_a_plan() -> None:
    memories: list[str] = []
    actions = []
    for number in range(len(STEPS)):
        answered = browser_use(DOM, *memories)
        assert (answered.task_id, answered.step) == ("7", number + 1)
        memories.append(said(answered)["memory"])
        actions += said(answered)["action"]
    assert actions == [
        {"click": {"index": 81}},
        {"input": {"index": 90, "text": "a@b.example", "clear": False}},
        {"send_keys": {"keys": "Enter"}},
        {"select_dropdown": {"index": 93, "text": "Other"}},
        {"click": {"index": 95}},
        {"send_keys": {"keys": "Enter"}},
        {"done": {"text": "Sent.", "success": True, "files_to_display": []}},
    ]


def test_browser_use_looks_for_what_is_not_in_sight_and_gives_up_in_the_end() -> None:
    memories: list[str] = []
    for _ in range(MAX_SEARCHES):
        one = said(browser_use("empty page", *memories))
        assert [*one["action"][0]] == ["scroll"]
        memories.append(one["memory"])
    assert said(browser_use("empty page", *memories))["action"][0]["done"]["success"] is False
    found = said(browser_use(DOM, *memories))
    assert found["action"] == [{"click": {"index": 81}}] and "1 of 6 actions; 0 searches" in found["memory"]


def test_browser_use_waits_for_a_tab_that_was_just_opened() -> None:
    loading = "[Start of page]\nEmpty DOM tree (you might have to wait for the page to load)\n[End of page]"
    memories: list[str] = []
    for _ in range(MAX_SEARCHES):
        one = said(browser_use(loading, *memories))
        assert one["action"] == [{"wait": {"seconds": 1}}]
        memories.append(one["memory"])
    assert said(browser_use(loading, *memories))["action"][0]["done"]["success"] is False
    stop = Scripts(by_intent={INTENT: Script(task_id="7", steps=(ScriptStep(do="close_tab"),))})
    assert said(browser_use(loading, plans=stop))["action"] == [{"wait": {"seconds": 1}}]


def test_browser_use_does_not_wait_for_a_small_page() -> None:
    small = f"<page_stats>Page appears empty - consider waiting - 0 links, 1 interactive</page_stats>\n{DOM}"
    assert "click" in said(browser_use(small))["action"][0]


@pytest.mark.parametrize(
    ("step", "action"),
    [
        (ScriptStep(do="tab_focus", index=1), {"switch": {"tab_id": "99B1"}}),
        (ScriptStep(do="close_tab"), {"close": {"tab_id": "25A7"}}),
        (ScriptStep(do="goto", url="http://c/"), {"navigate": {"url": "http://c/", "new_tab": False}}),
        (ScriptStep(do="hover", role="link", name="Contact"), {"click": {"index": 81}}),
    ],
)
def test_browser_use_says_steps_in_its_own_way(step: ScriptStep, action: dict[str, Any]) -> None:
    plans = Scripts(by_intent={INTENT: Script(task_id="7", steps=(step,))})
    assert said(browser_use(DOM, plans=plans))["action"] == [action]


def test_browser_use_with_another_objective_is_told_so() -> None:
    answered = browser_use(DOM, intent="Something else.")
    assert answered.task_id is None and said(answered)["action"][0]["done"]["success"] is False


def playwright(*calls: tuple[str, str], intent: str = INTENT) -> ScriptedAnswer:
    """What a loop with Playwright's tools is answered after calls with these results."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": intent}]
    for number, (name, result) in enumerate(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    tools = ({"name": "browser_snapshot"}, {"name": "browser_click"})
    return answer(Conversation(model="m", messages=tuple(messages), tools=tools), PLANS)


def one_call(answered: ScriptedAnswer) -> tuple[str, dict[str, Any]]:
    (call,) = answered.calls
    return call.name, dict(call.arguments)


def played(*done: str) -> Sequence[tuple[str, str]]:
    """Performed calls, and a look at the page after the last."""
    return [*((name, "### Page") for name in done), ("browser_snapshot", SNAPSHOT)]


def test_playwright_is_led_through_a_plan() -> None:
    assert one_call(playwright()) == ("browser_snapshot", {})
    click = {"element": "link Contact", "target": "e14"}
    assert one_call(playwright(*played())) == ("browser_click", click)
    assert one_call(playwright(("browser_snapshot", SNAPSHOT), ("browser_click", "### Page"))) == (
        "browser_snapshot",
        {},
    )
    typed = {"element": "textbox Your e-mail", "target": "e20", "text": "a@b.example", "submit": True}
    assert one_call(playwright(*played("browser_click"))) == ("browser_type", typed)
    done = ["browser_click", "browser_type"]
    chosen = {"element": "combobox Topic", "target": "e21", "values": ["Other"]}
    assert one_call(playwright(*played(*done))) == ("browser_select_option", chosen)
    done += ["browser_select_option"]
    assert one_call(playwright(*played(*done)))[1]["target"] == "e22"
    done += ["browser_click"]
    assert one_call(playwright(*played(*done))) == ("browser_press_key", {"key": "Enter"})
    ended = playwright(*played(*done, "browser_press_key"))
    assert (ended.text, ended.calls, ended.task_id) == ("Sent.", (), "7")


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        (playwright(intent="Something else."), "no plan"),
        (playwright(("browser_snapshot", "### Error\nIt is closed.")), "last call failed"),
        (playwright(("browser_snapshot", "### Snapshot\n```yaml\n```")), "no link 'Contact' in sight"),
        (playwright(*played(*["browser_click"] * 6)), "at its end"),
    ],
)
def test_playwright_is_told_what_does_not_fit(answered: ScriptedAnswer, why: str) -> None:
    assert why in answered.text and not answered.calls
