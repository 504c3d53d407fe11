"""The addresses of the sites: one `Site` record for each site, per lane."""

from dataclasses import dataclass, replace

from harness.config.site_settings import SitesSettings
from harness.records import Site
from harness.settings.sites import SiteSettings

UNUSED_LANE = 9_000_000
"""Of embedded sites a tenant that no run has, for what is only tried: a run on the same server notices nothing."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The real addresses of the sites of each lane."""

    settings: SitesSettings
    port: int | None
    """Port of the embedded sites; None = the sites are your own deployment."""

    def sites(self, lane: int) -> tuple[Site, ...]:
        """All configured sites as lane number `lane` reaches them; of several instances, the first."""
        return tuple(
            self._site(site, lane) for site in self.settings.by_name.values() if self.port is not None or site.instances
        )

    def everywhere(self, lane: int) -> tuple[Site, ...]:
        """The same, with one for each instance."""
        there = self.settings.instances
        return tuple(replace(site, url=url) for site in self.sites(lane) for url in there.get(site.name) or (site.url,))

    def _site(self, site: SiteSettings, lane: int) -> Site:
        at_home = self.port is None or not site.is_embedded
        return replace(site, url=site.instances[0] if at_home else f"{lane_base(site.name, lane)}:{self.port}")


def lane_base(name: str, lane: int) -> str:
    """The address of a lane's own embedded site, without the port."""
    return f"http://t{lane}.{name}.localhost"
