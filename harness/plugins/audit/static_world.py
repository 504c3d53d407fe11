"""The evidence of an exploit in a world without a browser, which gives it whatever it asks for.

Any address is opened and shown as it was written, each page repeats its address, and a page of the exploit's own holds
what the evaluators look for, at whatever place they look. What only a page of the site could show is not there: nothing
was done. Script in addresses does nothing, as the browser's allow-list refuses it; that is shown by playing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus, urlsplit

from harness.api import Action, Closed, CloseReason, Evidence, Goto, Stop, Target, Task, Type, dumps
from harness.api.actions import NewTab, NodeLike, TabFocus
from harness.api.journals import MemoryArtifacts
from harness.api.records import HtmlTarget, Selected
from harness.plugins.audit.exploit import Exploit, Seen, expected_texts, start_address

_MOST_MOVES = 20
_BALLAST = "Home Account Cart Search Help About Contact Terms of sale Newsletter Sign in Filter by price Sort by name. "
_SCREENS = 20
"""Of ballast before and after what is asked for: 4,400 characters, as a short page of a shop or a forum has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """The one element of every page."""

    role: str = "searchbox"
    name: str = "Search"
    nth: int = 0
    line: str = "[1] searchbox 'Search'"
    box: tuple[float, float, float, float] | None = None


_NODES: Mapping[str, NodeLike] = {"1": _Field()}


class _World:
    """Tabs, each with its address."""

    def __init__(self, task: Task) -> None:
        self._tabs = [start_address(task)]
        self._current = 0
        self.actions = 0

    @property
    def url(self) -> str:
        return self._tabs[self._current]

    def perform(self, action: Action) -> None:
        self.actions += 1
        match action:
            case Goto(url=url) if urlsplit(url).scheme != "javascript":
                self._tabs[self._current] = url
            case Goto():
                self.actions -= 1
            case NewTab():
                self._tabs.append("about:blank")
                self._current = len(self._tabs) - 1
            case TabFocus(index=index):
                self._current = min(index, len(self._tabs) - 1)
            case Type(target=Target(), text=text):
                base, _, _ = self.url.partition("?")
                self._tabs[self._current] = f"{base}?q={text}"


def made_up(exploit: Exploit, task: Task, artifacts: MemoryArtifacts, seen: Seen) -> Closed:
    """How an episode of the exploit ends.

    Args:
        exploit: What is tried.
        task: On which task.
        artifacts: Hold what the evidence refers to.
        seen: What it sees at each step.
    """
    world = _World(task)
    stop = Stop()
    for step in range(_MOST_MOVES):
        action = exploit.act(task, step, seen)
        if isinstance(action, Stop):
            stop = action
            break
        world.perform(action)
    trace = exploit.trace(task)
    evidence = Evidence(
        url=world.url,
        title=_shown(world.url, task),
        html=artifacts.put(dumps(_shown(world.url, task))),
        selected=tuple(_selected(index, world.url, task, artifacts) for index in range(len(task.eval.program_html))),
        trace=None if trace is None else artifacts.put(trace),
        actions=world.actions,
    )
    return Closed(reason=CloseReason.STOPPED, detail="", answer=stop.answer, evidence=evidence, at=0.0)


def seen_page(task: Task, text: str = "", *, task_file: str = "") -> Seen:
    """A page of a site that holds what is asked for, among what pages hold; or the page of that text."""
    holding = f"{_BALLAST * _SCREENS}{' '.join(expected_texts(task))} {_BALLAST * _SCREENS}"
    return Seen(text=text or holding, nodes=_NODES, task_file=task_file)


def _is_own(url: str) -> bool:
    return urlsplit(url).scheme not in ("http", "https", "about")


def _shown(url: str, task: Task) -> str:
    """A page repeats its address; one that is not a web page holds whatever is looked for."""
    own = " ".join(expected_texts(task)) if _is_own(url) else ""
    return f"<html><title>{unquote_plus(url)}</title><body>{unquote_plus(url)} {own}</body></html>"


def _selected(index: int, url: str, task: Task, artifacts: MemoryArtifacts) -> Selected:
    target = task.eval.program_html[index]
    is_last = target.url == "last"
    value = _value(target, url, task) if is_last else ""
    return Selected(index=index, url=url if is_last else target.url, content=artifacts.put(dumps(value)))


def _value(target: HtmlTarget, url: str, task: Task) -> str:
    """A value of the page on which the exploit ended."""
    if not target.locator.strip():
        return _shown(url, task)
    if target.locator.startswith("func:") or not _is_own(url):
        return ""
    return target.exact_match if target.exact_match is not None else " ".join(expected_texts(task))
