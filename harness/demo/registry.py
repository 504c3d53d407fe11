"""The embedded sites, in the order they are listed."""

from harness.demo.code.site import SITE as CODE
from harness.demo.forum.site import SITE as FORUM
from harness.demo.office.site import SITE as OFFICE
from harness.demo.shop.site import SITE as SHOP
from harness.demo.web import SiteApp

SITES: tuple[SiteApp, ...] = (SHOP, FORUM, CODE, OFFICE)
