# SPDX-License-Identifier: GPL-2.0-only
"""The daemon over its socket, on a fake kernel."""

from __future__ import annotations

import errno
import grp
import http.client
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpushare.client import Client, Json, JsonObject
from gpushare.errors import (
    Conflict,
    DaemonUnreachable,
    DriverUnavailable,
    GpuShareError,
    InvalidInput,
    NoRoom,
    NotFound,
    NotPermitted,
    Unsupported,
)
from gpushared.kernel_types import KernelRefusal
from gpushared.nvml_types import NvmlAnswer
from gpushared.peers import GroupAuthority, Peer, peer_of
from tests.fakes.daemon import running
from tests.fakes.kernel import GIB, MIB, FakeKernel, card
from tests.fakes.nvml import FakeNvml

A = card(0).uuid
B = card(1).uuid


def raw(path: Path, method: str, target: str, body: str | None = None) -> tuple[int, str, str]:
    """Status, content type and text of a request that Client would not make."""
    connection = http.client.HTTPConnection("localhost", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(str(path))
    try:
        connection.request(method, target, body=body)
        response = connection.getresponse()
        kind = response.headers.get_content_type()
        return response.status, kind, response.read().decode()
    finally:
        connection.close()


def share_of(tenant: JsonObject, index: int = 0) -> JsonObject:
    shares = tenant["shares"]
    assert isinstance(shares, list)
    share = shares[index]
    assert isinstance(share, dict)
    return share


def new(name: str = "a", memory: Json = "2GiB", **share: Json) -> JsonObject:
    return {"name": name, "shares": [{"memory": memory, **share}]}


def test_a_created_tenant_is_shown_with_its_share_and_nodes(client: Client) -> None:
    made = client.create(new(compute="30%"))
    assert made == client.tenant("a")
    assert client.tenants() == [made]
    share = share_of(made)
    assert (share["quota_bytes"], share["charged_bytes"]) == (2 * GIB, 0)
    assert share["compute"] == {
        "policy": "fixed",
        "min_permille": 300,
        "max_permille": 300,
        "weight": 100,
        "priority": 0,
        "enforced": False,
    }
    nodes = made["nodes"]
    assert isinstance(nodes, list)
    names = [node["name"] for node in nodes if isinstance(node, dict)]
    assert names == ["nvidiactl", "nvidia0", "nvidia-uvm"]


def test_nothing_said_of_compute_means_best_effort(client: Client) -> None:
    compute = share_of(client.create(new()))["compute"]
    assert isinstance(compute, dict)
    assert (compute["policy"], compute["min_permille"], compute["max_permille"]) == (
        "best-effort",
        0,
        1000,
    )


def test_cards_show_what_is_granted(client: Client) -> None:
    client.create(new(memory="3GiB"))
    (found,) = client.cards()
    assert (found["granted_bytes"], found["ungranted_bytes"]) == (3 * GIB, 12 * GIB + 512 * MIB)
    assert found["utilisation_percent"] is None


def test_nvml_adds_order_and_utilisation(two_cards: FakeKernel, socket_path: Path) -> None:
    with running(socket_path, two_cards, FakeNvml(card(1), card(0))):
        client = Client(str(socket_path))
        first, second = client.cards()
        assert (first["uuid"], first["utilisation_percent"]) == (B, 7)
        assert second["uuid"] == A
        assert share_of(client.create(new(gpu="0")))["card_uuid"] == B


class _CountingNvml(FakeNvml):
    looks = 0

    async def look(self) -> NvmlAnswer:
        self.looks += 1
        return await super().look()


def test_nvml_is_asked_for_the_order_once(kernel: FakeKernel, socket_path: Path) -> None:
    nvml = _CountingNvml(card(0))
    with running(socket_path, kernel, nvml):
        client = Client(str(socket_path))
        client.create(new())
        client.tenants()
        client.change("a", {"shares": [{"memory": "1GiB"}]})
        assert nvml.looks == 1


def test_info_tells_versions_and_what_works(client: Client) -> None:
    found = client.info()
    assert found["driver_version"] == "535.261.03"
    assert found["compute_enforced"] is False
    assert found["nvml"] == {"available": False, "reason": "NVML Shared Library Not Found"}


@pytest.mark.case("MA-10")
def test_what_the_driver_keeps_cannot_be_granted(socket_path: Path) -> None:
    kernel = FakeKernel([card(0, total_bytes=15360 * MIB, reserved_bytes=450 * MIB)])
    with running(socket_path, kernel):
        client = Client(str(socket_path))
        for name in ("a", "b", "c"):
            client.create(new(name, "3840MiB"))
        with pytest.raises(NoRoom) as caught:
            client.create(new("d", "3840MiB"))
        assert "3.75GiB were asked, card 0 can grant 3390MiB of 14910MiB" in str(caught.value)
        assert len(client.tenants()) == 3
        # the largest equal set that the figures allow: 14910 / 4
        for name in ("a", "b", "c"):
            client.change(name, {"shares": [{"memory": "3727.5MiB"}]})
        client.create(new("d", "3727.5MiB"))
        for name in ("a", "b", "c", "d"):
            assert kernel.charge(name, A, 3727 * MIB)


@pytest.mark.case("MA-11")
def test_quotas_beyond_the_card_are_refused(client: Client) -> None:
    client.create(new("a", "7.75GiB"))
    client.create(new("b", "7.75GiB"))
    with pytest.raises(NoRoom, match=r"card 0 can grant 0KiB of 15.5GiB"):
        client.create(new("c", "7.75GiB"))


@pytest.mark.case("RZ-01")
def test_a_grown_quota_holds_at_once(client: Client, kernel: FakeKernel) -> None:
    client.create(new(memory="1GiB"))
    assert kernel.charge("a", A, GIB)
    assert not kernel.charge("a", A, MIB)
    changed = client.change("a", {"shares": [{"memory": "2GiB"}]})
    assert (share_of(changed)["quota_bytes"], share_of(changed)["free_bytes"]) == (2 * GIB, GIB)
    assert kernel.charge("a", A, 512 * MIB)


@pytest.mark.case("RZ-02")
def test_a_quota_below_the_charge_is_accepted_and_refuses_more(
    client: Client, kernel: FakeKernel
) -> None:
    client.create(new(memory="1GiB"))
    assert kernel.charge("a", A, 600 * MIB)
    share = share_of(client.change("a", {"shares": [{"memory": "256MiB"}]}))
    assert (share["free_bytes"], share["over_quota"]) == (0, True)
    assert share["charged_bytes"] == 600 * MIB
    assert not kernel.charge("a", A, MIB)
    kernel.release("a", A, 400 * MIB)
    assert kernel.charge("a", A, 40 * MIB)
    assert not kernel.charge("a", A, 100 * MIB)


BAD_SHARES: list[tuple[JsonObject, type[GpuShareError], str]] = [
    ({"memory": "0"}, InvalidInput, "memory"),
    ({"memory": "0GiB"}, InvalidInput, "memory"),
    ({"memory": "-1GiB"}, InvalidInput, "memory"),
    ({"memory": "99999999999GiB"}, InvalidInput, "memory"),
    ({"memory": "16Gib"}, InvalidInput, "memory"),
    ({"memory": "4 Gi"}, InvalidInput, "memory"),
    ({"memory": "8G"}, InvalidInput, "memory"),
    ({"memory": "4096"}, InvalidInput, "memory"),
    ({"memory": 4096}, InvalidInput, "memory"),
    ({"memory": ""}, InvalidInput, "memory"),
    ({"memory": None}, InvalidInput, "memory"),
    ({}, InvalidInput, "memory"),
    ({"memory": "1GiB", "memroy": "1GiB"}, InvalidInput, "memroy"),
    ({"memory": "1GiB", "gpu": "7"}, NotFound, "gpu"),
    ({"memory": "1GiB", "gpu": "GPU-ffffffff"}, NotFound, "gpu"),
    ({"memory": "1GiB", "gpu": ""}, InvalidInput, "gpu"),
    ({"memory": "1GiB", "gpu": 0}, InvalidInput, "gpu"),
    ({"memory": "1GiB", "compute": "0%"}, InvalidInput, "compute"),
    ({"memory": "1GiB", "compute": 30}, InvalidInput, "compute"),
    ({"memory": "1GiB", "compute": None}, InvalidInput, "compute"),
    ({"memory": "1GiB", "policy": "fair"}, InvalidInput, "policy"),
    ({"memory": "1GiB", "policy": "fixed"}, InvalidInput, "compute"),
    ({"memory": "1GiB", "weight": 0}, InvalidInput, "weight"),
    ({"memory": "1GiB", "weight": "3"}, InvalidInput, "weight"),
    ({"memory": "1GiB", "weight": True}, InvalidInput, "weight"),
    ({"memory": "1GiB", "priority": 8}, InvalidInput, "priority"),
    ({"memory": "1GiB", "priority": 1 << 70}, InvalidInput, "priority"),
    ({"memory": "16GiB"}, NoRoom, "memory"),
]


@pytest.mark.case("CF-02")
@pytest.mark.parametrize(("share", "kind", "field"), BAD_SHARES)
def test_bad_shares_are_refused_and_nothing_is_made(
    client: Client, kernel: FakeKernel, share: JsonObject, kind: type[GpuShareError], field: str
) -> None:
    with pytest.raises(kind) as caught:
        client.create({"name": "a", "shares": [share]})
    assert type(caught.value) is kind
    assert caught.value.field == field
    assert caught.value.hint
    assert (client.tenants(), kernel.changes) == ([], 0)


@pytest.mark.parametrize(
    "request_body",
    [
        {"name": "../x", "shares": [{"memory": "1GiB"}]},
        {"name": "a" * 300, "shares": [{"memory": "1GiB"}]},
        {"name": "a"},
        {"name": "a", "shares": []},
        {"name": "a", "shares": {}},
        {"name": "a", "shares": ["1GiB"]},
        {"name": "a", "shares": [{"memory": "1GiB"}] * 33},
        {"name": "a", "shares": [{"memory": "1GiB"}], "cgroup": 1},
        {"name": "a", "shares": [{"memory": "1GiB"}], "owner": "root:root"},
        {"name": "a", "shares": [{"memory": "1GiB"}, {"memory": "1GiB"}]},
        {"shares": [{"memory": "1GiB"}]},
    ],
)
def test_bad_requests_are_refused_and_nothing_is_made(
    client: Client, kernel: FakeKernel, request_body: JsonObject
) -> None:
    with pytest.raises(InvalidInput) as caught:
        client.create(request_body)
    assert len(str(caught.value)) < 300
    assert kernel.changes == 0


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        '"x"',
        "null",
        "\x00",
        '{"name": NaN}',
        '{"name": "a", "name": "b"}',
        "[" * 20000,
    ],
)
def test_a_body_that_is_no_request_is_refused(client: Client, socket_path: Path, body: str) -> None:
    status, kind, answer = raw(socket_path, "POST", "/v1/tenants", body)
    assert (status, kind) == (400, "application/problem+json")
    assert json.loads(answer)["code"] == "invalid-input"


def test_a_name_can_be_taken_once(client: Client, kernel: FakeKernel) -> None:
    client.create(new(memory="1GiB"))
    with pytest.raises(Conflict, match="exists"):
        client.create(new(memory="2GiB"))
    assert share_of(client.tenant("a"))["quota_bytes"] == GIB
    assert kernel.changes == 1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"shares": [{"memory": "0GiB"}]}, InvalidInput),
        ({"shares": [{"memory": None}]}, InvalidInput),
        ({"shares": [{"memory": "16GiB"}]}, NoRoom),
        ({"shares": [{"memory": "1GiB", "gpu": "9"}]}, NotFound),
        ({"shares": [{"memory": "1GiB"}, {"memory": "3GiB"}]}, InvalidInput),
        ({"memory": "1GiB"}, InvalidInput),
        ({"name": "b"}, InvalidInput),
        ({"owner": None}, InvalidInput),
    ],
)
def test_bad_changes_are_refused_and_change_nothing(
    client: Client, kernel: FakeKernel, change: JsonObject, kind: type[GpuShareError]
) -> None:
    before = client.create(new())
    with pytest.raises(kind):
        client.change("a", change)
    assert client.tenant("a") == before
    assert kernel.changes == 1


def test_only_what_is_given_changes(client: Client) -> None:
    before = share_of(client.create(new(compute="30%", weight=7)))
    after = share_of(client.change("a", {"shares": [{"memory": "3GiB"}]}))
    assert after == {**before, "quota_bytes": 3 * GIB, "free_bytes": 3 * GIB}


def test_an_empty_change_changes_nothing(client: Client, kernel: FakeKernel) -> None:
    before = client.create(new())
    assert client.change("a", {}) == before
    assert kernel.changes == 1


def test_owner_is_changed(client: Client) -> None:
    client.create(new())
    changed = client.change("a", {"owner": "1000:100"})
    assert (changed["owner_uid"], changed["owner_gid"]) == (1000, 100)


def test_two_cards_two_shares(client_of_two: Client) -> None:
    made = client_of_two.create(
        {
            "name": "a",
            "shares": [{"gpu": "0", "memory": "1GiB"}, {"gpu": B, "memory": "2GiB"}],
        }
    )
    quotas = [(share_of(made, i)["card_uuid"], share_of(made, i)["quota_bytes"]) for i in (0, 1)]
    assert quotas == [(A, GIB), (B, 2 * GIB)]
    with pytest.raises(InvalidInput, match="2 shares"):
        client_of_two.change("a", {"shares": [{"memory": "3GiB"}]})


def test_a_change_that_fails_half_way_is_taken_back(
    client_of_two: Client, two_cards: FakeKernel
) -> None:
    shares: list[Json] = [{"gpu": "0", "memory": "1GiB"}, {"gpu": "1", "memory": "1GiB"}]
    before = client_of_two.create({"name": "a", "shares": shares})

    def refuse_second(call: str, request: object) -> None:
        if getattr(request, "card_uuid", None) == B:
            raise KernelRefusal(errno.ENOSPC, "someone was faster")

    two_cards.before_change = refuse_second
    wanted: list[Json] = [{"gpu": "0", "memory": "2GiB"}, {"gpu": "1", "memory": "2GiB"}]
    with pytest.raises(NoRoom, match="someone was faster"):
        client_of_two.change("a", {"shares": wanted})
    assert client_of_two.tenant("a") == before


def test_a_tenant_in_use_is_deleted_by_force_only(client: Client, kernel: FakeKernel) -> None:
    client.create(new())
    kernel.open_file("a", pid=42)
    with pytest.raises(Conflict, match="open files"):
        client.delete("a")
    assert [process["pid"] for process in client.processes("a")] == [42]
    client.delete("a", force=True)
    assert client.tenants() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.tenant("no"),
        lambda client: client.change("no", {}),
        lambda client: client.delete("no"),
        lambda client: client.processes("no"),
    ],
)
def test_an_unknown_tenant_is_not_found(client: Client, call: Callable[[Client], object]) -> None:
    with pytest.raises(NotFound, match="no tenant no"):
        call(client)


def test_an_unsupported_driver_refuses_tenants_and_says_which(
    client: Client, kernel: FakeKernel
) -> None:
    kernel.driver_supported = False
    with pytest.raises(Unsupported, match=r"535\.99 is not supported, 535\.261\.03 is"):
        client.create(new())
    assert client.info()["driver_supported"] is False


def test_a_missing_module_is_named(client: Client, kernel: FakeKernel) -> None:
    kernel.loaded = False
    with pytest.raises(DriverUnavailable, match="modprobe gpushare"):
        client.tenants()
    kernel.loaded = True
    assert client.tenants() == []


def test_a_bug_is_hidden_from_the_caller(
    client: Client, kernel: FakeKernel, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(call: str, request: object) -> None:
        raise RuntimeError("secret")

    kernel.before_change = break_down
    with pytest.raises(GpuShareError, match="met a bug") as caught:
        client.create(new())
    assert "secret" not in str(caught.value)
    assert "secret" in caplog.text


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v2/info", 404),
        ("PUT", "/v1/info", 405),
        ("GET", "/v1/tenants/..%2fx", 400),
        ("GET", "/v1/tenants/" + "a" * 300, 400),
        ("GET", "/v1/tenants?all=1", 400),
        ("DELETE", "/v1/tenants/a?force=yes", 400),
        ("DELETE", "/v1/tenants/a?forced=true", 400),
    ],
)
def test_wrong_paths_and_queries_are_problems(
    client: Client, socket_path: Path, method: str, target: str, status: int
) -> None:
    found, kind, answer = raw(socket_path, method, target)
    assert (found, kind) == (status, "application/problem+json")
    problem = json.loads(answer)
    assert problem["status"] == status
    assert problem["hint"]


def test_an_overlong_body_is_refused(client: Client, socket_path: Path) -> None:
    status, kind, _ = raw(socket_path, "POST", "/v1/tenants", '{"name": "' + "a" * 70000)
    assert (status, kind) == (413, "application/problem+json")


def test_counters_are_there(client: Client, kernel: FakeKernel, socket_path: Path) -> None:
    client.create(new(memory="1GiB"))
    kernel.charge("a", A, 2 * GIB)
    status, _, answer = raw(socket_path, "GET", "/v1/tenants/a/counters")
    assert (status, json.loads(answer)["refused_quota"]) == (200, 1)


def test_the_socket_is_for_owner_and_group_only(client: Client, socket_path: Path) -> None:
    assert stat.S_IMODE(socket_path.stat().st_mode) == 0o660


def test_the_socket_goes_with_the_daemon(kernel: FakeKernel, socket_path: Path) -> None:
    with running(socket_path, kernel):
        pass
    assert not socket_path.exists()
    with pytest.raises(DaemonUnreachable, match="systemctl start gpushared"):
        Client(str(socket_path)).info()


def test_a_socket_left_behind_is_replaced(kernel: FakeKernel, socket_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(socket_path))
    with running(socket_path, kernel):
        assert Client(str(socket_path)).tenants() == []


def test_a_second_daemon_does_not_take_the_socket(client: Client, socket_path: Path) -> None:
    with pytest.raises(Conflict, match="another gpushared"), running(socket_path, FakeKernel()):
        pass
    assert client.tenants() == []


def test_tenants_outlive_the_daemon(kernel: FakeKernel, socket_path: Path) -> None:
    with running(socket_path, kernel):
        made = Client(str(socket_path)).create(new())
    with running(socket_path, kernel):
        assert Client(str(socket_path)).tenants() == [made]


def test_root_writes_and_strangers_do_nothing() -> None:
    authority = GroupAuthority("no-such-group-here")
    stranger = Peer(pid=1, uid=os.geteuid() + 54321, gid=54321)
    assert authority.may_write(Peer(pid=1, uid=0, gid=0))
    assert not authority.may_read(stranger)
    assert not authority.may_write(stranger)


def test_members_of_the_group_read_and_do_not_write() -> None:
    group = next(entry for entry in grp.getgrall() if entry.gr_gid != 0)
    member = Peer(pid=1, uid=os.geteuid() + 54321, gid=group.gr_gid)
    authority = GroupAuthority(group.gr_name)
    assert authority.may_read(member)
    assert not authority.may_write(member)
    process = Peer(pid=1, uid=os.geteuid() + 54321, gid=54321, groups=frozenset({group.gr_gid}))
    assert authority.may_read(process)
    assert not authority.may_write(process)


def test_a_peers_groups_are_those_of_its_process() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        peer = peer_of(here)
    assert (peer.pid, peer.uid, peer.gid) == (os.getpid(), os.getuid(), os.getgid())
    assert peer.groups == frozenset(os.getgroups())


class _Readers:
    def may_write(self, peer: Peer) -> bool:
        return False

    def may_read(self, peer: Peer) -> bool:
        return True


def test_a_reader_is_refused_changes(kernel: FakeKernel, socket_path: Path) -> None:
    with running(socket_path, kernel, authority=_Readers()):
        client = Client(str(socket_path))
        assert client.tenants() == []
        with pytest.raises(NotPermitted, match="may not change"):
            client.create(new())
