"""What an agent is shown of a page: its accessibility tree or its DOM as text, under ids that last for an episode.

Ids are small integers given from top to bottom when a line is first printed, and kept for the same DOM node; so the
same page gives the same bytes in every run. A page that is restored gets its recorded ids back (`recognize`), and no id
that an attempt has used is given to another element. How a page is read is the business of `reading` and `frames`, how
it is worded that of `tree_webarena`, `tree_cairn` and `dom_text`; here they meet. WebArena does not look into frames,
and numbers the lines of a DOM by what is in view. A page that changes while it is read is read once more, and if it
does so again the body is said to be torn.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from playwright.async_api import CDPSession, Page

from harness.browser.ax_node import AXNode
from harness.browser.reading.document_client import WORLD
from harness.browser.reading.document_snapshot import EVERYTHING
from harness.browser.reading.frames import Collector, Document, FrameDocument, PageSnapshot, ReadHints
from harness.browser.rendering import tree_cairn, tree_webarena
from harness.browser.rendering.dom_elements import read_elements
from harness.browser.rendering.dom_text import TextElement, by_position, print_html
from harness.browser.rendering.similarity import entries, is_actionable
from harness.browser.rendering.tree import RenderedLine, RenderedTree
from harness.browser.text_limits import well_formed
from harness.records import Node

_PLAIN_ROLES = frozenset("LabelText StaticText article cell generic gridcell heading image img listitem row".split())
_DIALECTS = {"webarena": tree_webarena.print_tree, "cairn": tree_cairn.print_tree}


_ElementKey = tuple[str, int]
"""Loader of the document and backendDOMNodeId."""


class ShownElement(NamedTuple):
    """What an id in a text stands for."""

    node: Node
    document: Document
    """The one that holds it."""
    backend: int
    """Its backendDOMNodeId."""
    is_actionable: bool
    """Whether it can be clicked or filled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page as text, and what the ids in it stand for."""

    text: str
    """Without tabs header; lone surrogates replaced."""
    elements: Mapping[str, ShownElement]
    """By id, from top to bottom."""
    title: str | None = None
    """The page's own; None = it was not looked for."""
    torn: bool = False
    """The page changed while it was read, twice: the text may mix two states."""
    given: Mapping[_ElementKey, str] = field(default_factory=dict)
    """Ids that were given for this text: `Observer.confirm` and `Observer.recognize` keep them."""


class Observer:
    """The eyes of one episode."""

    def __init__(
        self,
        *,
        dialect: str,
        viewport: tuple[int, int],
        whole_page: bool = False,
        html: bool = False,
        tree: bool = False,
    ) -> None:
        """`dialect` is `webarena` or `cairn`; `viewport` is (width, height) in CSS px; `html`: the DOM, not the
        accessibility tree; with `tree` both, under the same ids.
        """
        self._dialect = dialect
        self._html = html
        self._tree = tree or not html
        self._by_position = html and dialect == "webarena"
        """WebArena numbers the elements of a DOM by where they are in it, anew each time."""
        self._print = _DIALECTS[dialect]
        self._viewport = None if whole_page else viewport
        self._view = EVERYTHING if whole_page else (0.0, 0.0, float(viewport[0]), float(viewport[1]))
        self._collector = Collector(as_webarena=dialect == "webarena")
        self._ids: dict[_ElementKey, str] = {}
        """Of elements that were shown."""
        # From 1 again in each attempt, so that its prompts are the same bytes as those of a first attempt.
        self._newest = 0
        """Highest id that was shown, or is reserved."""
        self._reserved: set[str] = set()

    def reserve(self, used: Collection[str]) -> None:
        """Give none of these ids to an element that is not recognized: earlier windows of the attempt showed them."""
        self._reserved |= set(used)
        self._newest = max([self._newest, *(int(id) for id in used if id.isdecimal())])

    def recognize(self, body: RenderedPage, shown: str, recorded: str) -> dict[str, str]:
        """Give elements printed for the first time the ids they have in a recorded text of the same page.

        Args:
            shown: The text of what was read, canonical.
        Returns:
            What each of these ids is from now on.
        """
        # Such an id says where an element is now, as in WebArena, and not which element it was.
        if self._by_position:
            return {}
        known = _same_elements(list(entries(shown)), list(entries(recorded)))
        taken = set(self._ids.values())
        given = {id: key for key, id in body.given.items()}
        became: dict[str, str] = {}
        before = 0
        for id in (*body.elements, *(id for id in given if id not in body.elements)):
            if (key := given.get(id)) is not None:
                became[id] = self._ids[key] = self._free_id(known.get(id), before, taken)
                taken.add(became[id])
            final = became.get(id, id)
            before = int(final) if final.isdecimal() else before
        return became

    def _free_id(self, recorded: str | None, before: int, taken: Collection[str]) -> str:
        """The recorded id; else the next one after the element before it, which an element without a line of its own
        had.
        """
        if recorded is not None and recorded not in taken:
            return recorded
        if (follows := str(before + 1)) not in taken and follows not in self._reserved and before < self._newest:
            return follows
        self._newest += 1
        return str(self._newest)

    def confirm(self, body: RenderedPage) -> None:
        """The agent is shown this text as it is."""
        # Only now: ids of a text that nobody is shown would be missing in this run, and not in the next one.
        self._ids.update(body.given)
        self._newest += len(body.given)

    async def prepare(self, cdp: CDPSession, held: FrameDocument) -> None:
        """Make ready to read a page, while it still settles."""
        if self._tree:
            await self._collector.prepare(cdp, held)

    async def read(
        self,
        page: Page,
        cdp: CDPSession,
        hints: ReadHints = ReadHints(),  # noqa: B008 (immutable)
    ) -> RenderedPage:
        """Read a page as it is now; the caller has let it settle, and sees to it that it is still the same one after.

        Raises:
            playwright.async_api.Error: The page went elsewhere meanwhile, or is gone; see `driver.playwright_errors`.
        """
        given: dict[_ElementKey, str] = {}
        if not self._tree:
            return await self._read_html(cdp, given)
        tree = await self._read_tree(page, cdp, hints, given)
        return _joined(tree, await self._read_html(cdp, given)) if self._html else tree

    async def _read_tree(
        self, page: Page, cdp: CDPSession, hints: ReadHints, given: dict[_ElementKey, str]
    ) -> RenderedPage:
        collected = await self._collector.collect(page, cdp, self._view, hints=hints)
        if collected.torn:
            collected = await self._collector.collect(page, cdp, self._view, hints=hints)

        def label(node: AXNode) -> str:
            if "backendDOMNodeId" not in node:
                return str(node["nodeId"])
            return self._id((collected.document_of(node).loader, node["backendDOMNodeId"]), given)

        printed = self._print(collected.nodes, collected.rects, viewport=self._viewport, label=label)
        return _body(printed, collected, given)

    async def _read_html(self, cdp: CDPSession, given: dict[_ElementKey, str]) -> RenderedPage:
        frame = (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]
        loader = frame["loaderId"]
        world = await cdp.send("Page.createIsolatedWorld", {"frameId": frame["id"], "worldName": WORLD})
        elements = await read_elements(cdp, dialect=self._dialect)

        def label(element: TextElement, _: int) -> str:
            return self._id((loader, element.backend), given)

        printed = print_html(
            elements,
            viewport=self._viewport,
            label=by_position if self._by_position else label,
            dialect=self._dialect,
        )
        document = Document(loader=loader, session=cdp, world=world["executionContextId"])
        return _body(printed, PageSnapshot(title=None, documents={"": document}), given)

    def _id(self, key: _ElementKey, given: dict[_ElementKey, str]) -> str:
        if (id := self._ids.get(key) or given.get(key)) is None:
            id = given[key] = str(self._newest + len(given) + 1)
        return id


def _same_elements(now: Sequence[tuple[str, str]], then: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Id to id of the elements that two texts, as id and line, surely have in common."""
    if [line for _, line in now] == [line for _, line in then]:
        return {id: old for (id, _), (old, _) in zip(now, then, strict=True)}
    # Lines that are there more than once cannot be told apart.
    times, before = Counter(line for _, line in now), Counter(line for _, line in then)
    old = {line: id for id, line in then}
    return {id: old[line] for id, line in now if times[line] == before[line] == 1}


def _body(printed: RenderedTree, collected: PageSnapshot, given: Mapping[_ElementKey, str]) -> RenderedPage:
    elements: dict[str, ShownElement] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for id, one in printed.shown.items():
        role, name = well_formed(one.role), well_formed(one.name)
        node = Node(
            role=role, name=name, nth=counts[role, name], line=well_formed(one.line), box=one.box, depth=one.depth
        )
        counts[role, name] += 1
        document, backend = collected.document_of(one.node), one.node["backendDOMNodeId"]
        elements[id] = ShownElement(node, document, backend, is_actionable(one.line) or _takes_focus(one))
    return RenderedPage(
        text=well_formed(printed.text),
        elements=elements,
        title=collected.title,
        torn=bool(collected.torn),
        given=given,
    )


def _joined(tree: RenderedPage, html: RenderedPage) -> RenderedPage:
    """One text after the other; an element that both show is known by its line in the tree."""
    return replace(
        tree,
        text=f"{tree.text}\n\n{html.text}",
        elements={**tree.elements, **{id: one for id, one in html.elements.items() if id not in tree.elements}},
    )


def _takes_focus(shown: RenderedLine) -> bool:
    """Whether the keyboard can reach what has no role that says so: a picture or a cell that a script made a button."""
    properties = shown.node.get("properties", ())
    return shown.role in _PLAIN_ROLES and any(
        entry["name"] == "focusable" and entry["value"].get("value") is True for entry in properties
    )
