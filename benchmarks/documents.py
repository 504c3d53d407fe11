"""Real pages to read: documentation that Debian packages put on this machine (`apt-get install python3-doc git-doc`).

They were written by nobody who knew of us: tables of contents, indexes, code in many spans, definition lists, forms. The
number beside a page is how many accessibility nodes it has in Debian 12, so that a slow way can choose what it takes on.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("/usr/share/doc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A page of a package."""

    package: str
    path: Path
    nodes: int

    @property
    def name(self) -> str:
        return f"{self.package}/{self.path.name}"

    @property
    def is_installed(self) -> bool:
        return self.path.is_file()


def _pages(package: str, folder: str, **nodes: int) -> tuple[Document, ...]:
    return tuple(
        Document(package=package, path=FOLDER / folder / f"{name.replace('__', '/')}.html", nodes=count)
        for name, count in nodes.items()
    )


DOCUMENTS = (
    *_pages("python3-doc", "python3-doc/html", search=161, index=400, library__index=3608, library__json=5071),
    *_pages("python3-doc", "python3-doc/html", library__tkinter=5180, tutorial__classes=5451),
    *_pages("git-doc", "git/html", **{"git-add": 1085, "git-bisect": 1091, "gittutorial": 1244, "giteveryday": 1469}),
    *_pages("git-doc", "git/html", **{"gitcore-tutorial": 4138, "git-rebase": 4367, "git": 4399}),
)
"""Short enough to be read the slow way a few times over."""

LONG = (
    *_pages("python3-doc", "python3-doc/html", reference__datamodel=14477, library__os=28504, library__stdtypes=36112),
    *_pages("git-doc", "git/html", **{"git-log": 9859, "user-manual": 14894, "git-config": 20416}),
)
"""For timing: the slow way takes a minute on some of them."""


def installed(documents: tuple[Document, ...] = DOCUMENTS) -> tuple[Document, ...]:
    """Those whose packages are on this machine."""
    return tuple(document for document in documents if document.is_installed)
