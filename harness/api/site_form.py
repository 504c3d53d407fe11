"""What a plug-in writes into a site before an episode begins."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteForm:
    """A form of a site that is filled in and sent, as the user of the task; see `cairn.site_forms`.

    It is sent when an attempt begins, before its start pages are opened, and again when a replay begins on a site that
    was reset; the site's next reset undoes it. A site that is not reset before the task is never written to. What it
    sends is recorded as effects of step 0.
    """

    # Data, not a script: what is sent is one POST to the form's own address on its own site.
    url: str
    """Canonical address of the page that has the form."""
    form: str
    """CSS selector of the form."""
    fields: Mapping[str, str]
    """Name of a field to what is put into it; others stay as the page has them, hidden ones included."""
