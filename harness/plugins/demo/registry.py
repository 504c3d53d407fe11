"""The embedded sites, in the order they are listed."""

from harness.plugins.demo.code.site import SITE as CODE
from harness.plugins.demo.forum.site import SITE as FORUM
from harness.plugins.demo.office.site import SITE as OFFICE
from harness.plugins.demo.shop.site import SITE as SHOP
from harness.plugins.demo.web import SiteApp

SITES: tuple[SiteApp, ...] = (SHOP, FORUM, CODE, OFFICE)
