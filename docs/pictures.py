"""Takes pictures of the report of a run: docs/pictures.py RUN_FOLDER TASK NAME.

Those of docs/pages/process_agents.md have the name `process`, those of docs/pages/report.md `run`.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from harness.browser.driver.executable import find

FOLDER = Path(__file__).resolve().parent / "pages" / "pictures"
WIDTH, HEIGHT = 1000, 640


def main(run: Path, task: str, name: str) -> None:
    """Write `NAME_report.png`, the top of the report, `NAME_task.png`, that of a task, and `NAME_step.png`, a step."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver, driver.chromium.launch(executable_path=find()) as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto((run.resolve() / "report" / "index.html").as_uri())
        page.screenshot(path=FOLDER / f"{name}_report.png")
        page.goto((run.resolve() / "report" / "tasks" / f"{task}.html").as_uri())
        page.screenshot(path=FOLDER / f"{name}_task.png")
        step = page.locator("#step-2")
        step.scroll_into_view_if_needed()
        step.screenshot(path=FOLDER / f"{name}_step.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:4])
