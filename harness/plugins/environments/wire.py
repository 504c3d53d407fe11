"""What the agent in a worker and the server say to each other, as JSON: one question and one answer for each step."""

import base64
import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from harness.api import Observation
from harness.api.settings import ObservationSettings, ObservationType


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a client is shown of a page."""

    text: str = ""
    url: str = ""
    title: str = ""
    tabs: tuple[tuple[str, str, bool], ...] = ()
    """Address, title, and whether it is the current one."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Which parts of a page a client is shown (`observation.type`)."""

    text: bool = True
    """The page's text; the tabs always are."""
    image: bool = False
    """The screenshot."""

    @classmethod
    def of(cls, settings: ObservationSettings) -> Self:
        """That of the settings, which do not ask for `marks`: no journal has what they are drawn from."""
        return cls(text=settings.shows_text, image=ObservationType.image in settings.parts)

    def page(self, seen: Observation) -> Page:
        """What is shown but for the screenshot."""
        return Page(
            text=seen.shown_text if self.text else seen.shown_text.partition("\n\n")[0],
            url=seen.url,
            title=seen.title,
            tabs=tuple((tab.url, tab.title, tab.current) for tab in seen.tabs),
            notices=seen.notices,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An agent waits for the decision of one step."""

    task_id: str
    trial: int
    attempt: int
    goal: str
    """See `goal_of`; of this attempt, where the benchmark makes it."""
    steps: int
    """Those before it in this attempt."""
    page: Page
    image: bytes | None
    """PNG of the viewport."""
    reward: float | None
    """What the benchmark gave for the newest step."""
    refused: str
    """Why the newest action was not performed, or is not known to be; "" = it was."""
    doubts: tuple[str, ...]

    def encoded(self) -> bytes:
        """It as JSON."""
        image = None if self.image is None else base64.b64encode(self.image).decode()
        return json.dumps({**asdict(self), "image": image}).encode()

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Raises: ValueError, TypeError, KeyError: It is not a question."""
        said = json.loads(data)
        image, page = said.pop("image"), said.pop("page")
        return cls(
            page=Page(
                text=page["text"],
                url=page["url"],
                title=page["title"],
                tabs=tuple((url, title, current) for url, title, current in page["tabs"]),
                notices=tuple(page["notices"]),
            ),
            image=None if image is None else base64.b64decode(image),
            doubts=tuple(said.pop("doubts")),
            **said,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a client wants done: a text of the action set, or the name of an action with its arguments."""

    text: str = ""
    name: str = ""
    arguments: Any = None
    unread: str = ""
    """Why it cannot be read, so that it is a step that is refused; "" = it may be."""
    memory: Any = None
    """What the journal is to keep with the decision."""

    @property
    def said(self) -> str:
        """It as the journal keeps it, in the place of a model's reply."""
        return json.dumps({"name": self.name, "arguments": self.arguments}, sort_keys=True) if self.name else self.text

    def encoded(self) -> bytes:
        """It as JSON."""
        return json.dumps({"order": asdict(self)}).encode()


def leaving(why: str) -> bytes:
    """The answer that ends the agent's part: nobody decides any more."""
    return json.dumps({"leave": why}).encode()
