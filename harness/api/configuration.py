"""The settings of a run as a whole: those of the project, those that are composed, those that a run folder holds.

For plug-ins that judge or export a run by the settings it was played with.
"""

from harness.config import HIDDEN, PROJECT, Config, slug
from harness.config.recorded_config import read_recorded, recorded_address, recorded_sites
from harness.config.site_settings import SitesSettings

__all__ = [
    "HIDDEN",
    "PROJECT",
    "Config",
    "SitesSettings",
    "read_recorded",
    "recorded_address",
    "recorded_sites",
    "slug",
]
