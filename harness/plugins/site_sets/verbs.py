"""What each verb of `harness sites` does and prints."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from harness.api.processes import module_arguments
from harness.api.text import flat
from harness.errors import ConfigError, ExitCode, HarnessError
from harness.plugins.site_sets import folder
from harness.plugins.site_sets.backend import Instance, shell
from harness.plugins.site_sets.http_request import accepts
from harness.plugins.site_sets.lifecycle import Lifecycle
from harness.plugins.site_sets.process_backend import clean_environment
from harness.plugins.site_sets.remote_backend import control_state
from harness.plugins.site_sets.served import group_at, write_served
from harness.plugins.site_sets.set_file import ENGINES
from harness.plugins.site_sets.state import RESETTING, SEED, STARTING, STOPPED

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SMALL_BYTES = 20_000_000
_LOW_BYTES = 100_000_000


def _print(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def install(of: Lifecycle, options: Namespace) -> int:
    """Run the commands of the set that install its programs; what they say is shown as it comes."""
    if not of.set.install:
        raise ConfigError(f"{of.set.path}: the set has nothing to install; run `harness sites up {options.set}`")
    words = {"python": sys.executable, "set": str(of.set.path.parent)}
    for command in of.set.install:
        code = subprocess.run(shell(command, words), shell=True, cwd=of.set.path.parent, check=False).returncode
        if code:
            raise ConfigError(f"{of.set.path}: `install` ended with code {code}; see above, then run it again")
    _print(f"{of.set.name} is installed: harness sites up {options.set}")
    return ExitCode.DONE


def up(of: Lifecycle, options: Namespace) -> int:
    started = of.up(options.sites, options.scale, pull=options.pull)
    path = write_served(of, sys.executable)
    _tidy_behind(of)
    _print(
        f"{started} of {len(of.groups(of.scale(), options.sites))} came up" if started else "all is up already",
        f"harness run sites=from:{_shown(path)} …",
    )
    return ExitCode.DONE


def reset(of: Lifecycle, options: Namespace) -> int:
    names = list(options.sites)
    if options.to != SEED:
        _check_named(of, options.to)
    if options.url is not None:
        if (at := group_at(of, options.url)) is None:
            raise ConfigError(f"--url {options.url[:200]}: no site of {of.set.name} has this address; see `status`")
        names.append(at)
    begun = time.monotonic()
    compared = {unit.name for unit in of.state.units() if unit.state().verified}
    groups = of.reset(names, options.to)
    write_served(of, sys.executable)
    _tidy_behind(of)
    took_s = time.monotonic() - begun
    planes = [one for group in groups for one in of.members(group) if one.service.control is not None]
    is_verified = all(one.unit.state().verified for one in planes)
    how = "verified" if is_verified else "as its control plane says, not verified: there are no `state_urls`"
    if is_verified and not all(one.name in compared or one.service.digest for one in planes):
        how = "as its control plane says, not verified: its state is noted, and the next resets are compared with it"
    _print(f"{', '.join(one.name for one in groups)}: {options.to}, {how}, {took_s:.1f} s")
    return ExitCode.DONE


def snapshot(of: Lifecycle, options: Namespace) -> int:
    if not _NAME.fullmatch(options.name) or options.name == SEED:
        raise ConfigError(f"snapshot {options.name[:80]!r}: use a-z, 0-9, _ and -; {SEED} is the one that `up` takes")
    for group in of.snapshot(options.name, options.sites, options.instance):
        _print(f"{group.name}: {options.name}")
    return ExitCode.DONE


def _check_named(of: Lifecycle, name: str) -> None:
    if name not in (known := of.snapshots.names()):
        raise ConfigError(f"there is no snapshot {name[:80]}; there are: {', '.join(known) or 'none'}")


def snapshots(of: Lifecycle, options: Namespace) -> int:
    for name, service, found, size, at in of.snapshots.rows():
        _print(f"{name:<12} {service:<16} {size / 1e6:>10,.1f} MB  {_at(at)}  {found}")
    return ExitCode.DONE


def rm(of: Lifecycle, options: Namespace) -> int:
    if options.name == SEED:
        raise ConfigError(f"{SEED} is what resets go back to; `harness sites down {options.set} --all` removes it")
    _check_named(of, options.name)
    with of.state.lock("set"):
        of.forget(options.name)
    return ExitCode.DONE


def scale(of: Lifecycle, options: Namespace) -> int:
    started = of.scale_to(options.count)
    path = write_served(of, sys.executable)
    _tidy_behind(of)
    _print(f"{options.count} instances, {started} of them new: {_shown(path)}")
    return ExitCode.DONE


def down(of: Lifecycle, options: Namespace) -> int:
    if options.all and (options.sites or options.keep_data):
        raise ConfigError("--all removes everything; give it without SITE and --keep-data")
    number = of.down(options.sites, keep_data=options.keep_data, everything=options.all)
    write_served(of, sys.executable)
    _print(f"{number} {'stopped' if options.keep_data else 'removed'}")
    return ExitCode.DONE


def logs(of: Lifecycle, options: Namespace) -> int:
    for group in of.groups(of.scale(), options.sites):
        for one in of.members(group):
            for line in of.log(one).splitlines()[-200:]:
                _print(f"{one.name} | {flat(line)}")
    return ExitCode.DONE


def tidy(of: Lifecycle, options: Namespace) -> int:
    of.tidy()
    return ExitCode.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One instance, for `status`."""

    instance: str
    sites: list[str]
    state: str
    """`healthy`, or what is the matter."""
    why: str
    since: str
    url: str
    snapshot: str
    digest: str
    bytes: int


def status(of: Lifecycle, options: Namespace) -> int:
    groups = of.groups(of.scale(), options.sites)
    rows = [_row(of, one) for group in groups for one in of.members(group)]
    free = shutil.disk_usage(of.state.path).free
    need = max((size for name, _, _, size, _ in of.snapshots.rows() if name == SEED), default=0)
    is_full = bool(rows) and free < need + _LOW_BYTES
    if options.json:
        _print(*(json.dumps(asdict(row), ensure_ascii=False) for row in rows))
    else:
        for row in rows:
            why = f" ({row.why})" if row.why else ""
            disk, begun = f"{row.bytes / 1e6:,.1f} MB", row.snapshot if row.digest else "-"
            facts = (f"{row.instance:<18} {row.state:<10} {row.since}", f"{row.url:<28}", f"{disk:>12}", begun)
            _print("  ".join((*facts, row.digest[:19] + why)))
        if not rows:
            _print("nothing is up")
        if is_full:
            more = f"a reset needs {(need + _LOW_BYTES) / 1e6:,.0f} MB"
            _print(f"out of disk: {free / 1e6:,.0f} MB free below {of.state.path}; {more}")
    is_well = bool(rows) and not is_full and all(row.state == "healthy" for row in rows)
    return ExitCode.DONE if is_well else ExitCode.BELOW


def _row(of: Lifecycle, one: Instance) -> Row:
    known, stamp = one.unit.state(), folder.stamp(one.unit.data)
    state, why = "healthy", ""
    if known.phase == STOPPED:
        state = "down"
    elif not of.state.is_free(f"{_group(of, one)}@{one.unit.number}"):
        state = "resetting" if known.phase == RESETTING else "starting"
    elif known.phase in (RESETTING, STARTING):
        state, why = "down", f"{known.phase} did not finish; `up` or `reset` repairs it"
    elif why := of.unhealthy(one):
        state = "down"
    elif one.service.control is not None and (why := control_state(one, one.service.control)):
        state = "resetting"
    elif known.mark != stamp:
        state, why = "dirty", "files were written since it was reset"
    return Row(
        instance=one.name,
        sites=list(one.service.sites),
        state=state,
        why=of.redacted(why) if why else "",
        since=_at(known.since),
        url=of.url(one),
        snapshot=known.snapshot,
        digest=known.verified or of.snapshots.digest(known.snapshot, one.service.name),
        bytes=folder.size(one.unit.data),
    )


def _group(of: Lifecycle, one: Instance) -> str:
    return next(group[0] for group in of.set.groups() if one.service.name in group)


def doctor(of: Lifecycle, options: Namespace) -> int:
    """Each line is what was looked at, and `no:` with what is missing."""
    place = of.state.path
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    shares = "yes" if _has_reflink(place) else "no, so each copy is written in full"
    lines = [
        (free > _LOW_BYTES, f"disk: {free / 1e9:,.1f} GB free below {place}"),
        (True, f"copies share their blocks (reflink): {shares}"),
        (True, f"memory: {psutil.virtual_memory().available / 1e9:,.1f} GB available"),
    ]
    for name in of.set.services:
        lines += _needs(of, of.instance(name, 0))
    for one in (one for group in of.groups(of.scale()) for one in of.members(group)):
        if taken := of.backend(one.service).memory(one):
            lines.append((True, f"{one.name}: takes {taken} of memory"))
    _print(*(f"{'yes' if good else 'no '}  {flat(text)}" for good, text in dict.fromkeys(lines)))
    return ExitCode.DONE if all(good for good, _ in lines) else ExitCode.BELOW


def _needs(of: Lifecycle, one: Instance) -> Iterator[tuple[bool, str]]:
    """What a service needs of this machine, and whether it is there."""
    service, name = one.service, one.service.name
    if service.backend in ENGINES:
        try:
            yield True, f"{service.backend}: {of.containers.version()}"
            yield True, f"{name}: image {of.containers.image(one)[:12]}"
        except HarnessError as error:
            yield False, str(error)
            return
    if service.port and not of.backend(service).is_running(one):
        is_free = not accepts(service.port)
        yield is_free, f"{name}: port {service.port} is {'free' if is_free else 'used by another program'}"
    if service.backend == "remote":
        why = of.unhealthy(one)
        yield not why, f"{name}: {service.url} {why or 'answers'}"
    variables = list(service.pass_environment)
    if service.control is not None:
        why = control_state(one, service.control)
        yield not why, f"{name}: control plane {service.control.url}: {why or 'ready'}"
        if service.control.token_variable and service.control.kind != "webharbor":  # whose state says if it needs one
            variables.append(service.control.token_variable)
    for variable in variables:
        is_set = bool(os.environ.get(variable))
        yield is_set, f"{name}: {variable} is {'set' if is_set else 'not set'} in the environment"


def _has_reflink(place: Path) -> bool:
    import tempfile

    try:
        with tempfile.TemporaryDirectory(dir=place) as made:
            (Path(made) / "a").write_bytes(b"x" * 4096)
            command = ["cp", "--reflink=always", "a", "b"]
            return subprocess.run(command, cwd=made, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _tidy_behind(of: Lifecycle) -> None:
    """Start `tidy`, which goes on when this command, and the run that called it, have ended.

    A state that is copied in no time needs no spare: its folders are only swept, which saves the start of a program.
    """
    if max((size for name, _, _, size, _ in of.snapshots.rows() if name == SEED), default=0) < _SMALL_BYTES:
        of.sweep()
        return
    subprocess.Popen(
        [sys.executable, *module_arguments("harness.main"), "sites", "tidy", str(of.state.path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=clean_environment(),
    )


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _at(seconds: float) -> str:
    with suppress(ValueError, OverflowError, OSError):  # a file that was written by hand
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) if seconds else "-"
    return "-"
