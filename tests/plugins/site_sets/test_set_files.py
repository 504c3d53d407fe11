"""Mistakes in set files and arguments: one sentence with file, field and fix, and exit code 2."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.errors import ConfigError
from harness.main import main
from harness.plugins.site_sets.set_file import SHIPPED, find_set, parse_set, read_set

APP: dict[str, Any] = {"command": "serve", "sites": ["shop"]}
PLANE = {"backend": "remote", "url": "http://h", "sites": ["a"], "control": {"kind": "gasse", "url": "http://h"}}


def a_set(**app: Any) -> dict[str, Any]:
    return {"services": {"app": {**APP, **app}}}


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ([], "must be a mapping"),
        ({}, "services is missing"),
        ({"servces": {}}, "unknown field 'servces'; did you mean services"),
        ({"services": {"App": APP}}, "'App' cannot be used as a name"),
        ({"services": {"a/b": APP}}, "cannot be used as a name"),
        (a_set(command=""), "services.app.command is missing"),
        (a_set(comand="x"), "did you mean command"),
        (a_set(backend="podmn"), "choose one of process, podman, docker, remote"),
        (a_set(backend="podman"), "services.app.image is missing"),
        (a_set(backend="podman", image="a"), "services.app.port is missing"),
        (a_set(backend="podman", image="a", port=1, seed="data"), "not an absolute path inside"),
        (a_set(backend="podman", image="a", port=1, options=["--name=x"]), "--name=x is set by Cairn"),
        (a_set(backend="podman", image="a", port=1, options=["--privileged"], url="http://a"), "url cannot be used"),
        (a_set(image="x"), "image cannot be used with the back end process"),
        (a_set(port=0), "not a port"),
        (a_set(port="80"), "not a port"),
        (a_set(seed=["a", "b"]), "is one folder"),
        (a_set(sites="shop"), "sites must be a list"),
        (a_set(sites=["Shop"]), "cannot be used as a name"),
        (a_set(sites=[]), "no service has `sites`"),
        (a_set(after=["db"]), "there is no service db"),
        (a_set(after=["app"]), "wait for each other"),
        (a_set(health={"status": "ok"}), "'ok' is not a status"),
        (a_set(health={"path": "x"}), "is not a path"),
        (a_set(health={"timeout_s": "long"}), "is not a time"),
        (a_set(digest="abc"), "is not sha256:"),
        (a_set(environment={"A B": "x"}), "is not the name of a variable"),
        (a_set(environment={"DB_PASSWORD": "hunter2"}), "pass_environment"),
        *(
            (a_set(backend="docker", image="a", port=1, options=options), "environment.DB_PASSWORD: no credential")
            for options in (["-e", "DB_PASSWORD=hunter2"], ["--env=DB_PASSWORD=hunter2"], ["-eDB_PASSWORD=hunter2"])
        ),
        (a_set(restore="dropdb shop"), "`restore` needs `state`"),
        (a_set(state="sums"), "`restore` needs `state`"),
        ({"services": {"app": {"backend": "remote", "sites": ["shop"]}}}, "services.app.url is missing"),
        (
            {"services": {"app": {"backend": "remote", "url": "http://u:p@h", "sites": ["shop"]}}},
            "without a password",
        ),
        (
            {
                "services": {
                    "app": {"backend": "remote", "url": "http://h", "sites": ["a"], "control": {"url": "http://h"}}
                }
            },
            "control.kind='' is unknown; choose one of gasse, webharbor, classifieds",
        ),
        (
            {"services": {"app": {**PLANE, "digest": "sha256:" + "0" * 64}}},
            "services.app.digest: nothing can be compared with it",
        ),
        ({"services": {"a": APP, "b": APP}}, "site shop is served by a and by b"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_place(tree: object, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_set(tree, Path("mine.yaml"))
    assert said in str(caught.value) and str(caught.value).startswith("mine.yaml") and "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_sets_can_be_read_and_say_how_they_are_used(path: Path) -> None:
    found = read_set(find_set(path.stem))
    assert found.name == path.stem
    assert f"harness sites up {path.stem}" in path.read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "is not valid YAML"), ("a: !!python/object:os.system x", "is not valid YAML"), ("\0", "YAML")],
)
def test_a_file_that_is_no_yaml_is_named(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    assert main(["sites", "up", str(path)]) == 2
    assert said in (err := capsys.readouterr().err) and str(path) in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["up", "nowhere"], "no such file, and no shipped set"),
        (["status", "demo"], "was never up"),
        (["reset", "demo"], "was never up"),
        (["up", "demo", "--scale", "0"], "--scale=0 is not a number of instances"),
        (["up", "demo", "--scale", "1000"], "is not a number of instances"),
        (["up", "demo", "shp"], "did you mean shop"),
        (["up", "demo", "shop@x"], "there is no such instance"),
        (["flush", "demo"], "choose one of up, status, reset"),
    ],
)
def test_a_wrong_argument_is_one_sentence(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["sites", *words])
    except SystemExit as end:
        code = int(end.code or 0)
    err = capsys.readouterr().err
    assert code == 2 and said in err and len(err.splitlines()) == 1


def test_services_in_one_group_are_those_that_come_after_each_other() -> None:
    services = {name: {**APP, "sites": [name]} for name in ("front", "db", "wiki", "app")}
    services["front"]["after"], services["app"]["after"] = ["app"], ["db"]
    found = parse_set(yaml.safe_load(yaml.safe_dump({"services": services})), Path("mine.yaml"))
    assert found.groups() == (("wiki",), ("db", "app", "front")) or found.groups() == (
        ("db", "app", "front"),
        ("wiki",),
    )
    assert found.group_of("front") == ("db", "app", "front")
