"""Forms that plug-ins send before an episode begins: as the user of the task, on sites that were reset, and never else."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from harness.api import SiteForm
from harness.browser.session import site_forms
from harness.browser.session.chromium import ChromiumPool
from harness.errors import PluginFailed
from harness.records import Episode, Opened, Task
from tests.browser.conftest import Answer, Asked, Visit, Web, a_task, chromium, html, server, web
from tests.browser.test_restoration import acted

__all__ = ["chromium", "server", "web"]
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FORM = SiteForm(url="http://shop.localhost/write", form="#post", fields={"title": "See http://shop.localhost/x"})
WRITTEN = {"metadata": {"written": True}, "mutates": True}


class Registered:
    """What the table of plug-ins would have."""

    def __init__(self) -> None:
        self.forms: Sequence[SiteForm] = (FORM,)

    def names(self) -> tuple[str, ...]:
        return ("written",)

    def find(self, _: str) -> "Registered":
        return self

    def __call__(self, task: Task, seed: int) -> Sequence[SiteForm]:
        return self.forms


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registered]:
    monkeypatch.setattr(site_forms, "SITE_FORMS", found := Registered())
    yield found


@pytest.fixture
def shop(web: Web) -> Web:
    titles: list[str] = []

    async def home(_: Asked) -> Answer:
        return html(f"<h1>Home</h1>{''.join(f'<p>{one}</p>' for one in titles)}")

    async def posted(asked: Asked) -> Answer:
        fields = parse_qs(asked.body)
        if asked.method != "POST" or fields.get("csrf") != ["7"]:
            return 403, {}, "no"
        titles.extend(fields["title"])
        return html("<p>Thanks</p>")

    web.pages |= {"/": home, "/posted": posted}
    web.page(
        "/write",
        "<form id=post method=post action=/posted><input type=hidden name=csrf value=7><input name=title></form>",
    )
    return web


def posts(web: Web) -> int:
    return sum(asked.method == "POST" for asked in web.asked)


async def test_it_is_sent_before_the_start_page_and_is_an_effect_of_step_0(
    shop: Web, chromium: ChromiumPool, registered: Registered
) -> None:
    task = a_task(shop, **WRITTEN)
    async with chromium.open(task, 0) as env:
        restored = await env.restore(task, Episode(), clean=("shop",))
        visit = Visit(env, restored.view)
        assert "See http://shop.localhost/x" in visit.text, "the site holds its real address, which is canonical here"
        assert "Tab 1" not in visit.text
        assert [(one.method, one.url) for one in restored.effects] == [("POST", "http://shop.localhost/posted")]
    assert posts(shop) == 1


async def test_a_replay_sends_it_again_on_a_site_that_was_reset_only(
    shop: Web, chromium: ChromiumPool, registered: Registered
) -> None:
    task = a_task(shop, **WRITTEN)
    opened = Opened(attempt=1, trial=0, task=task, task_digest="", config_digest="", seed=7, at=0.0)
    async with chromium.open(task, 0) as env:
        restored = await env.restore(task, Episode(opened=opened), clean=("shop",))
    arrival = replace(acted(0, restored.view.observation), effects=restored.effects)
    begun = Episode(opened=opened, arrival=arrival)
    async with chromium.open(task, 0) as env:
        await env.restore(task, begun)
    assert posts(shop) == 1, "it is there still"
    shop.pages["/"] = html("<h1>Home</h1><p>See http://shop.localhost/x</p>")
    async with chromium.open(task, 0) as env:
        await env.restore(task, begun, clean=("shop",))
    assert posts(shop) == 2


async def test_a_site_that_is_not_reset_is_not_written_to(
    shop: Web, chromium: ChromiumPool, registered: Registered
) -> None:
    task = a_task(shop, **WRITTEN)
    async with chromium.open(task, 0) as env:
        with pytest.raises(PluginFailed, match="could not be undone, as its site is not reset before the task"):
            await env.restore(task, Episode())
    assert posts(shop) == 0


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (
            replace(FORM, form="#other"),
            r"the form '#other' of .*/write cannot be sent: there is no such form, or not for",
        ),
        (replace(FORM, fields={"colour": "red"}), "cannot be sent: the form has no field colour"),
        (replace(FORM, fields={"csrf": "8"}), "cannot be sent: the site answered with status 403"),
    ],
)
async def test_what_cannot_be_sent_is_a_sentence(
    shop: Web, chromium: ChromiumPool, registered: Registered, form: SiteForm, said: str
) -> None:
    registered.forms = (form,)
    task = a_task(shop, **WRITTEN)
    async with chromium.open(task, 0) as env:
        with pytest.raises(PluginFailed, match=said):
            await env.restore(task, Episode(), clean=("shop",))


async def test_tasks_without_the_key_send_nothing(shop: Web, chromium: ChromiumPool, registered: Registered) -> None:
    task = a_task(shop)
    async with chromium.open(task, 0) as env:
        await env.restore(task, Episode(), clean=("shop",))
    assert posts(shop) == 0
