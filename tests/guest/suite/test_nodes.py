# SPDX-License-Identifier: GPL-2.0-only
"""The virtual nodes: whose they are, from where they open, and when their numbers come again."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gpushared.netlink_abi import Command, EventType, NodeKind
from tests.guest.rm.abi import MIB
from tests.guest.rm.client import Client
from tests.guest.rm.genl import Genl, Refusal
from tests.guest.rm.node import Node
from tests.guest.rm.process import Child
from tests.guest.rm.tenant import SYSFS, KernelCard, MakeTenant, Tenant, create, tenant

CGROUPS: Final = Path("/sys/fs/cgroup")


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup v2 of its own."""
    folder = CGROUPS / "c1"
    folder.mkdir()
    yield folder
    if folder.exists():
        folder.rmdir()


def _cgroup_id(folder: Path) -> int:
    return folder.stat().st_ino


def _open_errno(path: Path, *, cgroup: Path | None = None, uid: int = 0, gid: int = 0) -> int:
    """What an open from that group and by that user ends with; 0 if it works."""

    def body(pipe: object) -> None:
        if cgroup is not None:
            (cgroup / "cgroup.procs").write_text(str(os.getpid()))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
        number = 0
        try:
            Node(path).close()
        except OSError as error:
            number = error.errno or -1
        os._exit(number)

    return Child(body).wait()


# ---- names and owners ----


def test_nodes_are_named_after_the_tenant_and_the_card(make: MakeTenant, card: KernelCard) -> None:
    owner = make("c1", MIB)
    assert sorted(os.listdir(owner.nodes.folder)) == sorted(
        ["nvidia-uvm", f"nvidia{card.minor}", "nvidiactl"]
    )
    told = owner.get()["node"]
    assert isinstance(told, list)
    for node in told:
        status = os.stat(node["path"])
        assert stat.S_ISCHR(status.st_mode)
        assert (os.major(status.st_rdev), os.minor(status.st_rdev)) == (
            node["major"],
            node["minor"],
        )
        char = Path(f"/sys/dev/char/{node['major']}:{node['minor']}")
        assert char.exists()
    assert sorted(node["kind"] for node in told) == sorted(NodeKind)
    majors = {node["major"] for node in told}
    assert len(majors) == 1
    assert 195 not in majors


def test_owner_and_mode_belong_to_the_tenant(genl: Genl, card: KernelCard) -> None:
    with tenant(genl, "c1", {card.uuid: MIB}, owner_uid=1000, owner_gid=1001, mode=0o640) as owner:
        for path in (owner.nodes.ctl, owner.nodes.uvm, owner.nodes.gpu(card.minor)):
            status = path.stat()
            assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (
                1000,
                1001,
                0o640,
            )
    with tenant(genl, "c1", {card.uuid: MIB}) as owner:
        status = owner.nodes.ctl.stat()
        assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (0, 0o660)


def test_only_owner_and_group_open_a_node(genl: Genl, card: KernelCard) -> None:
    with tenant(genl, "c1", {card.uuid: MIB}, owner_uid=1000, owner_gid=1001) as owner:
        assert _open_errno(owner.nodes.ctl, uid=1000, gid=1) == 0
        assert _open_errno(owner.nodes.ctl, uid=1, gid=1001) == 0
        assert _open_errno(owner.nodes.ctl, uid=1, gid=1) == errno.EACCES


def test_numbers_are_not_given_out_again_at_once(genl: Genl, card: KernelCard) -> None:
    """A container that outlived its tenant may still be allowed the old ones."""
    seen: set[int] = set()
    for _ in range(20):
        with tenant(genl, "c1", {card.uuid: MIB}) as owner:
            told = owner.get()["node"]
            assert isinstance(told, list)
            minors = {node["minor"] for node in told}
            assert not minors & seen
            seen |= minors


def test_node_kept_by_somebody_leads_nowhere_after_the_tenant(genl: Genl, card: KernelCard) -> None:
    owner = create(genl, "c1", {card.uuid: MIB})
    kept = Path("/tmp/kept")
    os.mknod(kept, stat.S_IFCHR | 0o600, owner.nodes.ctl.stat().st_rdev)
    try:
        Node(kept).close()
        owner.delete()
        with pytest.raises(OSError, match="No such device"):
            Node(kept)
        with tenant(genl, "c1", {card.uuid: MIB}), pytest.raises(OSError, match="No such device"):
            Node(kept)
    finally:
        kept.unlink()


def test_folder_goes_with_the_tenant(genl: Genl, card: KernelCard) -> None:
    with tenant(genl, "c1", {card.uuid: MIB}) as owner:
        assert owner.nodes.folder.is_dir()
    assert not owner.nodes.folder.exists()
    assert not (SYSFS / "c1").exists()


# ---- the gate ----


def test_bound_tenant_opens_from_its_group_only(genl: Genl, make: MakeTenant, group: Path) -> None:
    owner = make("c1", MIB)
    assert "cgroup_id" not in owner.get()
    assert _open_errno(owner.nodes.ctl) == 0, "without a binding the gate is open"
    owner.set(cgroup_id=_cgroup_id(group))
    assert owner.get()["cgroup_id"] == _cgroup_id(group)
    below = group / "below"
    below.mkdir()
    try:
        with Genl() as listener:
            listener.subscribe()
            for path in (owner.nodes.ctl, owner.nodes.uvm, owner.nodes.gpu(0)):
                assert _open_errno(path, cgroup=group) == 0
                assert _open_errno(path, cgroup=below) == 0
                assert _open_errno(path) == errno.EACCES
            events = listener.events(wait_s=5)
        assert [event["type"] for event in events] == [EventType.OPEN_DENIED] * 3
        assert {event["tenant"] for event in events} == {"c1"}
        assert owner.stats()["open_denied"] == 3
    finally:
        below.rmdir()
    owner.set(unbind=True)
    assert "cgroup_id" not in owner.get()
    assert _open_errno(owner.nodes.ctl) == 0


def test_end_of_the_group_ends_the_binding(make: MakeTenant, group: Path) -> None:
    owner = make("c1", MIB)
    owner.set(cgroup_id=_cgroup_id(group))
    assert _open_errno(owner.nodes.ctl) == errno.EACCES
    group.rmdir()
    assert _open_errno(owner.nodes.ctl) == 0
    assert "cgroup_id" not in owner.get(), "what is told is what holds"


def test_nodes_for_everybody_stay_closed_until_bound(
    genl: Genl, card: KernelCard, group: Path
) -> None:
    with tenant(genl, "c1", {card.uuid: MIB}, mode=0o666) as owner:
        assert _open_errno(owner.nodes.ctl) == errno.EACCES
        owner.set(cgroup_id=_cgroup_id(group))
        assert _open_errno(owner.nodes.ctl) == errno.EACCES
        assert _open_errno(owner.nodes.ctl, cgroup=group, uid=1000, gid=1000) == 0
        group.rmdir()
        assert _open_errno(owner.nodes.ctl) == errno.EACCES


def test_inside_a_bound_group_nothing_can_be_managed(
    genl: Genl, make: MakeTenant, card: KernelCard, group: Path
) -> None:
    """Root in the container, by netlink and by sysfs: refused; from outside it works on."""
    owner = make("c1", MIB)
    owner.set(cgroup_id=_cgroup_id(group))

    def body(pipe: object) -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        share = [{"card_uuid": card.uuid, "quota_bytes": 2 * MIB}]
        with Genl() as own:
            for command, values in (
                (Command.SHARE_SET, {"name": "c1", "share": share}),
                (Command.TENANT_NEW, {"name": "c2", "share": share}),
                (Command.TENANT_SET, {"name": "c1", "unbind": True}),
                (Command.TENANT_DEL, {"name": "c1", "force": True}),
                (Command.TENANT_GET, {"name": "c1"}),
            ):
                with pytest.raises(Refusal) as refusal:
                    own.do(command, **values)
                assert refusal.value.number == errno.EPERM
                assert "cgroup" in refusal.value.text
        with pytest.raises(OSError, match="not permitted"):
            (SYSFS / "c1" / card.uuid / "quota_bytes").write_text(str(2 * MIB))

    Child(body).finish()
    assert owner.share().quota == MIB
    owner.set_quota(card.uuid, 2 * MIB)


def test_open_file_works_on_when_the_binding_changes(make: MakeTenant, group: Path) -> None:
    owner: Tenant = make("c1", MIB)
    with Client(owner.nodes) as client:
        owner.set(cgroup_id=_cgroup_id(group))
        assert client.handle_class(client.handle) == 0x41
