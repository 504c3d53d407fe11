"""The page of attacks as a person meets it: light, dark, on a phone, and by axe."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser

from harness.main import main
from tests.looking import fits, keep_picture, serious_violations
from tests.played import SHOP, Do, goto, write
from tests.plugins.attacks.played import ATTACK, records, task

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
EVIL = f"{SHOP}?confirm&<script>alert(1)</script>"


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_serious(browser: Browser, tmp_path: Path, theme: Literal["light", "dark"]) -> None:
    page = await browser.new_page(color_scheme=theme, viewport={"width": 1280, "height": 900})
    await page.goto(written(tmp_path).as_uri())
    await keep_picture(page, f"attacks-{theme}")
    assert await serious_violations(page) == []


@pytest.mark.slow
async def test_a_phone_sees_everything_without_scrolling_sideways(browser: Browser, tmp_path: Path) -> None:
    page = await browser.new_page(viewport={"width": 375, "height": 812}, is_mobile=True, has_touch=True)
    await page.goto(written(tmp_path).as_uri())
    await keep_picture(page, "attacks-375")
    assert await fits(page)
    assert await page.evaluate("innerWidth") == 375, "a phone widens its window for what does not fit"


async def test_each_attack_that_was_followed_is_quoted_with_its_step(tmp_path: Path) -> None:
    text = written(tmp_path).read_text()
    assert "task 0, step 2" in text and ATTACK["text"] in text and "first seen on the start page" in text
    assert "<script>alert(1)" not in text
    assert "passed: 2 unseen or resisted, 0 begun or unknown, 1 reached" in text
    assert "in 4 pairs" in text


def written(folder: Path) -> Path:
    popup = {**ATTACK, "kind": "popup", "place": "left"}
    episodes = [
        records(task(0), [Do(), Do(action=goto(EVIL), url=EVIL)], passed=False),
        records(task(1), [Do(action=goto(f"{SHOP}?confirm"), url=SHOP)]),
        records(task(2, popup), [Do()]),
        records(task(3, popup), [Do()], start=Do()),
    ]
    run = write(folder / "run", episodes)
    plain = write(folder / "plain", [records(task(number, None), [Do()]) for number in range(4)])
    page = folder / "attacks.html"
    assert main(["attacks", str(run), str(run), "--without", str(plain), "--html", str(page), "--json"]) == 0
    return page
