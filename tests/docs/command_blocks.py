"""The blocks of commands in README and documentation, and a shell that types them.

A block is of commands if its language is `sh` or `console` (there, lines that begin with `$ `). All are run, but those
behind a comment `<!-- not run: REASON -->`. A block with a `title` is written to the file of that name; titled `second terminal`,
it is a server that runs meanwhile. A block behind `<!-- printed by the commands before -->` is what they print.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((PROJECT / "docs" / "pages").glob("*.md")),
]
LANGUAGES = ("sh", "console")
NOT_RUN = re.compile(r"<!-- not run: (.*?) -->")
_WAITS = "until (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do kill -0 $! || exit 9; done"
PRINTED = "<!-- printed by the commands before -->"
SECOND = "second terminal"
TIMEOUT_S = 1800
_BLOCK = re.compile(r'^(?:(<!--[^\n]*-->)\n+)?```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:\$ )?(?:harness|python run\.py|python3? -m|make|pip) \S", re.MULTILINE)
_CODE = re.compile(r"exit code (\d)")
_MASKS = (
    (re.compile(r"\S*results/"), "results/"),
    (re.compile(r"\b[0-9a-f]{12}\b|(?<=revision )unknown\b"), "*"),
    (re.compile(r"revision \*(?: \(dirty\))?"), "revision *"),
    (re.compile(r"(made with: Cairn [\w.]+)(?: \(\*(?:, uncommitted changes)?\))?"), r"\1"),
    (re.compile(r"Chromium [\d.]+"), "Chromium *"),
    (re.compile(r"\$[\d.]+"), "$*"),
    (re.compile(r"\b\d{1,3}(?:,\d{3})+\b"), "*"),
    (re.compile(r"\b[\d.]+ s\b"), "* s"),
    (re.compile(r"\d+ (model requests|browser starts)"), r"* \1"),
    (re.compile(r"prompt cache: [\d.]+%"), "prompt cache: *"),
    (re.compile(r"─+"), "─"),
    (re.compile(r"\s+"), " "),
)
"""What differs from run to run and from machine to machine: times, costs, tokens, digests."""


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    comment: str
    language: str
    title: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def has_commands(self) -> bool:
        return self.language in LANGUAGES and not self.title

    @property
    def looks_like_commands(self) -> bool:
        return _COMMAND.search(self.text) is not None

    @property
    def excuse(self) -> str | None:
        """Why it is not run; None = it is."""
        found = NOT_RUN.fullmatch(self.comment)
        return found[1].strip() if found else None

    def commands(self) -> Iterator[str]:
        """Each as one text, with the lines that continue it."""
        lines = self.text.replace("\\\n", "\\\0").splitlines()
        for line in lines:
            if self.language == "console":
                if not line.startswith("$ "):
                    continue
                line = line[2:]
            if line.strip() and not line.lstrip().startswith("#"):
                yield line.replace("\0", "\n")


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that was typed."""

    block: Block
    command: str
    code: int
    out: str
    """And its standard error."""

    @property
    def fault(self) -> str:
        """Empty = it ended as the page says."""
        said = {int(code) for code in _CODE.findall(self.command)}
        return "" if self.code in {0} | said else f"{self.block.place}: {self.command}\n{self.code}: {self.out[-3000:]}"


def blocks_of(path: Path) -> list[Block]:
    """All of them, whatever their language."""
    text, page = path.read_text(), str(path.relative_to(PROJECT))
    return [
        Block(page, text.count("\n", 0, found.start(4)), found[1] or "", found[2], found[3] or "", found[4])
        for found in _BLOCK.finditer(text)
    ]


def type_page(blocks: list[Block], folder: Path, env: Mapping[str, str]) -> list[Typed]:
    """Do in one shell what a person does from top to bottom: write the files, start the servers, type the commands."""
    mark, asked, script, servers = f"--{os.urandom(8).hex()}--", [], ["set -m"], 0
    for number, block in enumerate(blocks):
        if block.title == SECOND:
            for line in block.text.splitlines():
                script.append(f"{line} & port={_port(line)}; {_WAITS}")
                servers += 1
        elif block.title:
            (folder.parent / f"file{number}").write_text(block.text)
            script.append(f"mkdir -p $(dirname {block.title}) && cp {folder.parent}/file{number} {block.title}")
        elif block.has_commands and block.excuse is None:
            for command in block.commands():
                asked.append((block, command))
                script += [command, f"printf '\\n{mark}%s\\n' $?"]
    script += [f"kill %{number + 1}" for number in range(servers)]
    (folder.parent / "typed.sh").write_text("\n".join(script) + "\n")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", str(folder.parent / "typed.sh")],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    said = re.split(rf"\n{mark}(\d+)\n", done.stdout)
    assert len(said) == 2 * len(asked) + 1, f"the shell ended early: {done.stdout[-3000:]}"
    return [
        Typed(block, command, int(code), out)
        for (block, command), out, code in zip(asked, said[::2], said[1::2], strict=False)
    ]


def not_printed(block: Block, out: str) -> list[str]:
    """The lines of a block that are not in an output, in this order; numbers that differ from run to run aside."""
    said, missing = [masked(line) for line in out.splitlines()], []
    for line in filter(None, map(masked, block.text.splitlines())):
        head, cut, _ = line.partition("…")
        at = next((at for at, one in enumerate(said) if one == line or (cut and one.startswith(head))), None)
        if at is None:
            missing.append(line)
        else:
            said = said[at + 1 :]
    return missing


def masked(line: str) -> str:
    for pattern, instead in _MASKS:
        line = pattern.sub(instead, line)
    return line.strip()


def _port(line: str) -> int:
    return int(re.search(r"\b(\d{4,5})\b", line)[1])  # type: ignore[index]
