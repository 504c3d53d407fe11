"""`run.py`: parses the arguments, runs the evaluation, returns the exit code; a usage error is one sentence."""

import asyncio
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from harness.actions.truncate import cut
from harness.config import PROJECT, Config, ConfigSchema, register
from harness.config.argument_secrets import RedactedArguments, redact_arguments, redact_hydra_files
from harness.config.option_order import any_help_accepted, options_first
from harness.config.override_errors import sentence
from harness.config.plugin_packages import choose_plainly, plugin_folders, search_plugins
from harness.errors import ConfigError, ExitCode, HarnessError, StorageError, UsageError, said_by
from harness.escape import flat, print_any_character
from harness.files.disk import foreseen
from harness.files.output import flush_output, output_error
from harness.internal_error import InternalErrorGuard, flatten_group, without_secrets
from harness.secrets.redacting_stream import redact_output, redacted_output, restore_output

if TYPE_CHECKING:
    from harness.reports.console import Terminal

_SHOWING = frozenset({"--cfg", "-c", "--info", "-i"})
WRONG = (HydraException, OmegaConfBaseException, YAMLError, ValueError, RecursionError)
"""What hydra raises for arguments it cannot make settings of; ValueErrors of files that are not text among them."""
_RESULTS = Path("results")
"""The default of `run.root`."""
_MODE = re.compile(rb"\bmode\b")
_OUTPUT = re.compile(r"\+*hydra\.(run|sweep|job|output_subdir)\b")
"""Settings of Hydra in arguments that leave its mode alone; `hydra.run.dir=…` is how a run is resumed."""
_WORST_FIRST = (ExitCode.INTERRUPTED, ExitCode.UNFORESEEN, ExitCode.USAGE, ExitCode.UNSCORED, ExitCode.BELOW)


def run(arguments: Sequence[str], *, program: str = "run.py", begun: float | None = None) -> int:
    """Compose the configuration from `arguments` and evaluate; with `-m`, one run after the other.

    Args:
        arguments: What was typed after the program.
        program: What the person typed, for messages.
        begun: When the command began, by `time.monotonic`; None = now.
    """
    begun = time.monotonic() if begun is None else begun
    print_any_character()
    sys.argv = [program, *arguments]  # hydra reads it
    try:
        with InternalErrorGuard(program, redact=lambda text: without_secrets(text, arguments)) as fault:
            return _flushed(arguments, begun)
        return fault.code
    finally:
        restore_output()


def _flushed(arguments: Sequence[str], begun: float) -> int:
    try:
        try:
            return _run(arguments, begun)
        finally:  # also where hydra exits
            flush_output()
    except StorageError as error:
        return _refuse(str(error))


def _run(arguments: Sequence[str], begun: float) -> int:
    register()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # otherwise hydra prints a traceback and chooses the exit code itself
    try:
        arguments = options_first(arguments)
        # For what it refuses: raised within hydra, the same ConfigError would count as an internal error.
        plugin_folders()
        search_plugins(_config_dir(arguments))
        hidden = redact_arguments(choose_plainly(arguments))
    except ConfigError as error:
        return _refuse(said_by(error))
    sys.argv = [sys.argv[0], *hidden.arguments]
    redact_output(hidden.redactor())
    if any(argument.partition("=")[0] in _SHOWING for argument in arguments):
        _keep_quiet_about(hidden)
    return _compose(hidden, begun)


def _keep_quiet_about(hidden: RedactedArguments) -> None:
    """Before hydra prints the settings: what in them is secret, the person's own files included."""
    from harness.config.config_tree import build_redactor

    overrides = [option for option in hidden.arguments if "=" in option and not option.startswith("-")]
    with suppress(ConfigError):  # which hydra will say better
        redact_output(build_redactor(configured(overrides, _config_dir(hidden.arguments)).tree()))


def _config_dir(options: Sequence[str]) -> Path | None:
    folders = [options[at + 1] for at, option in enumerate(options[:-1]) if option in ("--config-dir", "-cd")]
    folders += [option.partition("=")[2] for option in options if option.startswith("--config-dir=")]
    return Path(folders[0]) if folders else None


def _compose(hidden: RedactedArguments, begun: float) -> int:
    runs: list[tuple[Path, int]] = []
    has_results = _RESULTS.exists()

    @hydra.main(version_base="1.3", config_path=str(PROJECT / "configs"), config_name="config")
    def job(tree: DictConfig) -> None:
        # Hydra goes on with the next run of a sweep, whatever the one before came to.
        if ExitCode.INTERRUPTED not in (code for _, code in runs):
            since = time.monotonic() if runs else begun  # the first run of a sweep is the one that waited for imports
            runs.append((Path(HydraConfig.get().runtime.output_dir), _run_one(tree, hidden, since)))

    try:
        once = nullcontext() if _may_set_mode(hidden.arguments) else _composing_once()
        with any_help_accepted(), redact_hydra_files(), once:
            job()
    except WRONG as error:
        return _refuse(sentence(error))
    except OSError as error:
        if error.filename is None:  # of the help or the settings that it prints
            return _refuse(str(output_error(error)))
        place = cut(str(error.filename), 300)
        return _refuse(
            f"the run folder cannot be created: {error.strerror} ({place}); set run.root to a writable folder"
        )
    finally:
        if not has_results:
            _forget_empty(_RESULTS)
    if len(runs) > 1:
        _say_sweep(runs)
    codes = {code for _, code in runs}
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.DONE)


def _say_sweep(runs: Sequence[tuple[Path, int]]) -> None:
    from harness.reports.console import Terminal
    from harness.reports.page_writers import SWEEPS
    from harness.reports.sweep_table import SweepRun, print_sweep
    from harness.runs import Run

    console = Terminal()
    try:
        print_sweep(console, [SweepRun(folder, ExitCode(code)) for folder, code in runs])
        counts = Counter(folder for folder, _ in runs)
        for folder in (folder for folder, count in counts.items() if count > 1):
            console.say(
                f"{counts[folder]} runs of the sweep have the folder {folder.name}; put what differs into its name, as"
                " in 'run.id=NAME-${llm.model}'"
            )
        played = [Run(folder) for folder in counts if (folder / "run.json").is_file()]
        for name in SWEEPS.names():
            with SWEEPS.running(name):
                for line in SWEEPS.find(name)(played):
                    console.say(line)
    except HarnessError as error:  # each run has said its own results
        _refuse(f"the table of the sweep cannot be made: {said_by(error)}")


def configured(overrides: Sequence[str], config_dir: Path | None = None) -> Config:
    """The configuration `run` would evaluate with these overrides, and with `--config-dir` if that is given.

    Raises:
        ConfigError: Something in them is unknown or wrong.
    """
    register()
    search_plugins(config_dir)
    hidden, tree = redact_arguments(choose_plainly(overrides)), None
    try:
        with hydra.initialize_config_dir(str(PROJECT / "configs"), version_base="1.3"):
            tree = hydra.compose("config", overrides=list(hidden.arguments))
            return _checked(tree, hidden)
    except WRONG as error:
        raise ConfigError(hidden.redactor(tree).said(sentence(error))) from error
    except ConfigError as error:
        raise ConfigError(hidden.redactor(tree).said(said_by(error))) from error
    except OSError as error:  # the name of a setting may be looked up as that of a file
        place = hidden.redactor(tree).said(cut(str(error.filename), 300))
        raise ConfigError(f"the settings cannot be read: {error.strerror} ({place}); correct them") from error


def _checked(tree: DictConfig, hidden: RedactedArguments) -> Config:
    """The configuration of a composed tree, with the secrets in it.

    Raises:
        ConfigError: It holds a setting that there is not.
    """
    from harness.config.config_validation import check_values  # `--help` must not wait for it
    from harness.config.override_keys import refuse_misspelt

    try:
        refuse_misspelt(tree)
        composed = OmegaConf.to_object(tree)
    except RecursionError as error:
        raise ConfigError(sentence(error)) from error
    assert isinstance(composed, ConfigSchema)
    config = Config.of(hidden.put_back(composed))
    check_values(config)
    if config.task.suite:
        from harness.evaluation.suite_file import expand_suite

        compose = partial(_member, hidden, (config.browser.width, config.browser.height))
        return expand_suite(config, compose, limits=_limits_in(hidden.arguments))
    return config


def _limits_in(arguments: Sequence[str]) -> frozenset[str]:
    """The names of the limits that arguments set; as one may be set to its default, its value does not tell."""
    given = [argument.lstrip("+").partition("=") for argument in arguments]
    at_once = " ".join(value for name, _, value in given if name == "limits")  # {max_steps:30}
    return frozenset(
        [name.removeprefix("limits.") for name, _, _ in given if name.startswith("limits.")]
        + re.findall(r"(\w+)\s*:", at_once)
    )


def _member(hidden: RedactedArguments, viewport: tuple[int, int], choice: str, settings: Mapping[str, Any]) -> Config:
    """What `task=CHOICE` composes, for a benchmark of a suite, where the configurations of the run are found, and in
    its viewport.

    Raises:
        ConfigError: It cannot be composed with these settings.
    """
    found = [one for one in hidden.arguments if one.startswith("hydra.searchpath=")]
    place = ""
    try:
        pages = (f"browser.width={viewport[0]}", f"browser.height={viewport[1]}")
        tree = hydra.compose("config", overrides=[*found, f"task={choice}", "agent='null'", *pages])
        for key, value in settings.items():
            place = f"{key}: "
            merged = {**tree.task.arguments, **value} if key == "arguments" else value
            OmegaConf.update(tree, f"task.{key}", merged, merge=False)
        return _checked(tree, hidden)
    except MissingConfigException as error:
        known = ", ".join(one for one in error.options or () if one != "suite")
        raise ConfigError(f"there is no benchmark {choice!r}; choose from {known}") from error
    except (*WRONG, TypeError) as error:
        raise ConfigError(place + sentence(error)) from error


def _may_set_mode(arguments: Sequence[str]) -> bool:
    """Whether an argument, or a file that is composed, may say something of `hydra.mode`."""
    if any(argument.startswith("-") or ("hydra" in argument and not _OUTPUT.match(argument)) for argument in arguments):
        return True
    # Files, too: one that set the mode was ignored without a word.
    folders = (PROJECT / "configs", *plugin_folders().values())
    texts = (path.read_bytes() for folder in folders for path in folder.rglob("*.yaml"))
    return any(b"hydra" in text and _MODE.search(text) for text in texts)


@contextmanager
def _composing_once() -> Iterator[None]:
    """Spare hydra composing everything a first time, 0.3 s, only to read `hydra.mode`, which is not set."""
    theirs = getattr(Hydra, "get_mode", None)
    setattr(Hydra, "get_mode", lambda *_, **__: None)  # noqa: B010 (a method)
    try:
        yield
    finally:
        setattr(Hydra, "get_mode", theirs)  # noqa: B010


def _run_one(tree: DictConfig, hidden: RedactedArguments, begun: float) -> int:
    folder = Path(HydraConfig.get().runtime.output_dir)
    redact_output(hidden.redactor(tree).showing(str(folder)))
    with InternalErrorGuard(sys.argv[0], redact=redacted_output) as fault:
        return _played(tree, folder, hidden, begun)
    return fault.code


def _played(tree: DictConfig, folder: Path, hidden: RedactedArguments, begun: float) -> int:
    try:
        return _evaluate(_checked(tree, hidden), folder, begun)
    except OmegaConfBaseException as error:
        return _refuse(sentence(error))
    except (HarnessError, OSError, ExceptionGroup) as error:
        return _refuse_each(error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return ExitCode.INTERRUPTED
    finally:
        _forget_empty(folder)


def _evaluate(config: Config, folder: Path, begun: float) -> int:
    from harness.evaluation.conditions import below_least, exit_code
    from harness.evaluation.summary_cache import load_summary  # `--help` must not wait for it
    from harness.journal.store import check_shape
    from harness.reports.console import Terminal
    from harness.reports.table import print_summary
    from harness.runs.baselines import baselines_of_run
    from harness.runs.run import Run

    check_shape(folder)
    console = Terminal()
    # Without it, a start took 3.5 s to find out that none of 10,000 tasks is pending.
    if (summary := load_summary(folder, settings=config.tree() | config.measured(), begun=begun)) is not None:
        print_summary(console, summary, str(folder), baselines=baselines_of_run(folder, summary.dialect))
        run = Run(folder, scoring=config.scoring.value)
        low = below_least(run, config.fail_under_of)
        return exit_code(console, summary.statistics.all, config.fail_under, low, left_out=run.left_out)
    from harness.working_time import run_in_working_time

    return run_in_working_time(_play(config, folder, console, begun))


async def _play(config: Config, folder: Path, console: "Terminal", begun: float) -> int:
    from harness.evaluation.first_worker import first_worker

    async with nullcontext() if config.run.dry else first_worker(config.executor, folder) as launch:
        from harness.evaluation.orchestrator import evaluate  # heavy imports, while the worker imports, too

        return await evaluate(config, folder, console, _arguments(), begun=begun, launch=launch)


def _arguments() -> tuple[str, ...]:
    """What composes this very configuration again; of several (`-m`) this one."""
    given = HydraConfig.get()
    found = [source.path for source in given.runtime.config_sources if source.provider == "command-line"]
    return (*(f"--config-dir={path}" for path in found), *given.overrides.task)


def _refuse_each(error: Exception) -> int:
    """Print the first of the foreseen errors; raise any other error again."""
    found = [foreseen(one) or one if isinstance(one, OSError) else one for one in flatten_group(error)]
    if not all(isinstance(one, HarnessError) for one in found):
        raise error
    return _refuse(str(found[0]), ExitCode.USAGE if isinstance(found[0], UsageError) else ExitCode.UNSCORED)


def _refuse(message: str, code: ExitCode = ExitCode.USAGE) -> int:
    with suppress(OSError):  # stderr is closed
        print(f"{sys.argv[0]}: {flat(message)}", file=sys.stderr)  # noqa: T201
    return code


def _forget_empty(folder: Path) -> None:
    """Hydra makes the folder before anything is known to be right; an unused one is clutter."""
    with suppress(OSError):
        folder.rmdir()
