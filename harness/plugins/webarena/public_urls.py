"""WebArena's mapping between deployed addresses and the public names its prompts show.

Plain text replacement without boundaries, as WebArena does it, for runs that must send the same prompts; the
browser's own mapping is the bounded one. Used on URLs going out, and on whole extracted actions coming in.
"""

from collections.abc import Mapping

PUBLIC = {
    "reddit": "http://reddit.com",
    "shopping": "http://onestopmarket.com",
    "shopping_admin": "http://luma.com/admin",
    "gitlab": "http://gitlab.com",
    "wikipedia": "http://wikipedia.org",
    "map": "http://openstreetmap.org",
    "homepage": "http://homepage.com",
}
"""Site name to the address shown; the order of replacement is this one."""


def to_public(url: str, deployed: Mapping[str, str]) -> str:
    """Show `url` under public names; `deployed` maps site names to base URLs."""
    for address, public in _pairs(deployed).items():
        url = url.replace(address, public)
    return url


def to_deployed(text: str, deployed: Mapping[str, str]) -> str:
    """Put the deployed addresses back, for the http and the https form of each public name."""
    for address, public in _pairs(deployed).items():
        text = text.replace(public, address)
        text = text.replace(public.replace("http", "https"), address)
    return text


def _pairs(deployed: Mapping[str, str]) -> dict[str, str]:
    return {deployed[name]: public for name, public in PUBLIC.items() if deployed.get(name)}
