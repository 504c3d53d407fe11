"""Tenants are apart, a reset restores the seed, and the log of writes forgets nothing."""

import sqlite3
from pathlib import Path

import httpx
import pytest

from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import Tenant, seeded
from harness.plugins.demo.web import SiteApp
from tests.plugins.demo.conftest import Connect, send, sign_in


async def put_in_cart(client: httpx.AsyncClient, sku: str) -> None:
    assert (await send(client, f"/cart/{sku}", f"/product/{sku}", quantity="2")).status_code == 303


async def test_what_one_tenant_does_another_does_not_see(connect: Connect) -> None:
    first, second = connect("t1.forum"), connect("t2.forum")
    await sign_in(first)
    await send(first, "/submit", "/submit", board="birds", title="Only in my tree", body="")
    assert "Only in my tree" in (await first.get("/")).text
    assert "Only in my tree" not in (await second.get("/")).text


async def test_a_session_of_one_tenant_is_worth_nothing_at_another(connect: Connect) -> None:
    first, second = connect("t1.shop"), connect("t2.shop")
    await sign_in(first)
    second.cookies.update(first.cookies)
    assert (await first.get("/account")).status_code == 200
    assert (await second.get("/account")).status_code == 303


async def test_the_host_without_a_tenant_is_tenant_zero(connect: Connect) -> None:
    plain, zero = connect("forum"), connect("t0.forum")
    await sign_in(plain)
    await send(plain, "/submit", "/submit", board="birds", title="A post for nobody", body="")
    assert "A post for nobody" in (await zero.get("/")).text


async def test_a_reset_restores_the_seed_and_keeps_logins(connect: Connect) -> None:
    client, guest = connect("t1.shop"), connect("t1.shop")
    await sign_in(client)
    before = (await client.get("/account")).text
    await put_in_cart(client, "KIT-101")
    await put_in_cart(guest, "KIT-102")
    await send(client, "/account", "/account", street="1 New Road", city="York", postcode="Y1", phone="1")
    assert (await client.post("/__reset__")).status_code == 204
    assert (await client.get("/account")).text == before
    assert "Your cart is empty" in (await client.get("/cart")).text
    assert "Your cart is empty" in (await guest.get("/cart")).text


async def test_a_user_the_seed_does_not_know_is_logged_out_by_a_reset(connect: Connect) -> None:
    client = connect("t1.forum")
    fields = {"login": "newcomer", "password": "long-enough", "password2": "long-enough", "rules": "on"}
    assert (await send(client, "/register", "/register", **fields)).headers["location"] == "/u/newcomer"
    assert (await client.get("/settings")).status_code == 200
    await client.post("/__reset__")
    assert (await client.get("/settings")).status_code == 303
    assert (await client.get("/u/newcomer")).status_code == 404


async def test_the_log_holds_every_write_in_order_without_secrets_and_survives_a_reset(connect: Connect) -> None:
    client, other = connect("t1.forum"), connect("t2.forum")
    await sign_in(client)
    await send(client, "/b/birds/subscribe", "/b/birds", wanted="1")
    await client.post("/__reset__")
    await client.post("/nowhere")
    log = (await client.get("/__writes__")).json()
    assert [(entry["seq"], entry["path"], entry["status"]) for entry in log] == [
        (1, "/login", 303),
        (2, "/b/birds/subscribe", 303),
        (3, "/__reset__", 204),
        (4, "/nowhere", 404),
    ]
    assert log[0]["form"] == {"login": ["mara_lindqvist"]}
    assert log[1]["form"] == {"wanted": ["1"]}
    assert (await other.get("/__writes__")).json() == []


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_a_seed_is_the_same_every_time(site: SiteApp) -> None:
    assert list(seeded(site).iterdump()) == list(seeded(site).iterdump())


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_no_database_holds_a_password(site: SiteApp) -> None:
    assert site.account
    dump = "\n".join(seeded(site).iterdump())
    assert site.account[0] in dump
    assert site.account[1] not in dump


class FullDisk(sqlite3.Connection):
    """A master that no disk takes: the copy has begun, and so holds the lock of its file."""

    def backup(self, target: sqlite3.Connection, **_: object) -> None:
        target.execute("BEGIN EXCLUSIVE")
        raise sqlite3.OperationalError("database or disk is full")


def test_a_tenant_that_a_full_disk_refused_is_opened_once_there_is_space(tmp_path: Path) -> None:
    path = tmp_path / "t0.db"
    with pytest.raises(sqlite3.OperationalError, match="full") as refused:
        Tenant.open(path, sqlite3.connect(":memory:", factory=FullDisk))
    tenant = Tenant.open(path, seeded(SITES[0]))  # while the error is known, and with it all that it had opened
    assert tenant.db.execute("SELECT count(*) FROM users").fetchone()[0] > 0
    assert refused.value and tenant.writes == []
    tenant.db.close()
