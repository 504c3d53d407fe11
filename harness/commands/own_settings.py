"""The arguments with which commands are given settings as `run.py` is."""

import argparse
from pathlib import Path


def add_own_settings(parser: argparse.ArgumentParser, about: str) -> None:
    """`KEY=VALUE …`, whose help is `about`, and `--config-dir`."""
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=about)
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="folder of your own configurations, as for run.py"
    )


def quoted(text: str) -> str:
    """A value as hydra reads it, whatever characters are in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
