"""What the set `apps` calls: `python -m harness.plugins.site_sets.apps install|fill|serve …`.

`install` gives each application its environment, `fill` makes the first state of one in an empty folder, and `serve`
becomes its server.
"""

import argparse
import os
import sys
from pathlib import Path

from harness.errors import ConfigError, ExitCode
from harness.plugins.site_sets.apps.installing import install, requirements
from harness.plugins.site_sets.apps.programs import PROGRAMS, Place, ProgramFailed


def main() -> int:
    parser = argparse.ArgumentParser(prog="harness.plugins.site_sets.apps", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("install", help="install all applications, unless they are")
    for verb, about in (("fill", "make the first state"), ("serve", "become the server")):
        one = verbs.add_parser(verb, help=about)
        one.add_argument("name", choices=tuple(PROGRAMS))
        one.add_argument("--data", type=Path, required=True, help="folder of its state")
        one.add_argument("--scratch", type=Path, required=True, help="folder for the rest")
        one.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    try:
        if options.verb == "install":
            return _install()
        place = Place(data=options.data, scratch=options.scratch, port=options.port)
        if options.verb == "fill":
            PROGRAMS[options.name].fill(place)
            return ExitCode.DONE
        command, variables = PROGRAMS[options.name].serve(place)
    except (ConfigError, ProgramFailed) as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.USAGE
    os.execve(command[0], command, {**os.environ, **variables})


def _install() -> int:
    """Every one is tried; the code tells whether all are there."""
    faults = 0
    for name, packages in requirements().items():
        try:
            install(name)
            sys.stderr.write(f"{name}: {len(packages)} packages are installed\n")
        except ConfigError as error:
            faults += 1
            sys.stderr.write(f"{error}\n")
    return ExitCode.USAGE if faults else ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
