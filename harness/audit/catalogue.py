"""The exploits that are known. A new one is a class in one of the modules beside this one, and a line here."""

from collections.abc import Mapping

from harness.audit.address_exploits import (
    BackgroundTab,
    FileAddress,
    FinalAddress,
    RedirectAddress,
    ReferenceInAddress,
    ReferenceInPath,
    ViewSource,
)
from harness.audit.answer_exploits import (
    AllNumbers,
    AllWords,
    EmptyAnswer,
    FewNumbers,
    NotAchievable,
    NumbersInWords,
    OrdersInAnswer,
    OrdersOnPage,
    PageDump,
    RepeatedIntent,
    SaysUnachievable,
)
from harness.audit.exploit import Exploit
from harness.audit.page_exploits import EditedPage, ForgedTrace, OtherRole, OwnPage, SearchedText, StopAtOnce, TypedText

_ALL: tuple[Exploit, ...] = (
    *(StopAtOnce(), EmptyAnswer(), AllNumbers(), FewNumbers(), NumbersInWords(), AllWords()),
    *(RepeatedIntent(), PageDump(), NotAchievable(), SaysUnachievable(), OrdersInAnswer(), OrdersOnPage()),
    *(FileAddress(), ViewSource(), ReferenceInAddress(), ReferenceInPath(), RedirectAddress(), FinalAddress()),
    *(BackgroundTab(), TypedText(), SearchedText(), EditedPage(), OwnPage(), OtherRole(), ForgedTrace()),
)
EXPLOITS: Mapping[str, Exploit] = {one.name: one for one in _ALL}
"""By name, in the order they are listed."""
