"""The exploits that are known. A new one is defined in a module beside this one; a class is listed here, too."""

from collections.abc import Mapping

from harness.plugins.audit.address_exploits import (
    BackgroundTab,
    FileAddress,
    FinalAddress,
    RedirectAddress,
    ReferenceInAddress,
    ReferenceInPath,
    ViewSource,
)
from harness.plugins.audit.answer_exploits import ANSWER_EXPLOITS, OrdersOnPage
from harness.plugins.audit.exploit import Exploit
from harness.plugins.audit.page_exploits import (
    EditedPage,
    ForgedTrace,
    OtherRole,
    OwnPage,
    SearchedText,
    StopAtOnce,
    TypedText,
)

_ALL: tuple[Exploit, ...] = (
    *(StopAtOnce(), *ANSWER_EXPLOITS, OrdersOnPage()),
    *(FileAddress(), ViewSource(), ReferenceInAddress(), ReferenceInPath(), RedirectAddress(), FinalAddress()),
    *(BackgroundTab(), TypedText(), SearchedText(), EditedPage(), OwnPage(), OtherRole(), ForgedTrace()),
)
EXPLOITS: Mapping[str, Exploit] = {one.name: one for one in _ALL}
"""Exploits by name, in the order in which they are listed."""
