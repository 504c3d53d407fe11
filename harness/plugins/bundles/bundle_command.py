"""`harness bundle`: writes a run into one file."""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from harness.api.text import flat
from harness.errors import ConfigError, ExitCode
from harness.runs.trials import amount

HELP = "write a run into one file, without cookies and logs, that anybody can verify"
EXAMPLE = "harness bundle results/demo-prompt-scripted --to demo.cairn"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="file to write (default: NAME.cairn beside the run folder)"
    )


def _searched(known: int) -> str:
    """What was looked for; a bundle in which a secret is found is not written."""
    if known == 0:
        return (
            "no secret found: no text has the form of a credential; settings and environment hold no key or password"
            " to look for"
        )
    own = "the key or password" if known == 1 else f"any of the {known} keys and passwords"
    return f"no secret found: neither {own} in settings and environment, nor text that has the form of a credential"


def _unnamed(folder: Path, files: Iterable[str]) -> str:
    """A sentence about journals that `harness verify` will find in no list of tasks; "" = there are none."""
    from harness.api.journals import JOURNAL_SUFFIX, name_of
    from harness.runs.about import run_info

    known = run_info(folder)
    named = {name_of(task, trial) for trial in range(known.trials) for task in known.tasks}
    surplus = sorted(name for name in files if name.endswith(JOURNAL_SUFFIX) and name not in named)
    if not known.tasks or not surplus:
        return ""
    more = f" and of {len(surplus) - 1} more" if len(surplus) > 1 else ""
    return (
        f"warning: run.json, of the latest start, does not name the task of {flat(surplus[0])}{more}, so `harness"
        " verify` says that the bundle differs: start the run again with all its tasks, and write the bundle again\n"
    )


def run(options: argparse.Namespace) -> int:
    from harness.api.secrets import run_redactor, secrets_in
    from harness.plugins.bundles.run_bundle import pack
    from harness.runs.opened_run import SUFFIX
    from harness.runs.run import run_folder

    folder = run_folder(options.run).resolve()
    to: Path = options.to or folder.with_name(folder.name + SUFFIX)
    if to.is_dir() or not to.parent.is_dir():
        raise ConfigError(f"--to {to} is not a file in a folder that exists; give the name of a file")
    digest, manifest = pack(folder, to, run_redactor(folder, secrets_in(os.environ)))
    episodes = sum(name.endswith(".traj.jsonl") for name in manifest.files)
    sys.stdout.write(
        f"{flat(str(to))}: {amount(episodes, 'episode')}, {amount(len(manifest.files), 'file')},"
        f" {to.stat().st_size / 1e6:.1f} MB\n{_searched(manifest.secrets_searched)}\nsha256 {digest}\n"
    )
    sys.stderr.write(_unnamed(folder, manifest.files))
    return ExitCode.DONE
