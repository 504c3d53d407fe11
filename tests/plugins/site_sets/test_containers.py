"""Containers: with podman where it can run, and the commands that docker is given by a stand-in that records them."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import pytest

from harness.plugins.site_sets.http_request import free_port
from tests.plugins.site_sets.small_site import SmallSite

pytestmark = pytest.mark.integration
RUNTIME = ["--runtime", "runc"]
OPTIONS = ["--network=host", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]
PAGES = {
    "state": "#!/bin/sh\necho; echo $(ls /data) $(ls /extra)\n",
    "order": "#!/bin/sh\necho; touch /data/$QUERY_STRING /extra/$QUERY_STRING; echo done\n",
}


def podman(*words: str, stdin: Any = None) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["podman", *RUNTIME, *words], capture_output=True, check=False, stdin=stdin)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A web server of a static busybox, as an image that was built here."""
    busybox = shutil.which("busybox")
    if shutil.which("podman") is None or busybox is None:
        pytest.skip("podman and a static busybox are not installed")
    root = tmp_path_factory.mktemp("root")
    for name in ("bin", "data", "extra", "tmp", "www/cgi-bin"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    for name in ("sh", "ls", "touch", "httpd", "sleep", "wget"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "data" / "first").write_text("of the image")
    for name, text in PAGES.items():
        (root / "www" / "cgi-bin" / name).write_text(text)
        (root / "www" / "cgi-bin" / name).chmod(0o755)
    (root / "www" / "index.html").write_text("ready")
    name = f"localhost/cairn-test-{uuid4().hex[:12]}"
    tar = subprocess.run(["tar", "-C", str(root), "-c", "."], capture_output=True, check=True).stdout
    archive = root.parent / "root.tar"
    archive.write_bytes(tar)
    made = podman("import", str(archive), name)
    tried = podman("run", "--rm", *OPTIONS, name, "ls", "/data")
    if tried.stdout.strip() != b"first":
        pytest.skip(f"podman cannot run a container here: {(made.stderr + tried.stderr).decode()[-200:]}")
    yield name
    podman("rmi", "--force", name)


def served(image: str, **more: Any) -> dict[str, Any]:
    return {
        "backend": "podman",
        "image": image,
        "port": free_port(),
        "command": "httpd -f -p 127.0.0.1:{port} -h /www",
        "sites": ["shop"],
        "stop_s": 1,
        "health": {"timeout_s": 60},
        "options": OPTIONS,
        **more,
    }


def state(url: str) -> str:
    with urlopen(f"{url}/cgi-bin/state") as answer:
        return str(answer.read().decode()).strip()


def order(url: str, name: str) -> None:
    with urlopen(f"{url}/cgi-bin/order?{name}") as answer:
        answer.read()


def containers() -> set[str]:
    return set(podman("ps", "--all", "--quiet").stdout.decode().split())


@pytest.mark.slow
def test_a_container_is_put_back_with_its_folders_and_all_else_in_it(small: SmallSite, image: str) -> None:
    strange = podman("run", "--detach", "--name", f"strange-{uuid4().hex[:8]}", *OPTIONS, image, "sleep", "600")
    stranger = strange.stdout.decode().strip()
    try:
        small.write(
            {"app": served(image, seed=["/data"], patch=["touch /data/patched /extra/patched"])}, engine_options=RUNTIME
        )
        small.done("up")
        (url,) = small.urls()
        clean = "first patched patched"
        assert state(url) == clean
        assert "all is up already" in small.done("up")
        order(url, "mug")
        assert state(url) == "first mug patched mug patched"
        assert small.states() == {"app@0": "dirty"}
        small.done("snapshot", "with-mug")
        small.done("reset")
        assert (state(url), small.states()) == (clean, {"app@0": "healthy"})
        (row,) = small.rows()
        assert row["digest"].startswith("sha256:")
        small.done("scale", "2")
        assert [state(one) for one in small.urls()] == [clean, clean]
        (small.state / "services" / "app@1" / "data" / "0" / "left").write_text("x")
        podman("kill", *(ids := sorted(containers() - {stranger[:12]}))[:1])
        assert sorted(small.states().values())[0] in ("dirty", "down") and ids
        small.done("up")
        small.done("reset", "shop")
        assert [state(one) for one in small.urls()] == [clean, clean]
        before = containers()
        small.done("down", "--all")
        assert stranger[:12] in containers() and len(before - containers()) == 2
        inspected = json.loads(podman("inspect", stranger).stdout)
        assert inspected[0]["State"]["Status"] == "running", "no container of others is touched"
    finally:
        podman("rm", "--force", "--time", "0", stranger)


def compose(image: str, ports: dict[str, int], network: str) -> dict[str, Any]:
    """A database, an application that asks it, and a front; each a container, and each of its own image."""
    of_machine = network == "of the machine"
    before: dict[str, str] = {}
    services = {}
    for name, after in (("db", ""), ("app", "db"), ("front", "app")):
        at = f"127.0.0.1:{ports[name]}" if of_machine else "8080"
        asks = f"wget -q -O /dev/null http://{before[after]}/index.html && " if after else ""
        before[name] = at if of_machine else f"{name}:8080"
        services[name] = {
            "image": image if name == "db" else f"{image}-{name}",
            "command": ["sh", "-c", f"{asks}exec httpd -f -p {at} -h /www"],
            "ports": [f"{ports[name]}:{ports[name] if of_machine else 8080}"],
            "depends_on": [after] if after else [],
            "stop_grace_period": "1s",
            "ulimits": {"nofile": 1024, "nproc": {"soft": 1024, "hard": 1024}},
            "labels": {"cairn.health": "/index.html 200", "cairn.timeout_s": "300"},
            **({"network_mode": "host"} if of_machine else {}),
        }
    services["db"]["volumes"] = ["data:/data"]
    services["db"]["labels"] |= {"cairn.seed": "/data", "cairn.patch": "touch /data/patched"}
    services["front"]["labels"] |= {"cairn.site": "shop"}
    return {"name": "small", "x-cairn": {"backend": "podman", "engine_options": RUNTIME}, "services": services}


def needs(network: str) -> None:
    """Skip where containers of this machine cannot find each other by name."""
    resolvers = ("/usr/lib/cni/dnsname", "/usr/libexec/cni/dnsname", "/opt/cni/bin/dnsname")
    resolvers += ("/usr/lib/podman/aardvark-dns", "/usr/libexec/podman/aardvark-dns")
    if network == "of each instance" and not any(map(os.path.exists, resolvers)):
        pytest.skip("podman cannot look names of containers up: neither dnsname nor aardvark-dns is installed")


@pytest.mark.slow
@pytest.mark.parametrize("network", ["of the machine", "of each instance"])
def test_three_services_of_a_compose_file_come_up_and_are_reset_together(
    small: SmallSite, image: str, network: str
) -> None:
    needs(network)
    ports = {name: free_port() for name in ("db", "app", "front")}
    names = [f"{image}-app", f"{image}-front"]
    try:
        for name in names:
            podman("tag", image, name)
        (small.folder / "small.yaml").write_text(json.dumps(compose(image, ports, network)))
        assert "1 of 1 came up" in small.done("up")
        assert small.states() == {"db@0": "healthy", "app@0": "healthy", "front@0": "healthy"}
        assert "all is up already" in small.done("up")
        db = f"http://127.0.0.1:{ports['db']}"
        order(db, "mug")
        assert state(db) == "first mug patched mug"
        assert small.states()["db@0"] == "dirty" and small.type("status").code == 1
        small.done("reset", "shop")
        assert state(db) == "first patched"
        assert set(small.states().values()) == {"healthy"}
        front = podman("ps", "--quiet", "--filter", "label=cairn.unit=front@0").stdout.split()
        podman("kill", *(one.decode() for one in front))
        assert small.states() == {"db@0": "healthy", "app@0": "healthy", "front@0": "down"}
        small.done("up")
        assert set(small.states().values()) == {"healthy"}
    finally:
        if (small.state / "set.json").exists():
            small.done("down", "--all")
        podman("rmi", *names)


@pytest.mark.slow
def test_no_credential_stays_in_the_image_of_a_snapshot(small: SmallSite, image: str) -> None:
    service = served(image, patch=["touch /extra/patched"], pass_environment=["SHOP_LOGIN"])
    small.write({"app": service}, engine_options=RUNTIME)
    env = {"SHOP_LOGIN": "sesame-4711"}
    typed = small.type("up", env=env)
    assert typed.code == 0, typed
    kept = [json.loads(path.read_bytes())["image"] for path in small.state.glob("snapshots/seed/*.json")]
    inspected = podman("image", "inspect", *kept).stdout.decode()
    assert kept and "SHOP_LOGIN=" in inspected and "sesame" not in inspected
    (container,) = podman("ps", "--quiet", "--filter", "label=cairn.unit=app@0").stdout.decode().split()
    assert podman("exec", container, "sh", "-c", "echo $SHOP_LOGIN").stdout.decode().strip() == "sesame-4711"
    assert not [path for path in small.state.rglob("*") if path.is_file() and b"sesame" in path.read_bytes()]


@pytest.mark.slow
def test_a_container_without_folders_is_made_again_from_what_was_kept(small: SmallSite, image: str) -> None:
    small.write({"app": served(image, patch=["touch /extra/patched"])}, engine_options=RUNTIME)
    small.done("up")
    (url,) = small.urls()
    order(url, "mug")
    small.done("snapshot", "with-mug")
    small.done("reset")
    assert state(url) == "first patched"
    small.done("reset", "--to", "with-mug")
    assert state(url) == "first mug mug patched"
    key = (
        podman("ps", "--filter", "label=cairn.unit", "--format", '{{index .Labels "cairn.sites"}}')
        .stdout.decode()
        .split()[0]
    )
    ours = ("images", "--all", "--quiet", "--filter", f"label=cairn.sites={key}")
    assert podman(*ours).stdout.split()
    small.done("down", "--all")
    assert podman(*ours).stdout.split() == []


@pytest.mark.slow
def test_a_missing_image_is_named_and_never_pulled_unasked(small: SmallSite, image: str) -> None:
    small.write({"app": served("localhost/cairn-no-such-image")}, engine_options=RUNTIME)
    typed = small.type("up")
    assert typed.code == 2 and "podman has no image localhost/cairn-no-such-image; get it with" in typed.err
    assert "has no digest, so it is not pulled" in small.type("up", "--pull").err
    assert small.type("doctor").code == 1


DOCKER = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/calls"
env | grep -c DB_PASSWORD >> "$here/environment"
case "$1" in
  image) echo '[{"Id": "sha256:abc"}]' ;;
  ps) test -e "$here/running" && echo "0123456789ab Up 3 seconds"; true ;;
  run) touch "$here/running" ;;
  rm) rm -f "$here/running" ;;
  network) test "$2" = create ;;
esac
"""


@pytest.mark.slow
def test_what_docker_is_given(small: SmallSite, tmp_path: Path) -> None:
    """Recorded by a program of its name: no docker daemon is needed."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER)
    (programs / "docker").chmod(0o755)
    service = {
        "backend": "docker",
        "image": "shop@sha256:" + "a" * 64,
        "port": free_port(),
        "container_port": 80,
        "sites": ["shop"],
        "environment": {"BASE": "http://localhost:{port}"},
        "pass_environment": ["DB_PASSWORD"],
        "health": {"timeout_s": 1},
    }
    small.write({"app": service})
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "DB_PASSWORD": "hunter2"}
    try:
        typed = small.type("up", env=env)
        assert typed.code == 2 and "is not ready after" in typed.err, "nothing answers on its port"
        calls = (programs / "calls").read_text().splitlines()
        (run,) = [call for call in calls if call.startswith("run ")]
        port = service["port"]
        for part in (
            "--detach --pull=never --name cairn-",
            "--label=cairn.unit=app@0",
            f"-p 127.0.0.1:{port}:80",
            "--network-alias app",
            f"--env=BASE=http://localhost:{port}",
            "--env=DB_PASSWORD ",
            str(service["image"]),
        ):
            assert part in run, run
        assert "hunter2" not in "".join(calls), "a credential is not an argument"
        assert not any(call.startswith("pull") for call in calls)
        assert small.type("down", "--all", env=env).code == 0
        calls = (programs / "calls").read_text().splitlines()
        assert [call for call in calls if call.startswith("rm ")] == ["rm --force --volumes 0123456789ab"]
        assert all("--filter=label=cairn.sites=" in call for call in calls if call.startswith("ps "))
    finally:
        (small.state / "set.json").unlink()


@pytest.mark.slow
def test_a_service_of_a_compose_file_that_no_port_leads_to_is_reached_by_the_others_only(
    small: SmallSite, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER)
    (programs / "docker").chmod(0o755)
    port = free_port()
    front = {"image": "front", "depends_on": ["db"], "ports": [f"{port}:80"]}
    tree = {
        "services": {
            "db": {"image": "db", "environment": ["DB_PASSWORD"], "labels": {"cairn.ready": "true"}},
            "front": {**front, "labels": {"cairn.site": "shop", "cairn.timeout_s": "1"}},
        }
    }
    (small.folder / "small.yaml").write_text(json.dumps(tree))
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "DB_PASSWORD": "hunter2"}
    try:
        typed = small.type("up", "--state", str(small.state), env=env)
        assert typed.code == 2 and "front@0 is not ready after" in typed.err, "what docker starts is a stand-in"
        (run,) = [call for call in (programs / "calls").read_text().splitlines() if call.startswith("run ")]
        assert "--label=cairn.unit=db@0" in run and "--network-alias db" in run and run.endswith("--env=DB_PASSWORD db")
        assert " -p " not in run and "hunter2" not in run
        assert small.type("down", "--all", "--state", str(small.state), env=env).code == 0
    finally:
        (small.state / "set.json").unlink()
