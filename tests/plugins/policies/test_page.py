"""The page of policies as a person meets it: light, dark, on a phone, and by axe."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser

from harness.main import main
from tests.looking import fits, keep_picture, serious_violations
from tests.plugins.policies.test_policies import filled

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_serious(browser: Browser, tmp_path: Path, theme: Literal["light", "dark"]) -> None:
    page = await browser.new_page(color_scheme=theme, viewport={"width": 1280, "height": 900})
    await page.goto(written(tmp_path).as_uri())
    await keep_picture(page, f"policies-{theme}")
    assert await serious_violations(page) == []


@pytest.mark.slow
async def test_a_phone_sees_everything_without_scrolling_sideways(browser: Browser, tmp_path: Path) -> None:
    page = await browser.new_page(viewport={"width": 375, "height": 812}, is_mobile=True, has_touch=True)
    await page.goto(written(tmp_path).as_uri())
    await keep_picture(page, "policies-375")
    assert await fits(page)
    assert await page.evaluate("innerWidth") == 375, "a phone widens its window for what does not fit"


def written(folder: Path) -> Path:
    run = filled(folder / "run")
    assert main(["policies", str(run), str(run), "--html", str(folder / "policies.html"), "--json"]) == 3
    return folder / "policies.html"
