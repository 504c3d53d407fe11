"""`harness sites`: brings up the sites that tasks are played on, resets, copies and removes them."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.text import flat
from harness.errors import ConfigError, ExitCode, HarnessError

if TYPE_CHECKING:
    from harness.plugins.site_sets.lifecycle import Lifecycle

HELP = "bring up the sites of a set, reset and scale them, and write what a run reads with sites=from:FILE"
EXAMPLE = "harness sites up demo"
_ROOT = Path("sites")


def arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, about: str, *, sites: bool = True) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=about, description=about)
        one.add_argument(
            "set", metavar="SET", help="shipped set, set file, compose file, or the state folder of one that was up"
        )
        if sites:
            one.add_argument("sites", nargs="*", metavar="SITE", help="only these: SITE, or SITE@N for one instance")
        one.add_argument("--state", type=Path, metavar="DIR", help="folder of its state; default: sites/SET")
        return one

    up = verb("up", "start what is not up, wait until it is healthy, take the snapshot `seed` once; may be repeated")
    up.add_argument(
        "--scale", type=int, metavar="N", help="instances of each site; default: as many as there are, or 1"
    )
    up.add_argument("--pull", action="store_true", help="get missing images that the set names by digest")
    status = verb("status", "show whether each instance is healthy, dirty, resetting or down; 1 if one is not healthy")
    status.add_argument("--json", action="store_true", help="one object for each instance")
    reset = verb("reset", "put instances back to a snapshot; 3 if the result is not the recorded state")
    reset.add_argument("--to", default="seed", metavar="NAME", help="snapshot; default: seed")
    reset.add_argument("--url", metavar="URL", help="the instance at this address, as a run names it")
    snapshot = verb("snapshot", "keep the present state of an instance under a name", sites=False)
    snapshot.add_argument("name", metavar="NAME", help="a-z, 0-9, _ and -")
    snapshot.add_argument("sites", nargs="*", metavar="SITE", help="only these")
    snapshot.add_argument("--instance", type=int, default=0, metavar="N", help="default: 0")
    verb("snapshots", "list the snapshots with their digests", sites=False)
    remove = verb("rm", "remove a snapshot", sites=False)
    remove.add_argument("name", metavar="NAME", help="the snapshot")
    scale = verb("scale", "have N instances of each site", sites=False)
    scale.add_argument("count", type=int, metavar="N", help="instances")
    down = verb("down", "stop and remove instances; their snapshots stay")
    down.add_argument("--keep-data", action="store_true", help="only stop them; `up` continues with their data")
    down.add_argument("--all", action="store_true", help="remove the snapshots, too")
    verb("logs", "print the end of the logs of a site")
    verb("doctor", "check that this machine can run the set: programs, images, ports, disk", sites=False)
    verb("install", "install the programs of a set, where it says how, in separate places", sites=False)
    verb("tidy", "remove what resets discarded and prepare the next ones; each reset starts it itself", sites=False)


def run(options: argparse.Namespace) -> int:
    from harness.plugins.site_sets import verbs
    from harness.plugins.site_sets.backend import NotVerified

    of = _opened(options)
    try:
        missed = getattr(verbs, options.verb)(of, options) is not ExitCode.DONE
        return ExitCode.BELOW if missed else ExitCode.DONE
    except NotVerified as error:
        say(f"harness sites: {of.redacted(str(error))}")
        return ExitCode.UNSCORED
    except HarnessError as error:
        raise type(error)(of.redacted(str(error))) from error


def say(text: str) -> None:
    """Print a line for people."""
    sys.stderr.write(f"{flat(text)}\n")
    sys.stderr.flush()


def _opened(options: argparse.Namespace) -> "Lifecycle":
    """The set in its state folder.

    Raises:
        ConfigError: There is no such set, or the folder is that of another one.
    """
    from harness.plugins.site_sets.lifecycle import Lifecycle
    from harness.plugins.site_sets.set_file import find_set, read_set
    from harness.plugins.site_sets.state import SET_COPY, StateFolder, check_state_folder, read_json, write_json

    given, made_by = Path(options.set), ""
    if (given / SET_COPY).is_file():
        folder, made_by = given, str(read_json(given / SET_COPY).get("set") or "")
        found = read_set(find_set(made_by))
    else:
        found = read_set(find_set(options.set))
        folder = options.state or _ROOT / found.name
    check_state_folder(folder)
    copy: dict[str, Any] = {"set": str(found.path)}
    known = read_json(folder / SET_COPY)
    if known and known != copy:
        raise ConfigError(f"{folder} is the state of the set {known.get('set')}; choose another folder with --state")
    if not known:
        if options.verb not in {"up", "doctor", "install"}:
            raise ConfigError(
                f"the set {found.name} was never up in {folder}; run `harness sites up {options.set}` first"
            )
        if options.verb == "up":
            write_json(folder / SET_COPY, copy)
    return Lifecycle(found, StateFolder(folder.absolute()), say, python=sys.executable)
