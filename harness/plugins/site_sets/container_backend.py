"""Services that are containers, driven by the command line of podman or docker.

A container is ours if it has both labels of the instance; nothing else is stopped or removed, whatever its name is.
State is in folders of the instance that are mounted at the paths of `seed`: all else in a container is thrown away
when it is reset. No image is pulled here but by `harness sites up --pull`.
"""

import json
import os
import shlex
import subprocess
from pathlib import Path

from harness.errors import ConfigError
from harness.plugins.site_sets.backend import Instance, SiteFailed, last_line

KEY_LABEL, UNIT_LABEL = "cairn.sites", "cairn.unit"
_COMMAND_S = 3600.0


class ContainerBackend:
    """See the module."""

    def __init__(self, engine: str, options: tuple[str, ...] = ()) -> None:
        """`options`: before the verb, such as `--runtime runc`."""
        self.engine = engine
        self._options = options
        self._images: dict[str, str] = {}
        """Ids of images that this command has asked for."""

    def is_running(self, one: Instance) -> bool:
        return any(self._states(one).values())

    def start(self, one: Instance) -> None:
        self.stop(one)
        service, mounts = one.service, []
        for number, path in enumerate(service.seed):
            place = one.unit.data / str(number)
            place.mkdir(parents=True, exist_ok=True)
            mounts += ["-v", f"{place.resolve()}:{path}"]
        network = [] if _names_network(service.options) else self._network(one)
        done = self._call(
            *("run", "--detach", "--pull=never", "--name", _container_name(one)),
            *_labels(one),
            *network,
            *mounts,
            *(f"--env={name}={one.said(value)}" for name, value in service.environment.items()),
            *(f"--env={name}" for name in service.pass_environment if name in os.environ),
            *map(one.said, service.options),
            one.image,
            *map(one.said, shlex.split(service.command)),
        )
        if done.returncode != 0:
            self.stop(one)
            raise SiteFailed(f"{one.name}: {self.engine} cannot start {one.image}: {last_line(done.stderr)}")

    def stop(self, one: Instance) -> None:
        for container in self._states(one):
            self._call("stop", "--time", f"{one.service.stop_s:.0f}", container)
            done = self._call("rm", "--force", "--volumes", container)
            if done.returncode != 0 and container in self._states(one):
                raise SiteFailed(f"{one.name}: {self.engine} cannot remove its container: {last_line(done.stderr)}")

    def fill(self, one: Instance, into: Path) -> None:
        """Copy what the image has at the paths of `seed`."""
        if not one.service.seed:
            return
        self.stop(one)
        made = self._call("create", "--pull=never", *_labels(one), one.service.image, "true")
        if made.returncode != 0:
            raise SiteFailed(f"{one.name}: {self.engine} cannot use {one.service.image}: {last_line(made.stderr)}")
        container = made.stdout.split()[-1]
        try:
            for number, path in enumerate(one.service.seed):
                place = into / str(number)
                place.mkdir(parents=True)
                copied = self._call("cp", f"{container}:{path}/.", str(place))
                if copied.returncode != 0 and "no such file" not in copied.stderr.lower().replace(
                    "could not find", "no such file"
                ):
                    raise SiteFailed(
                        f"{one.name}: {path} of {one.service.image} cannot be copied: {last_line(copied.stderr)}"
                    )
        finally:
            self.stop(one)

    def keep(self, one: Instance) -> str:
        for container in self._states(one):
            self._call("stop", "--time", f"{one.service.stop_s:.0f}", container)
            changes = [f"LABEL {KEY_LABEL}={one.key}"]
            changes += [f"ENV {name}=" for name in one.service.pass_environment]  # no credential stays in an image
            done = self._call("commit", *(word for one in changes for word in ("--change", one)), container)
            if done.returncode != 0:
                raise SiteFailed(f"{one.name}: {self.engine} cannot keep its state: {last_line(done.stderr)}")
            return done.stdout.split()[-1].removeprefix("sha256:")
        raise SiteFailed(f"{one.name} does not run, so its state cannot be kept; run `harness sites up`")

    def has_kept(self, image: str) -> bool:
        """Whether the image of a snapshot is still there."""
        return self._call("image", "inspect", image).returncode == 0

    def forget(self, image: str, key: str) -> None:
        """Remove the image of a snapshot, if it is ours and nothing uses it."""
        found = self._call("image", "inspect", "--format", "{{json .Config.Labels}}", image)
        if found.returncode == 0 and f'"{KEY_LABEL}":"{key}"' in found.stdout:
            self._call("rmi", image)

    def execute(self, one: Instance, command: str) -> tuple[int, str]:
        for container, runs in self._states(one).items():
            if runs:
                done = self._call("exec", container, "sh", "-c", one.shell(command))
                return done.returncode, last_line(done.stdout + done.stderr)
        return 1, "it does not run"

    def log(self, one: Instance) -> str:
        found = list(self._states(one))
        if not found:
            return ""
        done = self._call("logs", "--tail", "2000", found[0])
        return done.stdout + done.stderr

    def memory(self, one: Instance) -> str:
        for container, runs in self._states(one).items():
            if runs:
                done = self._call("stats", "--no-stream", "--format", "{{.MemUsage}}", container)
                return done.stdout.partition("/")[0].strip()
        return ""

    def image(self, one: Instance) -> str:
        if known := self._images.get(one.service.image):
            return known
        done = self._call("image", "inspect", one.service.image)
        if done.returncode != 0:
            raise ConfigError(
                f"services.{one.service.name}.image: {self.engine} has no image {one.service.image}; get it with"
                f" `{self.engine} pull {one.service.image}`, load it from its archive, or start with --pull"
            )
        try:
            found = str(json.loads(done.stdout)[0]["Id"]).removeprefix("sha256:")
        except (ValueError, LookupError, TypeError) as error:
            raise SiteFailed(f"{self.engine} image inspect {one.service.image} does not answer as expected") from error
        self._images[one.service.image] = found
        return found

    def pull(self, one: Instance) -> None:
        """Raises: ConfigError: The image is not named by its digest, so that another one could come."""
        if self._call("image", "inspect", one.service.image).returncode == 0:
            return
        if "@sha256:" not in one.service.image:
            raise ConfigError(
                f"services.{one.service.name}.image: {one.service.image} has no digest, so it is not pulled; write"
                " NAME@sha256:…, or pull it by hand"
            )
        done = self._call("pull", one.service.image)
        if done.returncode != 0:
            raise SiteFailed(f"{one.name}: {one.service.image} cannot be pulled: {last_line(done.stderr)}")

    def remove_networks(self, key: str) -> None:
        """The networks of a state folder, once its containers are gone."""
        found = self._call("network", "ls", "--quiet", "--filter", f"label={KEY_LABEL}={key}")
        for network in found.stdout.split():
            self._call("network", "rm", network)

    def version(self) -> str:
        """Raises: SiteFailed: There is no such program."""
        return self._call("--version").stdout.strip()

    def _network(self, one: Instance) -> list[str]:
        """A network of the instance, where its services find each other by name, and its published port."""
        name = f"cairn-{one.key}-{one.unit.number}"
        if self._call("network", "inspect", name).returncode != 0:
            self._call("network", "create", "--label", f"{KEY_LABEL}={one.key}", name)
        inside = one.service.container_port or one.port
        alias = ["--network", name, "--network-alias", one.service.name]
        return alias if one.service.internal else [*alias, "-p", f"127.0.0.1:{one.port}:{inside}"]

    def _states(self, one: Instance) -> dict[str, bool]:
        """Id of each container with our labels, and whether it runs."""
        filters = (f"--filter=label={KEY_LABEL}={one.key}", f"--filter=label={UNIT_LABEL}={one.name}")
        done = self._call("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Status}}", *filters)
        if done.returncode != 0:
            raise SiteFailed(f"{self.engine} ps does not answer: {last_line(done.stderr)}")
        listed = (line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip())
        return {container: bool(status) and status[0].startswith("Up") for container, *status in listed}

    def _call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(
                [self.engine, *(self._options if arguments[0] != "--version" else ()), *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SiteFailed(f"{self.engine} {arguments[0]} did not end within {_COMMAND_S:.0f} s") from error
        except FileNotFoundError as error:
            raise SiteFailed(f"there is no program {self.engine}; install it, or use another `backend`") from error


def _names_network(options: tuple[str, ...]) -> bool:
    return any(one.split("=")[0] in ("--network", "--net") for one in options)


def _container_name(one: Instance) -> str:
    return f"cairn-{one.key}-{one.service.name}-{one.unit.number}"


def _labels(one: Instance) -> tuple[str, ...]:
    return (f"--label={KEY_LABEL}={one.key}", f"--label={UNIT_LABEL}={one.name}")
