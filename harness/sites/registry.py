"""The embedded sites, in the order they are listed."""

from harness.sites.code.site import SITE as CODE
from harness.sites.forum.site import SITE as FORUM
from harness.sites.office.site import SITE as OFFICE
from harness.sites.shop.site import SITE as SHOP
from harness.sites.web import SiteApp

SITES: tuple[SiteApp, ...] = (SHOP, FORUM, CODE, OFFICE)
