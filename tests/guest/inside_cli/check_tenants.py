# SPDX-License-Identifier: GPL-2.0-only
"""create, list, show, set, delete, gpu list, info: on the real module."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import pytest

from gpushare.client import Client, JsonObject
from gpushare.errors import GpuShareError, InvalidInput
from gpushare.sizes import GIB
from gpushare.version import version
from tests.guest.inside_cli.machine import (
    NODES,
    SYSFS,
    command,
    done,
    gpushare,
    gpushare_here,
    kernel_state,
    program,
    settles,
)

NOBODY = 65534
GROUP = 990


def cells(table: str, row: int = 1) -> list[str]:
    """Cells of a table's row; more than one space parts them."""
    return re.split(r"\s{2,}", table.splitlines()[row].strip())


def quotas() -> list[int]:
    return [int(path.read_text()) for path in sorted(SYSFS.glob("*/*/quota_bytes"))]


def test_a_tenant_from_create_to_delete() -> None:
    made = done("create", "a", "--memory", "2GiB", "--gpu", "0", "--compute", "30%")
    assert cells(made)[:7] == ["a", "0", "2GiB", "0KiB", "2GiB", "0KiB", "fixed 30%*"]
    assert "not enforced yet" in made
    assert quotas() == [2 * GIB]
    assert cells(done("list")) == cells(made)

    assert cells(done("set", "a", "--memory", "3GiB"))[:3] == ["a", "0", "3GiB"]
    assert quotas() == [3 * GIB]

    assert done("delete", "a") == ""
    assert done("list").splitlines()[1:] == []
    assert kernel_state() == {}


def test_json_is_the_same_on_every_way(api: Client) -> None:
    made = json.loads(done("create", "a", "--memory", "2GiB", "-o", "json"))
    assert made == api.tenant("a")
    assert json.loads(done("list", "-o", "json")) == [made]
    assert json.loads(done("show", "a", "-o", "json")) == {**made, "processes": []}
    changed = json.loads(done("set", "a", "--weight", "7", "-o", "json"))
    assert changed["shares"][0]["compute"]["weight"] == 7
    assert json.loads(done("info", "-o", "json")) == api.info()


def test_nodes_belong_to_the_owner_asked_for(api: Client) -> None:
    done("create", "a", "--memory", "1GiB", "--owner", "1234:4321", "--gpu", "1")
    found = {path.name: path.stat() for path in (NODES / "a").iterdir()}
    assert sorted(found) == ["nvidia-uvm", "nvidia1", "nvidiactl"]
    for node in found.values():
        assert stat.S_ISCHR(node.st_mode)
        assert (stat.S_IMODE(node.st_mode), node.st_uid, node.st_gid) == (0o660, 1234, 4321)
    told = {str(node["path"]): node for node in nodes_told(api.tenant("a"))}
    assert {f"{NODES}/a/{name}" for name in found} == set(told)
    for path, node_told in told.items():
        number = os.makedev(as_int(node_told["major"]), as_int(node_told["minor"]))
        assert Path(path).stat().st_rdev == number


def nodes_told(tenant: JsonObject) -> list[JsonObject]:
    nodes = tenant["nodes"]
    assert isinstance(nodes, list)
    return [node for node in nodes if isinstance(node, dict)]


def as_int(value: object) -> int:
    assert isinstance(value, int)
    return value


def test_without_an_owner_the_group_gpushare_has_the_nodes() -> None:
    done("create", "a", "--memory", "1GiB")
    node = (NODES / "a" / "nvidiactl").stat()
    assert (stat.S_IMODE(node.st_mode), node.st_uid, node.st_gid) == (0o660, 0, GROUP)


def test_two_cards_get_a_share_each(api: Client) -> None:
    done("create", "a", "--memory", "1GiB", "--gpu", "0", "--gpu", "1")
    assert quotas() == [GIB, GIB]
    assert gpushare("set", "a", "--memory", "2GiB").status == 2
    done("set", "a", "--memory", "2GiB", "--gpu", "1")
    assert sorted(quotas()) == [GIB, 2 * GIB]
    granted = {card["index"]: card["granted_bytes"] for card in api.cards()}
    assert granted == {0: GIB, 1: 2 * GIB}


def test_the_card_with_most_to_grant_is_taken(api: Client) -> None:
    done("create", "a", "--memory", "2GiB", "--gpu", "0")
    done("create", "b", "--memory", "1GiB")
    shares = api.tenant("b")["shares"]
    assert isinstance(shares, list)
    assert isinstance(shares[0], dict)
    assert shares[0]["card_index"] == 1


def test_gpu_list_is_what_the_driver_says() -> None:
    done("create", "a", "--memory", "2GiB", "--gpu", "0")
    listed = [cells(done("gpu", "list"), row) for row in (1, 2)]
    told = command("nvidia-smi", "-L").out
    for index, row in enumerate(listed):
        assert f"GPU {index}: {row[2]} (UUID: {row[1]})" in told
    total = command("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits").out
    assert [float(row[3].removesuffix("GiB")) * 1024 for row in listed] == [
        float(line) for line in total.split()
    ]
    assert [row[5] for row in listed] == ["2GiB", "0KiB"]


def test_info_and_version_are_about_this_machine() -> None:
    info = done("info")
    assert re.search(r"^driver: +535\.261\.03 \(nvsim\)$", info, re.MULTILINE)
    assert "NVML:              works" in info
    assert "not enforced yet" in info
    assert done("version").splitlines()[:2] == [
        f"gpushare {version()}",
        f"gpushared {version()}",
    ]


@pytest.mark.case("CF-01")
@pytest.mark.parametrize("text", ["4Gi", "4GiB", "4096Mi", "4096MiB", "4194304Ki"])
def test_a_size_is_the_same_in_every_form(text: str) -> None:
    assert gpushare_here("create", "a", "--memory", text).status == 0
    assert quotas() == [4 * GIB]


BAD = [
    (("create", "b", "--memory", "0"), 2, "zero|no unit"),
    (("create", "b", "--memory", "0GiB"), 2, "zero"),
    (("create", "b", "--memory", "-1GiB"), 2, "negative"),
    (("create", "b", "--memory", "99999999999GiB"), 2, "larger"),
    (("create", "b", "--memory", f"{1 << 64}GiB"), 2, "larger"),
    (("create", "b", "--memory", "16Gib"), 2, "'16Gib' is not a size"),
    (("create", "b", "--memory", "4 Gi"), 2, "space"),
    (("create", "b", "--memory", "8G"), 2, "decimal"),
    (("create", "b", "--memory", "8GB"), 2, "decimal"),
    (("create", "b", "--memory", "4096"), 2, "no unit"),
    (("create", "b", "--memory", ""), 2, "empty"),
    (("create", "b", "--memory", "1GiB", "--gpu", "9"), 3, "no card '9'"),
    (("create", "b", "--memory", "1GiB", "--gpu", "GPU-00000000"), 3, "no card"),
    (("create", "b", "--memory", "1GiB", "--gpu", "0", "--gpu", "0"), 2, "twice"),
    (("create", "b", "--memory", "1GiB", "--compute", "101%"), 2, "compute"),
    (("create", "b", "--memory", "1GiB", "--weight", "0"), 2, "weight"),
    (("create", "a", "--memory", "1GiB"), 4, "exists"),
    (("create", "../x", "--memory", "1GiB"), 2, "not a name"),
    (("create", "A", "--memory", "1GiB"), 2, "not a name"),
    (("create", "b" * 300, "--memory", "1GiB"), 2, "300 bytes"),
    (("create", "b", "--memory", "100GiB"), 5, "can grant"),
    (("set", "a", "--memory", "100GiB"), 5, "can grant"),
    (("set", "a", "--memory", "0GiB"), 2, "zero"),
    (("set", "no", "--memory", "1GiB"), 3, "no such tenant"),
    (("show", "no"), 3, "no such tenant"),
    (("delete", "no"), 3, "no such tenant"),
    (("delete", "../a"), 2, "not a name"),
    (("run", "no", "--", "true"), 125, "no such tenant"),
]


@pytest.mark.parametrize(("arguments", "status", "words"), BAD)
def test_bad_input_is_refused_in_words_and_changes_nothing(
    api: Client, arguments: tuple[str, ...], status: int, words: str
) -> None:
    api.create({"name": "a", "shares": [{"memory": "2GiB", "gpu": "0"}]})
    before = (kernel_state(), api.tenants())
    result = gpushare_here(*arguments)
    assert (result.status, result.out) == (status, "")
    assert re.search(words, result.err), result.err
    assert "Traceback" not in result.err
    assert (kernel_state(), api.tenants()) == before


REQUESTS: list[tuple[JsonObject, str]] = [
    ({"name": "b", "shares": [{"memory": "1GiB"}], "colour": "red"}, "unknown key colour"),
    ({"name": "b", "shares": [{"memory": "1GiB", "memroy": "1"}]}, "unknown key shares.0.memroy"),
    ({"name": "b", "shares": [{"memory": 1073741824}]}, "unit"),
    ({"name": "b", "shares": [{"memory": 0}]}, "unit"),
    ({"name": "b", "shares": [{"memory": -1}]}, "unit"),
    ({"name": "b", "shares": [{"memory": None}]}, "null"),
    ({"name": "b", "shares": []}, "shares"),
    ({"name": "b"}, "shares is missing"),
    ({"shares": [{"memory": "1GiB"}]}, "name is missing"),
    ({"name": 7, "shares": [{"memory": "1GiB"}]}, "name"),
    ({"name": "../x", "shares": [{"memory": "1GiB"}]}, "not a name"),
    ({"name": "b" * 300, "shares": [{"memory": "1GiB"}]}, "300 bytes"),
]


@pytest.mark.parametrize(("body", "words"), REQUESTS)
def test_a_bad_request_over_http_changes_nothing(api: Client, body: JsonObject, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        api.create(body)
    assert kernel_state() == {}


def test_a_path_is_no_name_over_http_either(api: Client) -> None:
    for name in ("..", "../a", "a/b", "%2e%2e", "b" * 300):
        with pytest.raises(GpuShareError):
            api.delete(name)


def test_a_tenant_in_use_is_deleted_with_force_only(api: Client) -> None:
    done("create", "a", "--memory", "2GiB")
    with program("a") as running:
        assert running.tell("alloc 256M").startswith("ok")
        refused = gpushare("delete", "a")
        assert (refused.status, refused.out) == (4, "")
        assert re.search(r"open.*--force", refused.err), refused.err
        assert running.tell("alloc 256M").startswith("ok")
        shown = done("show", "a")
        assert re.search(rf"{running.process.pid}\s+cudaprobe", shown), shown
        assert running.quit() == 0
    settles(lambda: api.tenant("a")["open_files"], 0)
    done("delete", "a")


def test_the_group_reads_and_root_changes(api: Client) -> None:
    done("create", "a", "--memory", "1GiB")
    stranger = gpushare("list", user=NOBODY)
    assert (stranger.status, stranger.out) == (6, "")
    assert "gpushare" in stranger.err
    member = gpushare("list", user=NOBODY, groups=(GROUP,))
    assert (member.status, member.err) == (0, "")
    before = api.tenants()
    refused = gpushare("set", "a", "--memory", "2GiB", user=NOBODY, groups=(GROUP,))
    assert (refused.status, refused.out) == (6, "")
    assert api.tenants() == before
