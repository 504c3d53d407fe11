"""The embedded sites, in the order they are listed."""

from harness.sites.forum.site import SITE as FORUM
from harness.sites.web import SiteApp

SITES: tuple[SiteApp, ...] = (FORUM,)
