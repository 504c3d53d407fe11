"""The arguments of `run.py` in the order in which hydra reads them: options first, then settings.

Hydra's parser ends the list of settings at the first option behind it, and shows its own usage when another setting
follows. People write options where they like.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace

from hydra._internal import utils

from harness.config.near_names import nearest
from harness.config.override_keys import setting_names
from harness.errors import ConfigError

OPTIONS = "--config-dir DIR, --multirun (-m), --cfg job, --help"
"""The options that people need; hydra has more."""


class _HydraParser(argparse.ArgumentParser):
    def _check_help(self, action: argparse.Action) -> None:
        """Since Python 3.14, argparse checks each help text at once; that of `--shell-completion` is not a string."""


@contextmanager
def any_help_accepted() -> Iterator[None]:
    """Let hydra make its parser on Python 3.14, too: https://github.com/facebookresearch/hydra/issues/3121"""
    setattr(utils, "argparse", SimpleNamespace(ArgumentParser=_HydraParser))  # noqa: B010 (a module)
    try:
        yield
    finally:
        setattr(utils, "argparse", argparse)  # noqa: B010


def options_first(arguments: Sequence[str]) -> tuple[str, ...]:
    """The same arguments, in this order.

    Raises:
        ConfigError: An option does not exist, or lacks its value.
    """
    with any_help_accepted():
        parser = utils.get_args_parser()
    # Otherwise argparse prints hydra's usage and ends the process.
    parser.exit_on_error = False
    try:
        found, unknown = parser.parse_known_intermixed_args(list(arguments))
    except argparse.ArgumentError as error:
        what = "give --cfg job" if error.argument_name == "--cfg/-c" else error.message
        raise ConfigError(f"{error.argument_name}: {what}; --help says more") from error
    if unknown:
        raise ConfigError(_unknown(unknown[0]))
    settings = list(found.overrides)
    options = []
    for argument in arguments:
        if settings and argument == settings[0]:
            del settings[0]
        else:
            options.append(argument)
    return (*options, *found.overrides)


def _unknown(option: str) -> str:
    name = option.lstrip("-").partition("=")[0].replace("-", "_")
    known = tuple(setting_names())
    near = name if name in known else nearest(name, known)
    hint = f"; did you mean {near}=…" if near else ""
    return f"{option} is not an option ({OPTIONS}); settings are written KEY=VALUE{hint}"
