"""One's own compose file is a set by its labels; what would run otherwise than it says is refused by name."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.errors import ConfigError
from harness.plugins.site_sets.set_file import SiteSet, read_set

COMPOSE = """
name: Harbour Shop
x-cairn: {backend: podman}
services:
  db:
    image: localhost/db:${DB_TAG:-8.1}
    environment: [MYSQL_DATABASE=shop, MYSQL_ROOT_PASSWORD]
    volumes: ["data:/var/lib/mysql", "./init:/init:ro"]
    restart: always
    labels: {cairn.seed: /var/lib/mysql, cairn.ready: "mysqladmin ping"}
  app:
    image: localhost/app
    command: ["serve", "--title", "Harbour shop"]
    depends_on: {db: {condition: service_healthy}}
    environment: {DB_HOST: db, DB_PASSWORD: "${DB_PASSWORD}", PRICE: "5$$"}
    working_dir: /srv
  front:
    image: localhost/front
    ports: ["127.0.0.1:8080:80"]
    depends_on: [app]
    labels:
      - cairn.site=shopping
      - cairn.health=/ready 200,302
      - cairn.canonical=http://shop.example
volumes: {data: {}}
"""


def read(folder: Path, text: str) -> SiteSet:
    path = folder / "docker-compose.yml"
    path.write_text(text)
    return read_set(path)


def test_a_compose_file_with_labels_is_a_set(tmp_path: Path) -> None:
    found = read(tmp_path, COMPOSE)
    assert (found.name, found.groups()) == ("harbour-shop", (("db", "app", "front"),))
    db, app, front = (found.services[name] for name in ("db", "app", "front"))
    assert {one.backend for one in found.services.values()} == {"podman"}
    assert (db.image, db.seed, db.ready, db.internal) == (
        "localhost/db:8.1",
        ("/var/lib/mysql",),
        "mysqladmin ping",
        True,
    )
    assert (dict(db.environment), db.pass_environment) == ({"MYSQL_DATABASE": "shop"}, ("MYSQL_ROOT_PASSWORD",))
    assert db.options == (f"--volume={tmp_path / 'init'}:/init:ro",)
    assert (app.command, app.pass_environment, app.options) == (
        "serve --title 'Harbour shop'",
        ("DB_PASSWORD",),
        ("--workdir=/srv",),
    )
    assert dict(app.environment) == {"DB_HOST": "db", "PRICE": "5$"}
    assert (front.port, front.container_port, front.health.path, front.health.status) == (
        8080,
        80,
        "/ready",
        (200, 302),
    )
    assert front.sites == {"shopping": {"canonical": "http://shop.example"}}


def changed(**front: Any) -> str:
    tree = yaml.safe_load(COMPOSE)
    tree["services"]["front"] |= front
    return yaml.safe_dump(tree)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed(image=None, build="."), "services.front.image is missing; build the image and name it"),
        (changed(labels={"cairn.sit": "shop"}), "there is no label cairn.sit; there are cairn.site"),
        (changed(labels=[]), "no service has `sites`"),
        (changed(ports=["http"]), "services.front.ports: 'http' is not a port"),
        (changed(ports=["8080-8090:80"]), "is not a port"),
        (changed(volumes=["cache:/var/cache"]), "services.front.volumes: /var/cache could be written to"),
        (changed(volumes=["./media:/media"]), "add it to the label cairn.seed"),
        (changed(volumes=["/media"]), "/media could be written to"),
        (changed(stop_grace_period="soon"), "services.front.stop_grace_period: 'soon' is not a time; write it as 10s"),
        (changed(ulimits={"nofile": "many"}), "services.front.ulimits: write it as {nofile: 1024}"),
        (changed(ulimits=[1024]), "services.front.ulimits: write it as {nofile: 1024}"),
        (COMPOSE.replace("podman}", "podman, sites: {shop: {}}}"), "x-cairn.sites.shop: no service has this site"),
        (COMPOSE.replace("podman}", "podman, sites: [shopping]}"), "x-cairn.sites must be a mapping of sites"),
        (changed(secrets=["token"]), "services.front.secrets of a compose file cannot be used"),
        (changed(environment={"A": "$OTHER"}), "services.front.environment.A: of variables only defaults"),
        (changed(environment={"API_TOKEN": "hunter2"}), "no credential may stand in a file"),
        (changed(environment="x"), "must be a mapping, or a list of NAME=VALUE"),
        (changed(command="serve $HOME"), "services.front.command: of variables only defaults"),
        (changed(entrypoint=["a", "b"]), "services.front.entrypoint must be a text"),
        (changed(depends_on=["nowhere"]), "services.front.after: there is no service nowhere"),
        (changed(labels={"cairn.site": "shop", "cairn.health": "/x y"}), "cairn.health is a path with statuses"),
        (changed(ports=[]), "internal cannot be used with `port` or `sites`"),
        (
            COMPOSE.replace("{backend: podman}", "{backend: process}"),
            "x-cairn.backend: the services of a compose file are containers",
        ),
        (COMPOSE.replace("{backend: podman}", "podman"), "x-cairn must be a mapping"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_that_names_the_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value) and "\n" not in str(caught.value) and "hunter2" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "docker-compose.yml"))


def test_a_name_of_a_folder_becomes_the_name_of_the_set(tmp_path: Path) -> None:
    folder = tmp_path / "My Shop.v2"
    folder.mkdir()
    assert read(folder, COMPOSE.replace("name: Harbour Shop", "")).name == "my-shop-v2"


def test_what_a_service_is_given_beside_its_labels(tmp_path: Path) -> None:
    tree = yaml.safe_load(COMPOSE)
    headers = {"X-Login": "${oc.env:SHOP_LOGIN}"}
    tree["x-cairn"]["sites"] = {"shopping": {"login": {"probe_url": "/account", "headers": headers}}}
    tree["services"]["db"] |= {
        "stop_grace_period": "1m30s",
        "ulimits": {"nofile": 1024, "nproc": {"soft": 10, "hard": 20}},
        "labels": {"cairn.restore": "dropdb shop", "cairn.state": "sums", "cairn.digest": "sha256:" + "0" * 64},
    }
    tree["services"]["db"]["volumes"] = []
    found = read(tmp_path, yaml.safe_dump(tree))
    db, front = found.services["db"], found.services["front"]
    assert (db.stop_s, db.options) == (90, ("--ulimit=nofile=1024:1024", "--ulimit=nproc=10:20"))
    assert (db.restore, db.state, db.digest) == (("dropdb shop",), "sums", "sha256:" + "0" * 64)
    assert front.sites["shopping"]["login"]["headers"] == headers
    assert front.sites["shopping"]["canonical"] == "http://shop.example"
