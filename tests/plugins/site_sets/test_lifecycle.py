"""`harness sites` with real processes: up, status, reset, snapshot, scale, down."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from harness.main import main
from harness.plugins.site_sets.state import StateFolder, UnitState, check_state_folder
from tests.journal.episodes import PROJECT
from tests.plugins.site_sets.small_site import SmallSite, kill, look, order, shop, tree_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.mark.slow
def test_up_status_reset_and_down_of_a_site(small: SmallSite) -> None:
    small.write()
    assert "1 of 1 came up" in small.done("up")
    (url,) = small.urls()
    pid = look(url)["pid"]
    assert "all is up already" in small.done("up")
    assert look(url)["pid"] == pid, "a second `up` starts nothing"
    assert small.states() == {"app@0": "healthy"}
    seed = tree_of(small.state / "snapshots" / "seed" / "app")

    order(url, "mug")
    assert look(url)["orders"] == ["mug"]
    typed = small.type("status")
    assert typed.code == 1 and "dirty" in typed.out

    assert "seed, verified" in small.done("reset", "shop")
    assert (look(url)["orders"], look(url)["files"]) == ([], [])
    assert small.states() == {"app@0": "healthy"}
    assert tree_of(small.state / "services" / "app@0" / "data") == seed, "byte-identical"

    small.done("down")
    assert small.processes() == [] and look(url) == {}
    assert "nothing is up" in small.type("status").out


@pytest.mark.slow
def test_a_killed_service_is_named_and_brought_up_at_its_seed(small: SmallSite) -> None:
    small.write()
    small.done("up")
    (url,) = small.urls()
    order(url, "mug")
    os.kill(look(url)["pid"], signal.SIGKILL)
    (row,) = small.rows()
    assert (row["instance"], row["state"], row["why"]) == ("app@0", "down", "it does not run")
    assert small.type("status").code == 1
    small.done("up")
    assert look(url)["orders"] == []


@pytest.mark.slow
def test_a_disk_that_has_no_room_for_a_reset_is_named(
    small: SmallSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small.write()
    small.done("up")
    assert main(["sites", "status", str(small.state)]) == 0
    usage = shutil.disk_usage(small.state)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5_000_000))
    assert main(["sites", "status", str(small.state)]) == 1
    assert "out of disk: 5 MB free below" in capsys.readouterr().out


@pytest.mark.slow
def test_a_reset_by_the_address_that_a_run_knows_leaves_the_other_instance_alone(small: SmallSite) -> None:
    small.write()
    small.done("up", "--scale", "2")
    first, second = small.urls()
    for url in (first, second):
        order(url, "mug")
    pid = look(second)["pid"]
    small.done("reset", "--url", first)
    assert (look(first)["orders"], look(second)["orders"]) == ([], ["mug"])
    assert look(second)["pid"] == pid
    assert small.type("reset", "--url", "http://127.0.0.1:9").code == 2


def test_the_hook_that_a_run_calls_resets_the_site(small: SmallSite) -> None:
    small.write()
    small.done("up")
    (url,) = small.urls()
    order(url, "mug")
    hook = json.loads((small.state / "sites.json").read_text())["shop"]["reset_command"]
    assert os.system(hook.replace("{url}", url) + " > /dev/null") == 0
    assert look(url)["orders"] == []


@pytest.mark.slow
def test_the_hook_of_sites_that_are_reset_together_leaves_others_alone(small: SmallSite) -> None:
    """A task may be on a site that has a hook of its own, while no task uses any of these."""
    small.write({"app": shop(sites=["shop", "forum"]), "wiki": shop(sites=["wiki"])})
    small.done("up")
    served = json.loads((small.state / "sites.json").read_text())
    assert served["reset"]["scope"] == "all"
    assert "reset_command" not in served["shop"] and "reset_command" in served["wiki"]
    (app,), (wiki,) = small.urls("shop"), small.urls("wiki")
    for url in (app, wiki):
        order(url, "mug")
    pid = look(wiki)["pid"]
    assert os.system(served["reset"]["command"] + " > /dev/null") == 0
    assert look(app)["orders"] == []
    assert (look(wiki)["orders"], look(wiki)["pid"]) == (["mug"], pid)


@pytest.mark.slow
def test_a_snapshot_is_a_state_to_go_back_to(small: SmallSite) -> None:
    small.write()
    small.done("up")
    (url,) = small.urls()
    order(url, "mug")
    small.done("snapshot", "with-mug")
    order(url, "plate")
    small.done("reset", "--to", "with-mug")
    assert look(url)["orders"] == ["mug"]
    assert small.rows()[0]["snapshot"] == "with-mug"
    assert "with-mug" in small.done("snapshots")
    assert "there is a snapshot with-mug" in small.type("snapshot", "with-mug").err
    small.done("reset")
    assert look(url)["orders"] == []
    assert small.type("reset", "--to", "../snapshots/seed").code == 2
    small.done("rm", "with-mug")
    assert small.type("reset", "--to", "with-mug").code == 2
    assert small.type("rm", "seed").code == 2


@pytest.mark.slow
def test_scale_adds_instances_at_the_seed_and_takes_the_last_ones_away(small: SmallSite) -> None:
    small.write()
    small.done("up")
    order(small.urls()[0], "mug")
    small.done("scale", "3")
    assert [look(url)["orders"] for url in small.urls()] == [["mug"], [], []]
    assert len(set(small.urls())) == 3
    small.done("scale", "1")
    assert look(small.urls()[0])["orders"] == ["mug"] and len(small.processes()) == 1


@pytest.mark.slow
def test_down_with_its_data_goes_on_where_it_was(small: SmallSite) -> None:
    small.write()
    small.done("up")
    order(small.urls()[0], "mug")
    small.done("down", "--keep-data")
    assert small.states() == {"app@0": "down"} and small.processes() == []
    small.done("up")
    assert look(small.urls()[0])["orders"] == ["mug"]


@pytest.mark.slow
def test_an_instance_of_which_nothing_is_known_any_more_is_put_back(small: SmallSite) -> None:
    small.write()
    small.done("up")
    order(small.urls()[0], "mug")
    known = small.state / "services" / "app@0" / "state.json"
    known.write_text('{"phase"')
    reset = small.type("reset")
    assert reset.code == 2 and str(known) in reset.err and len(reset.err.splitlines()) == 1, reset
    small.done("up")
    assert look(small.urls()[0])["orders"] == [] and len(small.processes()) == 1
    assert small.states() == {"app@0": "healthy"}


@pytest.mark.parametrize("changed", [{"since": "x"}, {"since": None}, {"snapshot": 3}, {"port": -5}, {"port": 99999}])
def test_a_state_that_was_written_by_hand_counts_as_none(changed: dict[str, object], tmp_path: Path) -> None:
    unit = StateFolder(tmp_path).unit("app", 0)
    unit.enter("up", port=4000)
    path = unit.folder / "state.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changed))
    assert unit.state() == UnitState()


@pytest.mark.slow
def test_services_that_wait_for_each_other_start_in_order_and_are_reset_together(small: SmallSite) -> None:
    """A database, an application that needs it, and a front."""
    needs = "{python} -c \"import urllib.request; urllib.request.urlopen('http://127.0.0.1:%s')\" && "
    small.write(
        {
            "front": shop(after=["app"], command=needs % "{port.app}" + shop()["command"]),
            "app": shop(after=["db"], sites=[], command=needs % "{port.db}" + shop()["command"]),
            "db": shop(sites=[]),
        }
    )
    small.done("up")
    ports = {row["instance"]: row["url"] for row in small.rows()}
    order(ports["db@0"], "mug")
    order(ports["front@0"], "mug")
    small.done("reset", "shop")
    assert [look(url)["orders"] for url in ports.values()] == [[], [], []]


@pytest.mark.slow
def test_a_patch_is_applied_once_and_is_in_the_seed(small: SmallSite) -> None:
    small.write({"app": shop(patch=["echo x >> patched.log; echo done > {data}/patched"])})
    small.done("up", "--scale", "2")
    small.done("reset")
    assert [look(url)["files"] for url in small.urls()] == [["patched"], ["patched"]]
    assert (small.folder / "patched.log").read_text() == "x\n"


@pytest.mark.slow
def test_what_differs_between_instances_is_configured_after_every_start(small: SmallSite) -> None:
    small.write({"app": shop(configure=["echo {instance} {url} > {data}/address"])})
    small.done("up", "--scale", "2")
    small.done("reset")
    for number, url in enumerate(small.urls()):
        assert (small.state / "services" / f"app@{number}" / "data" / "address").read_text() == f"{number} {url}\n"
    assert set(small.states().values()) == {"healthy"}


@pytest.mark.slow
def test_a_set_file_whose_services_changed_is_not_taken_for_the_one_that_is_up(small: SmallSite) -> None:
    small.write()
    small.done("up")
    small.write({"app": shop(patch=["echo x > {data}/patched"])})
    typed = small.type("up")
    assert typed.code == 2 and "services.app was changed after its seed was taken" in typed.err
    assert small.type("reset").code == 2
    assert look(small.urls()[0])["files"] == []


@pytest.mark.slow
def test_seed_folder_and_prepare_fill_the_data(small: SmallSite) -> None:
    (small.folder / "begin").mkdir()
    (small.folder / "begin" / "a.txt").write_text("a")
    small.write({"app": shop(seed="begin", prepare=["cp {data}/a.txt {data}/b.txt"])})
    small.done("up")
    assert look(small.urls()[0])["files"] == ["a.txt", "b.txt"]


@pytest.mark.slow
def test_a_service_that_does_not_come_up_is_named_with_its_last_line(small: SmallSite) -> None:
    small.write({"app": shop(command="echo the database is corrupt; exit 3")})
    typed = small.type("up")
    assert typed.code == 2 and "app@0 ended; its log ends with: the database is corrupt" in typed.err
    assert "Traceback" not in typed.err
    assert small.states() == {"app@0": "down"}
    assert "app@0 | the database is corrupt" in small.done("logs")


@pytest.mark.slow
def test_doctor_says_what_memory_there_is_and_what_each_instance_takes(small: SmallSite) -> None:
    small.write()
    small.done("up")
    said = small.done("doctor")
    assert re.search(r"^yes  memory: [\d.,]+ GB available$", said, re.MULTILINE)
    assert re.search(r"^yes  app@0: takes [1-9]\d* MB of memory$", said, re.MULTILINE), said


@pytest.mark.slow
def test_a_port_of_another_program_is_named_and_the_program_left_alone(small: SmallSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        small.write({"app": shop(port=port)})
        typed = small.type("up")
        assert typed.code == 2 and f"port {port} is used by another program" in typed.err
        assert "used by another program" in small.type("doctor").out


@pytest.mark.slow
def test_a_changed_snapshot_is_found_out_and_a_declared_digest_compared(small: SmallSite) -> None:
    small.write()
    small.done("up")
    small.done("tidy")
    for copy in small.state.glob("snapshots/seed/app/orders.db"), small.state.glob("services/app@0/spare/orders.db"):
        (path,) = copy
        path.write_bytes(path.read_bytes() + b"\0")
    typed = small.type("reset")
    assert typed.code == 3 and "the snapshot seed was changed after it was taken" in typed.err
    assert small.type("status").code == 1
    small.done("down", "--all")
    small.write({"app": shop(digest="sha256:" + "0" * 64)})
    typed = small.type("up")
    assert typed.code == 3 and "declares sha256:0000" in typed.err and "app@0" in typed.err
    small.write()


@pytest.mark.slow
def test_the_spare_is_used_and_one_that_was_touched_is_not(small: SmallSite) -> None:
    small.write()
    small.done("up")
    small.done("tidy")
    spare = small.state / "services" / "app@0" / "spare"
    inode = (spare / "orders.db").stat().st_ino
    small.done("reset")
    assert (small.state / "services" / "app@0" / "data" / "orders.db").stat().st_ino == inode
    small.done("tidy")
    (spare / "left.txt").write_text("not of the seed")
    small.done("reset")
    assert look(small.urls()[0])["files"] == []


RESTORE = "{python} -c \"import sqlite3; db = sqlite3.connect('{data}/orders.db'); db.execute('DELETE FROM orders'); db.commit()\""
STATE = "{python} -c \"import sqlite3; print(sqlite3.connect('{data}/orders.db').execute('SELECT count(*) FROM orders').fetchone()[0], *__import__('os').listdir('{data}'))\""


@pytest.mark.slow
def test_a_service_that_restores_itself_is_not_started_again(small: SmallSite) -> None:
    small.write({"app": shop(restore=[RESTORE, "rm -f {data}/*.txt"], state=STATE)})
    small.done("up")
    (url,) = small.urls()
    pid = look(url)["pid"]
    for _ in range(2):
        order(url, "mug")
        small.done("reset")
        assert look(url) == {"orders": [], "files": [], "pid": pid}
        assert small.states() == {"app@0": "healthy"}


@pytest.mark.slow
def test_what_restore_leaves_is_seen_by_the_state_and_put_back_by_its_files(small: SmallSite) -> None:
    small.write({"app": shop(restore=[RESTORE], state=STATE)})
    small.done("up")
    (url,) = small.urls()
    pid = look(url)["pid"]
    order(url, "mug")
    typed = small.type("reset")
    assert typed.code == 0 and "`state` tells something else after `restore`" in typed.err
    seen = look(url)
    assert (seen["orders"], seen["files"]) == ([], []) and seen["pid"] != pid


@pytest.mark.slow
def test_a_restore_that_fails_or_was_killed_is_followed_by_the_files(small: SmallSite) -> None:
    small.write({"app": shop(restore=["test -e restored && " + RESTORE + " && sleep 600"], state=STATE)})
    small.done("up")
    (url,) = small.urls()
    order(url, "mug")
    typed = small.type("reset")
    assert typed.code == 0 and "restore 1 ended with code 1" in typed.err and look(url)["orders"] == []
    (small.folder / "restored").touch()
    order(url, "mug")
    process = small.start("reset")
    wait_until(lambda: look(url)["orders"] == [], within_s=120)
    kill(process)
    assert small.states() == {"app@0": "down"}
    small.done("up")
    assert (look(url)["orders"], look(url)["files"]) == ([], [])
    assert len(small.processes()) == 1, "the killed command is gone, too"


@pytest.mark.slow
@pytest.mark.parametrize("between", [(("down", "--keep-data"), ("up",)), (("snapshot", "used"),)])
def test_a_service_that_was_started_with_written_files_is_not_taken_for_clean(
    small: SmallSite, between: tuple[tuple[str, ...], ...]
) -> None:
    """A database restores itself; beside it are files that an application keeps, which nothing restores."""
    small.write(
        {
            "db": shop(sites=[], restore=[RESTORE, "rm -f {data}/*.txt"], state=STATE),
            "app": shop(after=["db"]),
        }
    )
    small.done("up")
    (url,) = small.urls()
    order(url, "mug")
    for words in between:
        small.done(*words)
    assert look(url)["files"] == ["mug.txt"] and small.states()["app@0"] == "dirty"
    small.done("reset")
    assert (look(url)["orders"], look(url)["files"]) == ([], [])
    assert small.states() == {"db@0": "healthy", "app@0": "healthy"}


@pytest.mark.slow
def test_a_command_that_leaves_a_program_behind_has_ended_when_it_exits(small: SmallSite) -> None:
    small.write({"app": shop(patch=["sleep 600 & echo patched >> {data}/patched"])})
    small.done("up")
    assert look(small.urls()[0])["files"] == ["patched"]
    small.done("down", "--all")
    assert small.processes() == []


@pytest.mark.slow
def test_only_named_credentials_reach_services_and_none_is_shown(small: SmallSite) -> None:
    env = {"SHOP_LOGIN": "sesame-4711", "OTHER_TOKEN": "lantern-4711"}
    speaks = "echo $SHOP_LOGIN $OTHER_TOKEN; "
    small.write({"app": shop(pass_environment=["SHOP_LOGIN"], ready=speaks + "exit 1", health={"timeout_s": 3})})
    typed = small.type("up", env=env)
    assert typed.code == 2 and "`ready` ends with code 1 ([redacted:SHOP_LOGIN])" in typed.err
    small.write(
        {"app": shop(pass_environment=["SHOP_LOGIN"], command=speaks + shop()["command"], patch=[speaks + "exit 4"])}
    )
    typed = small.type("up", env=env)
    assert typed.code == 2 and "patch 1 ended with code 4 ([redacted:SHOP_LOGIN])" in typed.err
    logs = small.type("logs", env=env)
    assert "app@0 | [redacted:SHOP_LOGIN]" in logs.out
    assert "4711" not in typed.err + typed.out + logs.out + logs.err


@pytest.mark.slow
def test_nothing_of_others_is_touched(small: SmallSite, tmp_path: Path) -> None:
    small.write()
    strange = tmp_path / "sites" / "other"
    strange.mkdir(parents=True)
    (strange / "file").write_text("x")
    env = {**os.environ, "CAIRN_SITE": "0123456789abcdef/app@0"}
    with psutil.Popen(["sleep", "600"], env=env) as process:
        small.done("up")
        small.done("reset")
        small.done("down", "--all")
        assert process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        process.kill()
    assert tree_of(strange) == {"file": b"x"}
    typed = small.type("up", "--state", str(strange))
    assert typed.code == 2 and "holds other files" in typed.err
    assert tree_of(strange) == {"file": b"x"}


WRITING = """
import sys
from pathlib import Path
from harness.plugins.site_sets.state import write_json

there = Path.exists
Path.exists = lambda path: "/proc" not in str(path) and there(path)
for number in range(200):
    write_json(Path(sys.argv[1]), {"number": number})
"""


def test_two_commands_write_a_file_at_once_where_there_is_no_proc(tmp_path: Path) -> None:
    started = [sys.executable, "-c", WRITING, str(tmp_path / "services" / "state.json")]
    both = [subprocess.Popen(started, cwd=PROJECT, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in both] == [("", 0)] * 2
    assert tree_of(tmp_path / "services") == {"state.json": b'{\n "number": 199\n}\n'}


def test_a_file_that_a_killed_command_left_unfinished_is_none_of_others(tmp_path: Path) -> None:
    (tmp_path / ".1-0.tmp").write_text("{")
    check_state_folder(tmp_path)


@pytest.mark.slow
def test_a_link_in_the_data_leads_nowhere(small: SmallSite, tmp_path: Path) -> None:
    small.write()
    small.done("up")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (small.state / "services" / "app@0" / "data" / "link").symlink_to(outside)
    small.done("reset")
    small.done("tidy")
    small.done("down", "--all")
    assert tree_of(outside) == {"kept": b"x"}


MOMENTS = 20
_VERBS = ("up", "reset", "snapshot", "scale")
KILLS = [(verb, (part + 5 * number) % MOMENTS) for number, verb in enumerate(_VERBS) for part in range(MOMENTS)]
"""The first row of each command, which the gate takes, is another moment."""


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "part"), KILLS)
def test_the_next_command_repairs_what_a_killed_one_left(small: SmallSite, verb: str, part: int) -> None:
    """The command is killed once so many of its system calls have changed the state folder."""
    small.write({"app": shop(patch=["echo x >> {data}/patched"])})
    strange = others(small)
    with running(strange / "strangers") as stranger:
        repaired(small, verb, part)
        assert stranger.is_running() and stranger.status() != psutil.STATUS_ZOMBIE
    left = {name: content for name, content in tree_of(strange).items() if not name.startswith("small/")}
    assert left == OTHERS


OTHERS = {
    "beside/snapshots/seed/app/orders.db": b"of others",
    "beside/services/app@0/data/file": b"x",
    "beside/services/app@0/state.json": b"{}",
    "strangers": b"",
}
"""Files beside ours, named as ours are."""


def others(small: SmallSite) -> Path:
    folder = small.folder / "sites"
    for name, content in OTHERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@contextmanager
def running(at: Path) -> Iterator[psutil.Process]:
    """A process with the mark of another state folder, which holds a file open beside ours."""
    with (
        at.open("rb") as file,
        psutil.Popen(["sleep", "6000"], env={**os.environ, "CAIRN_SITE": STRANGE}, stdin=file) as one,
    ):
        try:
            yield one
        finally:
            one.kill()


STRANGE = "0123456789abcdef/app@0"


def repaired(small: SmallSite, verb: str, part: int) -> None:
    """Kill a command at a moment, and see that the next ones do what they are for."""
    if verb != "up":
        small.done("up")
        order(small.urls()[0], "mug")
    words = {
        "up": ["up", "--scale", "2"],
        "reset": ["reset"],
        "snapshot": ["snapshot", "named"],
        "scale": ["scale", "3"],
    }
    changes = 0
    seen = shape(small.state)
    process = small.start(*words[verb])
    while process.poll() is None:
        if (now := shape(small.state)) != seen:
            seen, changes = now, changes + 1
            if changes > part:
                break
    kill(process)
    if verb == "snapshot":
        small.done("up")
        if "named" not in small.done("snapshots"):
            small.done("snapshot", "named")
        small.done("reset", "--to", "named")
    if verb in ("up", "scale"):
        small.done("up", "--scale", {"up": "2", "scale": "3"}[verb])
    small.done("reset")
    for url in small.urls():
        assert (look(url)["orders"], look(url)["files"]) == ([], ["patched"])
    for data in small.state.glob("services/*/data/patched"):
        assert data.read_text() == "x\n", "patched once"
    assert set(small.states().values()) == {"healthy"}
    assert len(small.processes()) == len(small.urls()), "no server is left over"


def shape(folder: Path) -> set[tuple[str, int]]:
    """Names and sizes of what is in a folder at the moment."""
    found = set()
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            try:
                found.add((f"{at}/{name}", os.lstat(f"{at}/{name}").st_mtime_ns))
            except FileNotFoundError:
                continue
    return found
