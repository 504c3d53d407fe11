"""The `harness` command: all commands on runs; `harness run` is `python run.py`."""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from harness import __version__
from harness.collector import collect_rarely
from harness.errors import ConfigError, ExitCode, HarnessError, JournalError, said_by
from harness.escape import flat, print_any_character
from harness.files.disk import foreseen
from harness.files.output import flush_output
from harness.internal_error import InternalErrorGuard, without_secrets
from harness.registry import Registry
from harness.standard_streams import open_missing_streams

if TYPE_CHECKING:  # a protocol, whose records a start without them need not import
    from contextlib import AbstractAsyncContextManager

    from harness.api import Command
    from harness.api.hosting import HostedRun, HostingRequest

COMMANDS = Registry(
    group="cairn.commands",
    noun="command",
    core={
        "fork": "harness.commands.fork",
        "show": "harness.commands.show",
        "replay": "harness.commands.replay",
        "score": "harness.commands.score",
        "plan": "harness.commands.plan",
        "cache": "harness.commands.cache",
        "doctor": "harness.commands.doctor",
    },
)
"""Each a module (`harness.api.Command`)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the first argument names; returns the exit code."""
    collect_rarely()
    open_missing_streams()
    print_any_character()
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Before argparse, because hydra reads all that follows.
    if given[:1] == ["run"]:
        begun = time.monotonic()
        try:
            from harness.cli import run  # and hydra, which readers of runs do without

            return run(given[1:], program="harness run", begun=begun)
        except KeyboardInterrupt:  # while it imports or composes; later it is the run's
            return ExitCode.INTERRUPTED
    with InternalErrorGuard("harness", redact=lambda text: without_secrets(text, given)) as fault:
        return _main(given)
    return fault.code


def _main(given: Sequence[str]) -> int:
    try:
        try:
            options = _parser(given[0] if given else "").parse_args(given)
            return _done(options.command, options)
        finally:
            flush_output()
    except JournalError as error:
        return _refuse(error, ExitCode.UNSCORED)
    except HarnessError as error:
        return _refuse(error, ExitCode.USAGE)
    except BrokenPipeError:
        return ExitCode.DONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except OSError as error:
        if (known := foreseen(error)) is None:
            raise
        return _refuse(known, ExitCode.USAGE)


def _done(name: str, options: argparse.Namespace) -> int:
    """Raises: ConfigError: The command of an installed package fails, or does not return an exit code."""
    with COMMANDS.running(name, may_exit=True):
        code = options.module.run(options)
    if not isinstance(code, int | None):
        raise ConfigError(f"command={name}: its `run` returned {type(code).__name__}; return the exit code, or nothing")
    return int(code or ExitCode.DONE)


class _Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong, without its usage; commands have parsers of this class, too."""

    _is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Settings (`task=demo`) may stand before, between and behind the options of a command."""
        # `parse_known_intermixed_args` calls this method itself, and does not work with sub-commands.
        if self._is_mixing or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False
        # Not left to the parser of `harness`, which knows none of the options of the command.
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        said = _in_words(message, self._option_string_actions)
        self.exit(ExitCode.USAGE, f"{self.prog}: {flat(said)}; {self.prog} --help says more\n")


def _in_words(message: str, known: Iterable[str]) -> str:
    """What argparse finds wrong, with the nearest that there is; `known` are the options of the command."""
    if (choice := re.match(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)$", message)) is not None:
        options = re.findall(r"[\w-]+", choice[3])
        near = get_close_matches(choice[2], options, 1)
        hint = f"; did you mean {near[0]}" if near else ""
        return f"{choice[1]} {choice[2]!r} is unknown{hint}; choose one of {', '.join(options)}"
    if (kind := re.match(r"argument (\S+): invalid (int|float) value: (.*)$", message)) is not None:
        return f"{kind[1]} {kind[3]} is not a {'whole ' * (kind[2] == 'int')}number"
    if (missing := re.match("the following arguments are required: (.*)$", message)) is not None:
        return f"{missing[1]} {'are' if ',' in missing[1] else 'is'} missing"
    if (unknown := re.match("unrecognized arguments: (.*)$", message)) is not None:
        # Without their dashes, which make any two options alike.
        names = {one.lstrip("-"): one for one in known}
        near = get_close_matches(re.split("[= ]", unknown[1].lstrip("-"))[0], names, 1)
        return f"{unknown[1]} cannot be used here{f'; did you mean {names[near[0]]}' if near else ''}"
    return message.removeprefix("argument ")


def _parser(wanted: str = "") -> argparse.ArgumentParser:
    """
    Args:
        wanted: The command that was typed: only its module is imported then. Anything else = all commands.

    Raises:
        ConfigError: The package of the wanted command cannot be imported.
    """
    parser = _Parser(
        prog="harness",
        description="Run, inspect and compare evaluations of web agents.",
        epilog="example: harness run task=demo; harness COMMAND --help has an example of each",
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("--version", action="version", version=f"Cairn {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    if wanted != "completion" and (wanted in COMMANDS.shipped() or wanted in COMMANDS.names()):
        _add(commands, wanted, _command(wanted))
        return parser
    commands.add_parser("run", help="run an evaluation, like python run.py: harness run task=demo", add_help=False)
    for name in COMMANDS.names():
        try:
            _add(commands, name, _command(name))
        except ConfigError as error:
            commands.add_parser(name, help=f"cannot be used: {flat(said_by(error))}".replace("%", "%%"))
    return parser


def _command(name: str) -> "Command":
    """Raises: ConfigError: Its package cannot be imported, or has not what a command is."""
    found: Command = COMMANDS.find(name)
    if missing := [part for part in ("HELP", "EXAMPLE", "arguments", "run") if not hasattr(found, part)]:
        raise ConfigError(f"command={name}: it has no {missing[0]}, which harness.api.Command needs")
    if wrong := [part for part in ("HELP", "EXAMPLE") if not isinstance(getattr(found, part), str)]:
        raise ConfigError(f"command={name}: its {wrong[0]} is not a text; give one")
    if name not in COMMANDS.shipped():
        with COMMANDS.running(name):  # tried out: a command that is added cannot be taken away again
            found.arguments(tried := _Parser())
            tried.format_help()
    return found


def _add(commands: "argparse._SubParsersAction[Any]", name: str, module: "Command") -> None:
    one = commands.add_parser(
        name,
        help=module.HELP.replace("%", "%%"),  # argparse formats it with %
        description=module.HELP,
        epilog=f"example: {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(one)
    one.set_defaults(module=module, hosting=_hosting)


def _hosting(request: "HostingRequest") -> "AbstractAsyncContextManager[HostedRun]":
    from harness.cli import configured  # and hydra
    from harness.evaluation.hosted_run import hosted_run

    return hosted_run(configured(request.overrides, request.config_dir), request)


def _refuse(error: Exception, code: ExitCode) -> int:
    print(f"harness: {flat(said_by(error))}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())
