"""The option of commands that chooses a scoring, by each of its names."""

import argparse
from collections.abc import Sequence
from typing import Any

from harness.choices import Dialect


class _Scoring(argparse.Action):
    """Stores the name that records have."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, Dialect[str(values)].value)


def add_scoring(parser: argparse.ArgumentParser, text: str, *, also: tuple[str, ...] = ()) -> None:
    """`text`: the help; `also`: further names of the option."""
    parser.add_argument("--scoring", *also, action=_Scoring, choices=sorted(Dialect.__members__), help=text)
