"""The arguments of `run.py` in the order in which hydra reads them: options first, then settings.

Hydra's parser ends the list of settings at the first option behind it, and shows its own usage when another setting
follows. People write options where they like.
"""

import argparse
from collections.abc import Sequence

from hydra._internal.utils import get_args_parser

from harness.config.near_names import nearest
from harness.config.override_keys import setting_names
from harness.errors import ConfigError

OPTIONS = "--config-dir DIR, --multirun (-m), --cfg job, --help"
"""The options that people need; hydra has more."""


def options_first(arguments: Sequence[str]) -> tuple[str, ...]:
    """The same arguments, in this order.

    Raises:
        ConfigError: An option does not exist, or lacks its value.
    """
    parser = get_args_parser()
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
