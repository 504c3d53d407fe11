"""A scripted person: reads the page at which tasks are played, and uses it with a real mouse and a real keyboard."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Page

Step = Mapping[str, Any]
Deed = tuple[str, Step, str]
"""What is done, for which step of the plan, and the text of it."""


def plans(path: Path, tasks: Sequence[int]) -> dict[str, list[Deed]]:
    """What a person does with mouse and keyboard to follow the plans of some tasks."""
    entries = json.loads(path.read_bytes())
    return {
        f"Task {one['task_id']}": [deed for step in one["steps"] for deed in _deeds(step)]
        for one in entries
        if one["task_id"] in tasks
    }


def _deeds(step: Step) -> Iterator[Deed]:
    match step["do"]:
        case "type":
            yield "click", step, ""
            if step.get("clear"):
                yield "press", step, "Control+a"
            yield ("enter" if step.get("enter") else "type"), step, step["text"]
        case "select":
            yield "click", step, ""
            yield "enter", step, step["option"]
        case "press":
            yield "press", step, step["key"]
        case "stop":
            yield "stop", step, step.get("answer", "")
        case do:
            yield do, step, ""


@dataclass
class Person:
    """Plays what is shown, one task after the other."""

    plans: Mapping[str, Sequence[Deed]]
    acts: int = 0
    """What was done so far."""
    stops: int = 0
    _places: dict[str, dict[int, int]] = field(default_factory=dict)
    """Task to step to the place in its plan: after a kill, the page says which step it is."""

    async def play(self, page: Page, address: str, until: Callable[["Person"], bool]) -> None:
        """Play until something holds, which is asked after each action."""
        await page.goto(address)
        seen = ""
        while not until(self):
            waits = f'body[data-phase=turn]:not([data-turn="{seen}"]), body[data-phase=paused]'
            await page.locator(waits).wait_for(state="attached", timeout=60_000)
            if await page.locator("body").get_attribute("data-phase") == "paused":
                await page.locator("#begin").click()
                seen = ""
                await page.locator("body:not([data-phase=paused])").wait_for(state="attached")
                continue
            seen = await page.locator("body").get_attribute("data-turn") or ""
            await self._act(page)

    async def _act(self, page: Page) -> None:
        label = await page.locator("#label").inner_text()
        number = int((await page.locator("#step").inner_text()).removeprefix("Step "))
        places = self._places.setdefault(label, {1: 0})
        at = places[number]
        deed = self.plans[label][at]
        places[number + 1] = at + await self._done(page, deed)
        self.acts += 1

    async def _done(self, page: Page, deed: Deed) -> int:
        """Whether the deed is done, and not only scrolled for."""
        do, step, text = deed
        match do:
            case "click" | "check" | "uncheck" | "hover":
                return await self._point(page, step, "move" if do == "hover" else "click")
            case "type" | "enter":
                await page.locator("#screen").focus()
                await page.keyboard.type(text)  # the first letter leads to the field
                await page.get_by_role(
                    "button", name="Type, then Enter" if do == "enter" else "Type", exact=True
                ).click()
            case "press":
                await page.locator("#keys").fill(text)
                await page.keyboard.press("Enter")
            case "goto":
                raise AssertionError("addresses of plans are placeholders")
            case "go_back" | "go_forward" | "new_tab" | "close_tab":
                await page.locator(f"[data-act={do}]").click()
            case "tab_focus":
                await page.locator("#tabs button").nth(step["index"]).click()
            case "scroll":
                await page.locator("#screen").hover()
                await page.mouse.wheel(0, 400 if step.get("direction", "down") == "down" else -400)
            case "stop":
                self.stops += 1
                await page.locator("#answer").fill(text)
                await page.get_by_role("button", name="Done", exact=True).click()
            case other:
                raise AssertionError(f"nobody has taught the person to {other}")
        return 1

    async def _point(self, page: Page, step: Step, kind: str) -> int:
        rows: list[dict[str, str]] = await page.locator("#elements button").evaluate_all(
            "all => all.map(one => ({...one.dataset}))"
        )
        found = [row for row in rows if _fits(step, row)]
        if len(found) <= step.get("nth", 0):
            await page.get_by_role("button", name="Scroll down").click()
            return 0
        row = found[step.get("nth", 0)]
        await page.locator("#mouse").select_option(kind)
        await page.locator("#shot").scroll_into_view_if_needed()
        box = await page.locator("#shot").bounding_box()
        assert box is not None
        scale = box["width"] / 1280
        await page.mouse.click(box["x"] + (int(row["x"]) + 0.5) * scale, box["y"] + (int(row["y"]) + 0.5) * scale)
        return 1


def _fits(step: Step, row: Mapping[str, str]) -> bool:
    if step.get("role") not in (None, row["role"]):
        return False
    name = step.get("name")
    return name is None or (name == row["name"] if step.get("exact", True) else name in row["name"])
