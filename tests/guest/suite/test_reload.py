# SPDX-License-Identifier: GPL-2.0-only
"""Modules leave and come back; an unknown driver; overcommit. conftest puts this last.

Nothing here uses the session's fixtures: the family's number changes with each load.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from gpushared.netlink_abi import Command
from tests.guest.rm import truth
from tests.guest.rm.abi import (
    DEFAULT_VERSION,
    GIB,
    MIB,
    N,
    interfaces,
    running,
    supported_versions,
)
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.genl import Genl, Refusal
from tests.guest.rm.node import Node, Nodes
from tests.guest.rm.tenant import KernelCard, cards, tenant, wait_for
from tests.guest.suite.actors import Actor

MODULES: Final = Path(__file__).resolve().parents[3] / ".guest"
LOADED: Final = Path("/sys/module/gpushare")


def _insmod(name: str, *options: str) -> None:
    subprocess.run(["insmod", MODULES / f"{name}.ko", *options], check=True)


def _rmmod(name: str) -> None:
    subprocess.run(["rmmod", name], check=True, capture_output=True)


@contextmanager
def reloaded(
    *, nvsim: tuple[str, ...] | None = None, gpushare: tuple[str, ...] = ()
) -> Iterator[Genl]:
    """gpushare.ko, and nvsim.ko if it gets options, taken out and loaded anew, then as before."""
    count = Path("/sys/module/nvsim/parameters/cards").read_text().strip()
    _rmmod("gpushare")
    if nvsim is not None:
        _rmmod("nvsim")
        _insmod("nvsim", f"cards={count}", *nvsim)
    _insmod("gpushare", *gpushare)
    try:
        with Genl() as genl:
            yield genl
    finally:
        _rmmod("gpushare")
        if nvsim is not None:
            _rmmod("nvsim")
            _insmod("nvsim", f"cards={count}")
        _insmod("gpushare")


def _card(genl: Genl) -> KernelCard:
    return min(cards(genl), key=lambda card: card.minor)


def test_module_comes_and_goes_and_leaves_nothing() -> None:
    before = truth.counts()
    for _ in range(3):
        with reloaded() as genl:
            with tenant(genl, "c1", {_card(genl).uuid: 64 * MIB}) as owner:
                with Actor(owner.nodes) as user:
                    user.alloc(32 * MIB)
                owner.settled()
            wait_for(lambda: truth.counts() == before, "something is left in the driver")


def test_tenants_without_open_files_go_with_the_module() -> None:
    with Genl() as genl:
        genl.do(
            Command.TENANT_NEW,
            name="c1",
            share=[{"card_uuid": _card(genl).uuid, "quota_bytes": MIB}],
        )
    with reloaded() as genl:
        assert genl.dump(Command.TENANT_GET) == []
        assert not Path("/dev/gpushare/c1").exists()


def test_module_stays_while_a_file_is_open() -> None:
    with (
        Genl() as genl,
        tenant(genl, "c1", {_card(genl).uuid: MIB}) as owner,
        Node(owner.nodes.ctl),
    ):
        with pytest.raises(subprocess.CalledProcessError):
            _rmmod("gpushare")
        assert LOADED.exists()


def test_driver_stays_while_gpushare_is_loaded() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        _rmmod("nvsim")


@pytest.mark.case("DC-01")
@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        ("570.999.01", "570.211.01 or 580.65.06"),
        ("999.1", "595.45.04"),
        ("390.157", "535.54.03"),
        ("N/A", "535.54.03 to 595.45.04"),
    ],
)
def test_unknown_driver_version_is_refused_by_name(version: str, nearest: str) -> None:
    """What was found, what is nearest to it, what to do; programs of the host see no difference."""
    running()  # nvsim behaves as this version, whatever it calls itself
    with reloaded(nvsim=(f"version={version}", "pretend=1")) as genl:
        info = genl.do(Command.INFO_GET)
        assert (info["driver_version"], info["driver_supported"]) == (version, 0)
        assert str(info["supported_versions"]) == str(supported_versions())
        share = [{"card_uuid": "GPU-6e767369-6d00-4000-8000-000000000001", "quota_bytes": MIB}]
        with pytest.raises(Refusal) as refusal:
            genl.do(Command.TENANT_NEW, name="c1", share=share)
        assert refusal.value.text == (
            f"driver {version} is not supported, {nearest} is: "
            "install that, or a gpushare that knows yours"
        )
        assert genl.dump(Command.TENANT_GET) == []
        with Actor(Nodes.real()) as user:
            user.free(user.alloc(4 * MIB))


@pytest.mark.parametrize("version", [one for one in interfaces() if one != DEFAULT_VERSION])
def test_quota_holds_with_other_driver_versions(version: str) -> None:
    """Sizes, the presence check and the kernel interface differ from branch to branch."""
    with reloaded(nvsim=(f"version={version}",)) as genl:
        running.cache_clear()
        try:
            with tenant(genl, "c1", {_card(genl).uuid: 64 * MIB}) as owner:
                with Actor(owner.nodes) as user:
                    handle = user.alloc(48 * MIB)
                    assert status_of(user.alloc, 32 * MIB) == N.NV_ERR_NO_MEMORY
                    assert owner.charged() == truth.memory().objects == 48 * MIB
                    assert user.total_free() == (64 * MIB, 16 * MIB)
                    user.free(handle)
                owner.settled()
        finally:
            running.cache_clear()


@pytest.mark.case("MA-11")
def test_with_overcommit_a_full_card_refuses_plainly() -> None:
    with reloaded(gpushare=("overcommit_permille=1500",)) as genl:
        card = _card(genl)
        assert card.grantable == (card.total - card.reserved) * 3 // 2
        half = (card.total - card.reserved) // 2 // (2 * MIB) * (2 * MIB)
        with ExitStack() as stack:
            owners = [
                stack.enter_context(tenant(genl, name, {card.uuid: half}))
                for name in ("c1", "c2", "c3")
            ]
            with pytest.raises(Refusal):
                tenant(genl, "c4", {card.uuid: half}).__enter__()
            users = [stack.enter_context(Actor(owner.nodes)) for owner in owners]
            for user in users[:2]:
                left = half
                while left:
                    size = min(left, 2 * GIB)
                    user.alloc(size)
                    left -= size
            assert status_of(users[2].alloc, half // 2) == N.NV_ERR_NO_MEMORY
            # card full, as against quota full: nothing is free though nothing is charged
            share = owners[2].share()
            assert (share.charged, share.free < 2 * MIB, share.over_quota) == (0, True, False)
            assert [owner.charged() for owner in owners] == [half, half, 0]
            users[0].finish()
            owners[0].settled()
            users[2].alloc(half // 2)
            assert owners[2].charged() == half // 2


def test_new_client_works_after_all_that() -> None:
    with (
        Genl() as genl,
        tenant(genl, "c1", {_card(genl).uuid: MIB}) as owner,
        Client(owner.nodes) as client,
    ):
        assert client.handle_class(client.handle) == N.NV01_ROOT_CLIENT
