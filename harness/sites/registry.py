"""The embedded sites, and how their demo users log in."""

from harness.records import Login
from harness.sites.code.site import SITE as CODE
from harness.sites.forum.site import SITE as FORUM
from harness.sites.office.site import SITE as OFFICE
from harness.sites.shop.site import SITE as SHOP
from harness.sites.web import SiteApp

SITES: tuple[SiteApp, ...] = (SHOP, FORUM, CODE, OFFICE)


def canonical(site: SiteApp) -> str:
    """The address everybody is shown."""
    return f"http://{site.name}.localhost"


def login_of(site: SiteApp) -> Login | None:
    """How to log in as the user that the demo tasks act as."""
    if site.account is None:
        return None
    base, (login, password) = canonical(site), site.account
    return Login(
        url=base + site.login_path,
        fields={"#login": login, "#password": password},
        submit="button=Log in",
        probe_url=base + site.probe_path,
    )
