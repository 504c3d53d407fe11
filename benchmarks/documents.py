"""Real pages to read: documentation that Debian packages put on this machine (`apt-get install python3-doc git-doc`).

They were written by nobody who knew of us: tables of contents, indexes, code in many spans, definition lists, forms.
The number beside a page is how many accessibility nodes it has in Debian 12, so that a slow way can choose what it
takes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDERS = {"python3-doc": Path("/usr/share/doc/python3-doc/html"), "git-doc": Path("/usr/share/doc/git/html")}
"""Package to where it puts its pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A page of a package."""

    package: str
    name: str
    """Relative to where the package puts its pages."""
    nodes: int

    @property
    def path(self) -> Path:
        return FOLDERS[self.package] / self.name

    @property
    def is_installed(self) -> bool:
        return self.path.is_file()


def _pages(package: str, nodes: Mapping[str, int]) -> tuple[Document, ...]:
    return tuple(Document(package=package, name=f"{name}.html", nodes=count) for name, count in nodes.items())


DOCUMENTS = (
    *_pages("python3-doc", {"search": 161, "index": 400, "library/index": 3608, "library/sched": 1245}),
    *_pages("python3-doc", {"library/textwrap": 2100, "howto/sockets": 2018, "tutorial/modules": 3001}),
    *_pages("git-doc", {"gitignore": 804, "git-add": 1085, "git-bisect": 1091, "gittutorial": 1244}),
    *_pages("git-doc", {"giteveryday": 1469, "gitglossary": 2558}),
)
"""Short enough to be read the slow way a few times over."""

LONG = (
    *_pages("python3-doc", {"library/json": 5071, "library/os": 28504, "library/stdtypes": 36112}),
    *_pages("git-doc", {"git": 4399, "user-manual": 14894, "git-config": 20416}),
)
"""For timing: the slow way takes many seconds on each of them."""


def installed(documents: tuple[Document, ...] = DOCUMENTS) -> tuple[Document, ...]:
    """Those whose packages are on this machine."""
    return tuple(document for document in documents if document.is_installed)
