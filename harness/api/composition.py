"""Which settings there are, as their fields declare them, and how hydra composes them from files.

For plug-ins that list or describe settings. Imports hydra: import it in the function that needs it.
"""

from harness.browser import visit_policy
from harness.choices import COUNT, MAX_NUMBER, TIME
from harness.config import MEASURED_PLUGINS, ConfigSchema, register
from harness.config.near_names import misspelt
from harness.config.override_errors import sentence
from harness.config.plugin_packages import plugin_folders, search_plugins
from harness.config.site_settings import RESERVED
from harness.settings.fields import Declared, as_plain, declared, flat, group_of
from harness.settings.plugin import PluginSettings
from harness.settings.sites import ResetSettings, SiteSettings

__all__ = [
    "COUNT",
    "MAX_NUMBER",
    "MEASURED_PLUGINS",
    "RESERVED",
    "TIME",
    "ConfigSchema",
    "Declared",
    "PluginSettings",
    "ResetSettings",
    "SiteSettings",
    "as_plain",
    "declared",
    "flat",
    "group_of",
    "misspelt",
    "plugin_folders",
    "register",
    "search_plugins",
    "sentence",
    "visit_policy",
]
