"""`harness plan`: estimates the duration of a sweep for several numbers of lanes."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.own_settings import add_own_settings
from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from harness.commands.estimator import Estimate, Estimator

HELP = "estimate a sweep's duration from recorded step times, and recommend workers and lanes"
EXAMPLE = "harness plan task=webarena llm=openai --from results/sample --rpm 500 --instances shop=4"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_own_settings(parser, "the sweep, as for run.py")
    parser.add_argument(
        "--from",
        type=Path,
        dest="folder",
        metavar="RUN",
        help="run folder to take step times from (default: that of the sweep)",
    )
    parser.add_argument("--rpm", type=float, metavar="N", help="requests per minute that the endpoint allows")
    parser.add_argument("--tpm", type=float, metavar="N", help="tokens per minute that the endpoint allows")
    parser.add_argument(
        "--instances", action="append", default=[], metavar="SITE=N", help="number of instances of a site; repeatable"
    )
    parser.add_argument(
        "--lanes", type=int, action="append", metavar="N", help="total number of lanes to consider; repeatable"
    )
    parser.add_argument(
        "--cores", type=int, metavar="N", help="cores of the machine that will run it (default: this machine)"
    )
    parser.add_argument(
        "--memory-gb", type=float, metavar="N", help="free memory of that machine (default: free memory here)"
    )
    parser.add_argument(
        "--step-cpu-ms",
        type=float,
        # `STEP_CPU_S` of the forecast, which is imported only when the command runs.
        default=130.0,
        metavar="MS",
        help="processor time of one step on your pages (default: 130)",
    )
    parser.add_argument(
        "--reset-s",
        type=float,
        metavar="S",
        help="time of one reset of a site (default: as recorded in the run folder)",
    )


def run(options: argparse.Namespace) -> int:
    import asyncio
    from dataclasses import replace

    from harness.cli import configured
    from harness.commands.estimator import LANES, Estimator, WhatIf
    from harness.evaluation.builder import load_tasks
    from harness.evaluation.preflight import what_is_missing
    from harness.reports.console import Terminal
    from harness.runner.capacity import machine_capacity
    from harness.runs.run import run_folder

    for name in ("rpm", "tpm", "cores", "memory_gb", "step_cpu_ms", "reset_s"):
        if (value := getattr(options, name)) is not None and not value > 0:
            raise ConfigError(f"--{name.replace('_', '-')} {value:g} is too small; give more than 0")
    if lanes := [count for count in options.lanes or () if count < 1]:
        raise ConfigError(f"--lanes {lanes[0]} is too small; give at least 1")
    config = configured(options.overrides, options.config_dir)
    what_if = WhatIf(
        limits=replace(
            config.llm,
            requests_per_minute=options.rpm or config.llm.requests_per_minute,
            tokens_per_minute=options.tpm or config.llm.tokens_per_minute,
        ),
        instances=dict(map(_instances, options.instances)),
        lanes=sorted(options.lanes or LANES),
        step_cpu_s=options.step_cpu_ms / 1000,
        reset_s=options.reset_s,
    )
    console = Terminal(highlight=False)
    folder = run_folder(options.folder) if options.folder else Path(config.run.root, config.run.id)
    tasks = load_tasks(config)
    for sentence in asyncio.run(what_is_missing(config, tasks)):
        console.say(sentence)
    sweep = Estimator(tasks, config.sites, folder, trials=config.trials, what_if=what_if)
    there = machine_capacity()
    there = replace(there, cores=options.cores or there.cores)
    if options.memory_gb is not None:
        there = replace(there, memory_mb=int(options.memory_gb * 1024))
    _tell(console, sweep, list(sweep.options(there)))
    return ExitCode.DONE


def _instances(said: str) -> tuple[str, int]:
    site, _, count = said.partition("=")
    if not site or not count.isdigit() or int(count) < 1:
        raise ConfigError(f"--instances {said} must be SITE=N with at least 1, as in shop=4")
    return site, int(count)


def _tell(console: "Console", sweep: "Estimator", options: "list[Estimate]") -> None:
    from rich.table import Table

    from harness.commands.estimator import best
    from harness.runs.format import duration, percent

    console.print(f"{len(sweep.tasks)} tasks, {sweep.known} of them with recorded step times", markup=False)
    if sweep.reset_times:
        known = {site: took for site, took in sweep.reset_times.items() if took is not None}
        said = ", ".join(f"{site} {duration(took)}" for site, took in known.items()) or "none"
        without = sorted(sweep.reset_times.keys() - known.keys())
        left_out = f"; not recorded, and counted as 0: {', '.join(without)} (give --reset-s)" if without else ""
        console.print(f"time of a reset: {said}{left_out}", markup=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("workers", "lanes each", "expected", "requests/min", "processor", "bound by"):
        table.add_column(name, justify="left" if name == "bound by" else "right")
    for one in options:
        row = one.forecast
        table.add_row(
            *(str(one.workers), str(one.lanes), duration(row.wall_s), f"{row.requests_per_minute:.0f}"),
            *(percent(row.processor), row.bound if one.fits else f"{row.bound}; more memory than is free"),
        )
    console.print(table)
    chosen = best(options)
    console.print(
        f"best: workers={chosen.workers} executor.lanes={chosen.lanes}, {duration(chosen.forecast.wall_s)},"
        f" bound by {chosen.forecast.bound}",
        markup=False,
    )
