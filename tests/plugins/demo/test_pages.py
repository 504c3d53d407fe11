"""Every page of every site, found by following its links, answers and is well formed enough to be walked."""

from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from harness.plugins.demo.registry import SITES
from harness.plugins.demo.web import SiteApp
from tests.plugins.demo.conftest import sign_in

BROKEN_ON_PURPOSE = {"/gift-cards", "/graph", "/reports/forecast"}


class Markup(HTMLParser):
    """Collects what a page links to, and fields that nothing labels."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fields: list[dict[str, str | None]] = []
        self.labels: set[str | None] = set()
        self.in_label = 0
        self.ids: list[str | None] = []
        self.headings = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        if tag in ("a", "iframe"):
            self.links.append(values.get("href") or values.get("src") or "")
        elif tag == "label":
            self.in_label += 1
            self.labels.add(values.get("for"))
        elif tag in ("input", "select", "textarea") and values.get("type") != "hidden" and not self.in_label:
            self.fields.append(values)
        self.headings += tag == "h1"

    def handle_endtag(self, tag: str) -> None:
        self.in_label -= tag == "label"

    def unlabelled(self) -> list[dict[str, str | None]]:
        return [field for field in self.fields if "aria-label" not in field and field.get("id") not in self.labels]


def check(path: str, answer: httpx.Response) -> None:
    assert answer.status_code < 400 or (answer.status_code == 500 and path in BROKEN_ON_PURPOSE), path
    if "<main" in answer.text:
        page = Markup(answer.text)
        assert page.headings == 1, path
        assert page.unlabelled() == [], path
        assert len(page.ids) == len(set(page.ids)), path


@pytest.mark.slow
@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
async def test_every_link_leads_to_a_page_whose_fields_have_labels(port: int, site: SiteApp, signed_in: bool) -> None:
    headers = {"host": f"t1.{site.name}.localhost:{port}"}
    seen: set[str] = set()
    waiting = ["/"]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
        if signed_in:
            await sign_in(client)
            probe = await client.get(site.probe_path)
            assert probe.status_code == 200
        while waiting and len(seen) < 250:
            path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            answer = await client.get(path)
            check(path, answer)
            targets = [answer.headers["location"]] if answer.is_redirect else Markup(answer.text).links
            for target in targets:
                split = urlsplit(urljoin(path, unescape(target)))
                if not split.netloc:
                    waiting.append(split._replace(fragment="").geturl())
    behind_a_login = site.probe_path == "/" and not signed_in
    assert len(seen) == 2 if behind_a_login else len(seen) >= 12
