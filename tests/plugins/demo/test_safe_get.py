"""The demo sites declare that opening their addresses changes nothing (`safe_get`): their links are followed, and their
data compared.
"""

import re
from collections import deque
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from omegaconf import OmegaConf

from harness.loopback_server import serving
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp
from tests.plugins.demo.conftest import sign_in

PAGES = 150
SETTINGS = OmegaConf.load(Path(__file__).resolve().parents[3] / "configs" / "sites" / "embedded.yaml")
DECLARED = [site.name for site in SITES if SETTINGS[site.name].get("safe_get")]


def dump(app: SitesApp, site: str) -> list[str]:
    """What the site holds for the tenant; sessions are the visitors' own."""
    lines = app._sites[site].tenant("t0").db.iterdump()
    return [line for line in lines if not line.startswith('INSERT INTO "sessions"')]


def test_all_of_them_declare_it() -> None:
    assert DECLARED == [site.name for site in SITES]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", DECLARED)
async def test_following_the_links_of_a_site_changes_nothing_on_it(name: str) -> None:
    app = SitesApp(SITES)
    async with serving(app) as port:
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=base, headers={"host": f"t0.{name}.localhost:{port}"}) as client:
            await sign_in(client)
            before = dump(app, name)
            seen, left = {"/"}, deque(["/"])
            while left and len(seen) < PAGES:
                path = left.popleft()
                page = await client.get(path, follow_redirects=True)
                for found in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', page.text):
                    there = urlsplit(urljoin(str(page.url), unescape(found)))
                    link = f"{there.path}?{there.query}" if there.query else there.path
                    if there.hostname == "127.0.0.1" and link not in seen:
                        seen.add(link)
                        left.append(link)
            assert len(seen) > 20, "links were followed"
            assert dump(app, name) == before
