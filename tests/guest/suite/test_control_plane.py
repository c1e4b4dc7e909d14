# SPDX-License-Identifier: GPL-2.0-only
"""The netlink family and sysfs: every refusal says why, and a refused request changes nothing.

Zero, absent and out of range are three different things; none of them means unlimited.
"""

from __future__ import annotations

import asyncio
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gpushared.netlink_abi import Command, EventType, Policy
from tests.guest.rm.abi import MIB, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.genl import Genl, Refusal, attribute, encode
from tests.guest.rm.node import Node, Nodes
from tests.guest.rm.process import Child
from tests.guest.rm.tenant import SYSFS, KernelCard, MakeTenant, Tenant, cards, create, tenant

UUID: Final = "11111111-2222-4333-8444-555555555555"
SHARE, NAME, QUOTA = 11, 1, 2  # numbers of attributes, for requests made by hand


def _state(genl: Genl) -> object:
    """Everything a refused request might have changed."""
    return (
        genl.dump(Command.TENANT_GET),
        [(one.uuid, one.granted, one.shares) for one in cards(genl)],
        sorted(os.listdir(SYSFS)),
        sorted(os.listdir("/sys/class/gpushare")),
    )


@pytest.fixture
def unchanged(genl: Genl, make: MakeTenant) -> Iterator[Tenant]:
    """A tenant beside which nothing may change."""
    other = make("other", 64 * MIB)
    before = _state(genl)
    yield other
    assert _state(genl) == before


def _share(card: KernelCard, **values: object) -> dict[str, object]:
    return {"card_uuid": card.uuid, "quota_bytes": 64 * MIB, **values}


def _refused(genl: Genl, command: Command, **values: object) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        genl.do(command, **values)
    return refusal.value


# ---- names ----


@pytest.mark.parametrize(
    "name", ["", "../x", "a/b", ".hidden", "-dash", "_x", "Upper", "a b", "é", "a\n", "x" * 64]
)
def test_bad_name_is_refused_with_the_rule(
    genl: Genl, card: KernelCard, unchanged: Tenant, name: str
) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name=name, share=[_share(card)])
    assert refusal.number in (errno.EINVAL, errno.ERANGE)
    assert refusal.text


def test_name_of_300_bytes_is_refused(genl: Genl, card: KernelCard, unchanged: Tenant) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="x" * 300, share=[_share(card)])
    assert refusal.number in (errno.EINVAL, errno.ERANGE)
    assert refusal.text


@pytest.mark.parametrize("name", ["a", "0", "x" * 63, "a.b-c_d.9"])
def test_good_name_becomes_a_folder(make: MakeTenant, name: str) -> None:
    owner = make(name, MIB)
    assert owner.nodes.ctl.exists()
    assert (SYSFS / name).is_dir()


def test_duplicate_name_is_refused(genl: Genl, card: KernelCard, unchanged: Tenant) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="other", share=[_share(card)])
    assert (refusal.number, "exists" in refusal.text) == (errno.EEXIST, True)


def test_unknown_tenant_is_not_found(genl: Genl, unchanged: Tenant) -> None:
    for command, values in (
        (Command.TENANT_GET, {}),
        (Command.TENANT_DEL, {}),
        (Command.TENANT_SET, {"mode": 0o600}),
    ):
        refusal = _refused(genl, command, name="nobody", **values)
        assert (refusal.number, refusal.text) == (errno.ENOENT, "no such tenant")


# ---- quotas ----


@pytest.mark.case("CF-02")
def test_zero_quota_is_refused(genl: Genl, card: KernelCard, unchanged: Tenant) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="c1", share=[_share(card, quota_bytes=0)])
    assert refusal.number in (errno.EINVAL, errno.ERANGE)
    assert refusal.text
    refusal = _refused(
        genl, Command.SHARE_SET, name="other", share=[{"card_uuid": card.uuid, "quota_bytes": 0}]
    )
    assert refusal.number in (errno.EINVAL, errno.ERANGE)
    assert refusal.text


@pytest.mark.case("CF-02")
def test_absent_quota_is_refused_at_creation_and_means_unchanged_later(
    genl: Genl, card: KernelCard, make: MakeTenant
) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="c1", share=[{"card_uuid": card.uuid}])
    assert (refusal.number, "must be given" in refusal.text) == (errno.EINVAL, True)
    owner = make("c1", 64 * MIB)
    genl.do(Command.SHARE_SET, name="c1", share=[{"card_uuid": card.uuid, "weight": 7}])
    assert owner.share().quota == 64 * MIB


@pytest.mark.case("CF-02")
def test_zero_compute_means_nothing_guaranteed(
    genl: Genl, card: KernelCard, unchanged: Tenant
) -> None:
    """min 0 is what best effort has; max 0, which would be nothing at all, is refused."""
    refusal = _refused(
        genl, Command.TENANT_NEW, name="c1", share=[_share(card, compute_max_permille=0)]
    )
    assert refusal.number in (errno.EINVAL, errno.ERANGE)
    assert refusal.text
    genl.do(Command.TENANT_NEW, name="c1", share=[_share(card)])
    made = Tenant(genl, "c1").get()["share"]
    assert isinstance(made, list)
    assert made[0]["compute_min_permille"] == 0
    assert made[0]["compute_max_permille"] == 1000
    assert made[0]["policy"] == Policy.BEST_EFFORT
    Tenant(genl, "c1").delete()


@pytest.mark.parametrize("quota", [1 << 63, (1 << 64) - 1, 1 << 50])
def test_quota_over_the_card_is_refused_with_both_figures(
    genl: Genl, card: KernelCard, unchanged: Tenant, quota: int
) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="c1", share=[_share(card, quota_bytes=quota)])
    assert refusal.number in (errno.ENOSPC, errno.EOVERFLOW)
    assert f"{quota // MIB} MiB" in refusal.text
    assert f"{card.grantable // MIB} MiB" in refusal.text


def test_last_byte_of_the_card_can_be_granted_and_no_more(genl: Genl, card: KernelCard) -> None:
    with tenant(genl, "c1", {card.uuid: card.grantable - MIB}):
        refusal = _refused(
            genl, Command.TENANT_NEW, name="c2", share=[_share(card, quota_bytes=MIB + 1)]
        )
        assert refusal.number == errno.ENOSPC
        with tenant(genl, "c2", {card.uuid: MIB}):
            shown = next(one for one in cards(genl) if one.uuid == card.uuid)
            assert (shown.granted, shown.shares) == (card.grantable, 2)


def test_one_bad_share_of_two_makes_no_tenant(
    genl: Genl, card: KernelCard, other_card: KernelCard, unchanged: Tenant
) -> None:
    good, bad = _share(card), _share(other_card, quota_bytes=1 << 50)
    for shares in ([good, bad], [bad, good], [good, good]):
        refusal = _refused(genl, Command.TENANT_NEW, name="c1", share=shares)
        assert refusal.text


# ---- values out of range and malformed messages ----


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"compute_min_permille": 1001}, id="min over 1000"),
        pytest.param({"compute_max_permille": 1001}, id="max over 1000"),
        pytest.param({"compute_min_permille": 500, "compute_max_permille": 100}, id="min over max"),
        pytest.param({"weight": 0}, id="weight 0"),
        pytest.param({"weight": 10001}, id="weight over"),
        pytest.param({"priority": 8}, id="priority over"),
        pytest.param({"policy": 3}, id="unknown policy"),
        pytest.param({"charged_bytes": 1}, id="a figure that is only told"),
        pytest.param({"over_quota": 0}, id="a mark that is only told"),
        pytest.param({"card_uuid": "GPU-none"}, id="unknown card"),
        pytest.param({"card_uuid": "x" * 41}, id="long card name"),
    ],
)
def test_share_value_out_of_range_is_refused(
    genl: Genl, card: KernelCard, unchanged: Tenant, values: dict[str, object]
) -> None:
    for command, name in ((Command.TENANT_NEW, "c1"), (Command.SHARE_SET, "other")):
        refusal = _refused(genl, command, name=name, share=[_share(card, **values)])
        assert refusal.number in (errno.EINVAL, errno.ERANGE, errno.ENODEV)
        assert refusal.text


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"mode": 0o777}, id="executable"),
        pytest.param({"mode": 0o4660}, id="set-uid"),
        pytest.param({"owner_uid": 0xFFFFFFFF}, id="no user"),
        pytest.param({"owner_gid": 0xFFFFFFFF}, id="no group"),
        pytest.param({"uuid": "not-a-uuid"}, id="short uuid"),
        pytest.param({"uuid": UUID + "0"}, id="long uuid"),
        pytest.param({"uuid": UUID.replace("-", "x")}, id="wrong letters"),
        pytest.param({"force": True}, id="an option of another command"),
        pytest.param({"state": "ok"}, id="a state that is only told"),
    ],
)
def test_tenant_value_out_of_range_is_refused(
    genl: Genl, card: KernelCard, unchanged: Tenant, values: dict[str, object]
) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="c1", share=[_share(card)], **values)
    assert refusal.number in (errno.EINVAL, errno.ERANGE)
    assert refusal.text


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"cgroup_id": 0}, id="group 0"),
        pytest.param({"cgroup_id": 1 << 60}, id="no such group"),
        pytest.param({"cgroup_id": 1, "unbind": True}, id="bind and unbind"),
        pytest.param({"mode": 0o1660}, id="sticky"),
    ],
)
def test_refused_setting_changes_nothing(
    genl: Genl, unchanged: Tenant, values: dict[str, object]
) -> None:
    refusal = _refused(genl, Command.TENANT_SET, name="other", **values)
    assert refusal.text


def test_malformed_messages_are_refused(genl: Genl, card: KernelCard, unchanged: Tenant) -> None:
    name = encode("tenant", {"name": "c1"})
    uuid = encode("share", {"card_uuid": card.uuid})
    nest = SHARE | 0x8000
    bad = {
        "nothing": b"",
        "no share": name,
        "no name": attribute(nest, encode("share", _share(card))),
        "empty share": name + attribute(nest, b""),
        "share as plain attribute": name + attribute(SHARE, encode("share", _share(card))),
        "quota of 4 bytes": name + attribute(nest, uuid + attribute(QUOTA, struct.pack("<I", 1))),
        "quota of 9 bytes": name + attribute(nest, uuid + attribute(QUOTA, bytes(9))),
        "name without end": attribute(NAME, b"\xff" * 70) + attribute(nest, uuid),
        "unknown attribute": encode("tenant", {"name": "c1", "share": [_share(card)]})
        + attribute(99, b"1234"),
        "cut attribute": struct.pack("<HH", 200, NAME) + b"abcd",
        "length below a header": struct.pack("<HH", 2, NAME) + b"abcd",
    }
    for what, body in bad.items():
        with pytest.raises(Refusal) as refusal:
            genl.send(Command.TENANT_NEW, body)
        assert refusal.value.number in (errno.EINVAL, errno.ERANGE), what
        assert refusal.value.text, what


def test_unknown_command_is_refused(genl: Genl, unchanged: Tenant) -> None:
    for command in (0, 11, 200):
        with pytest.raises(Refusal) as refusal:
            genl.send(command, b"")
        assert refusal.value.number in (errno.EOPNOTSUPP, errno.EINVAL)


def test_too_many_shares_are_refused(genl: Genl, card: KernelCard, unchanged: Tenant) -> None:
    refusal = _refused(genl, Command.TENANT_NEW, name="c1", share=[_share(card)] * 40)
    assert refusal.text


# ---- who may ask ----


def test_without_net_admin_everything_is_refused(
    genl: Genl, card: KernelCard, unchanged: Tenant
) -> None:
    def body(pipe: object) -> None:
        os.setgid(1000)
        os.setuid(1000)
        with Genl() as own:
            for command, values in (
                (Command.INFO_GET, {}),
                (Command.TENANT_GET, {"name": "other"}),
                (Command.TENANT_DEL, {"name": "other"}),
                (Command.TENANT_NEW, {"name": "c1", "share": [_share(card)]}),
            ):
                assert _refused(own, command, **values).number == errno.EPERM

    Child(body).finish()


# ---- sysfs ----


@pytest.mark.case("CF-02")
@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1",
        "",
        "\n",
        " ",
        "abc",
        "1.5",
        "0x",
        "1 2",
        "64Mi",
        "18446744073709551616",
        "18446744073709551615",
        "9" * 30,
        "\0",
        "1" * 5000,
    ],
)
def test_bad_write_to_sysfs_changes_nothing(card: KernelCard, unchanged: Tenant, text: str) -> None:
    path = SYSFS / "other" / card.uuid / "quota_bytes"
    fd = os.open(path, os.O_WRONLY)
    try:
        if text:
            with pytest.raises(OSError, match=r"Invalid argument|out of range|No space|too large"):
                os.write(fd, text.encode())
        else:
            os.write(fd, b"")
    finally:
        os.close(fd)


def test_figures_in_sysfs_cannot_be_written(card: KernelCard, unchanged: Tenant) -> None:
    for path in (SYSFS / "other" / card.uuid).iterdir():
        mode = path.stat().st_mode & 0o777
        assert mode == (0o644 if path.name == "quota_bytes" else 0o444)
        if path.name != "quota_bytes":
            with pytest.raises(OSError, match=r"Permission|Input/output"):
                path.write_text("1")


def test_sysfs_and_netlink_tell_the_same(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        gpu.memory(32 * MIB)
        assert status_of(gpu.memory, 64 * MIB) == N.NV_ERR_NO_MEMORY
        share = owner.share()
        for name in (
            "quota",
            "charged",
            "object",
            "managed",
            "overhead",
            "lingering",
            "free",
            "peak",
        ):
            assert owner.figure(f"{name}_bytes") == getattr(share, name), name
        assert owner.figure("refusals") == share.refusals == 1
        assert share.charged == share.object + share.managed + share.overhead + share.lingering


# ---- what is told ----


def test_info_names_driver_and_what_is_supported(genl: Genl) -> None:
    info = genl.do(Command.INFO_GET)
    version = Path("/sys/module/nvsim/parameters/version").read_text().strip()
    assert info["driver_version"] == version
    assert info["driver_supported"] == 1
    supported = info["supported_versions"]
    assert isinstance(supported, list)
    assert version in supported
    assert info["cgroup_gate"] == 1
    assert info["module_version"] == "0.1.0"
    assert (SYSFS / "driver_version").read_text().strip() == version


def test_card_figures_add_up(genl: Genl, make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 256 * MIB)
    with (
        Client(owner.nodes) as client,
        Card(client) as gpu,
        Client(Nodes.real()) as outside,
        Card(outside) as real,
    ):
        gpu.memory(128 * MIB)
        real.memory(64 * MIB)
        shown = next(one for one in cards(genl) if one.uuid == card.uuid)
        assert (shown.charged, shown.outside) == (128 * MIB, 64 * MIB)
        assert shown.free == shown.grantable - 192 * MIB
        assert (shown.granted, shown.shares, shown.state) == (256 * MIB, 1, "ok")


def test_clients_name_process_files_and_bytes(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 256 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        gpu.memory(128 * MIB)
        entries = owner.clients()
        assert {entry["pid"] for entry in entries} == {os.getpid()}
        assert {entry["comm"] for entry in entries} == {Path("/proc/self/comm").read_text().strip()}
        assert sum(entry["files"] for entry in entries if isinstance(entry["files"], int)) == 2
        assert [entry["bytes"] for entry in entries if entry["bytes"]] == [128 * MIB]
        assert [entry["objects"] for entry in entries if entry["objects"]] == [1]


def test_counters_count(make: MakeTenant) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        assert status_of(gpu.memory, 128 * MIB) == N.NV_ERR_NO_MEMORY
        assert status_of(client.alloc, gpu.device, N.NV01_MEMORY_LOCAL_PHYSICAL) != 0
        stats = owner.stats()
        assert (stats["refused_quota"], stats["refused_denied"]) == (1, 1)
        ioctls, forwarded = stats["ioctls"], stats["forwarded"]
        assert isinstance(ioctls, int)
        assert isinstance(forwarded, int)
        assert ioctls >= 5
        assert forwarded >= 3


def test_given_identity_is_kept(genl: Genl, card: KernelCard) -> None:
    with tenant(
        genl, "c1", {card.uuid: MIB}, uuid=UUID, owner_uid=1000, owner_gid=1001, mode=0o600
    ) as owner:
        shown = owner.get()
        assert [shown[key] for key in ("uuid", "owner_uid", "owner_gid", "mode")] == [
            UUID,
            1000,
            1001,
            0o600,
        ]
    with tenant(genl, "c1", {card.uuid: MIB}) as owner:
        assert len(str(owner.get()["uuid"])) == 36
        assert owner.get()["uuid"] != UUID
        assert owner.get()["mode"] == 0o660


def test_daemons_codec_reads_the_same(genl: Genl, make: MakeTenant) -> None:
    """gpushared's library on the real module: what it understands is what was sent."""
    # here, because pyroute2 and pydantic take seconds to import under TCG
    from gpushared.kernel import NetlinkKernel

    owner = make("c1", 64 * MIB)

    async def ask() -> tuple[object, ...]:
        kernel = NetlinkKernel()
        try:
            one = await kernel.tenant("c1")
            info = await kernel.info()
            return (
                one.name,
                one.share[0].quota_bytes,
                len(one.node),
                info.driver_version,
                len(await kernel.cards()),
                len(await kernel.tenants()),
            )
        finally:
            await kernel.close()

    raw = owner.get()
    nodes = raw["node"]
    assert isinstance(nodes, list)
    assert asyncio.run(ask()) == (
        "c1",
        64 * MIB,
        len(nodes),
        genl.do(Command.INFO_GET)["driver_version"],
        len(cards(genl)),
        1,
    )


def test_many_tenants_are_all_listed(genl: Genl, card: KernelCard) -> None:
    """More than fit one message of a dump."""
    made = [create(genl, f"t{number}", {card.uuid: MIB}) for number in range(100)]
    try:
        assert {one["name"] for one in genl.dump(Command.TENANT_GET)} == {one.name for one in made}
        assert len(genl.dump(Command.STATS_GET)) == 100
    finally:
        for one in made:
            one.delete()


# ---- events ----


def test_events_tell_what_happened(card: KernelCard, genl: Genl) -> None:
    with Genl() as listener:
        listener.subscribe()
        with tenant(genl, "c1", {card.uuid: 64 * MIB}) as owner:
            owner.set_quota(card.uuid, 32 * MIB)
            with Client(owner.nodes) as client, Card(client) as gpu:
                assert status_of(gpu.memory, 48 * MIB) == N.NV_ERR_NO_MEMORY
            owner.set(mode=0o600)
        events = listener.events(wait_s=5)
    assert [event["type"] for event in events] == [
        EventType.TENANT_NEW,
        EventType.TENANT_CHANGED,
        EventType.QUOTA_REFUSED,
        EventType.TENANT_CHANGED,
        EventType.TENANT_DEL,
    ]
    assert {event["tenant"] for event in events} == {"c1"}
    refused = events[2]
    assert (refused["card_uuid"], refused["bytes"]) == (card.uuid, 48 * MIB)
    assert refused["pid"] == os.getpid()
    times = [event["time_ns"] for event in events]
    assert times == sorted(times, key=lambda time: int(str(time)))


def test_a_tenant_cannot_flood_the_operator(make: MakeTenant) -> None:
    """Events of a tenant's own making are limited; the counters are not."""
    owner = make("c1", 2 * MIB)
    with Genl() as listener, Client(owner.nodes) as client, Card(client) as gpu:
        listener.subscribe()
        for _ in range(300):
            assert status_of(gpu.memory, 4 * MIB) == N.NV_ERR_NO_MEMORY
        assert owner.stats()["refused_quota"] == 300
        assert 1 <= len(listener.events(wait_s=1)) <= 300


def test_files_open_before_a_change_see_it(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", 64 * MIB)
    with Node(owner.nodes.ctl) as early:
        owner.set_quota(card.uuid, 128 * MIB)
        client = Client(owner.nodes, ctl=early)
        with Card(client) as gpu:
            assert gpu.total_free() == (128 * MIB, 128 * MIB)
