# SPDX-License-Identifier: GPL-2.0-only
"""The command, run as a program against the real daemon on a fake kernel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpushare.client import Client
from gpushare.version import version
from tests.conftest import ROOT
from tests.fakes.kernel import GIB, MIB, FakeKernel, card

A = card(0).uuid
# what no invocation may load: each costs more than all the rest
HEAVY = {"pydantic", "aiohttp", "asyncio", "pyroute2", "pynvml", "prometheus_client", "sqlite3"}


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


Run = Callable[..., Result]


def command(
    *arguments: str, socket: Path | str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'daemon'}:{ROOT / 'cli'}",
        "GPUSHARE_SOCKET": str(socket),
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        [sys.executable, *options, "-m", "gpushare_cli.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def gpushare(client: Client, socket_path: Path) -> Run:
    """Run the command; the client fixture keeps the daemon up."""

    def run(*arguments: str) -> Result:
        done = command(*arguments, socket=socket_path)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


def cells(result: Result, row: int = 1) -> list[str]:
    """Cells of a table's row; more than one space parts them."""
    return re.split(r"\s{2,}", result.out.splitlines()[row].strip())


def test_a_tenant_from_create_to_delete(gpushare: Run, kernel: FakeKernel) -> None:
    made = gpushare("create", "a", "--memory", "2GiB", "--compute", "30%")
    assert (made.status, made.err) == (0, "")
    assert cells(made)[:3] == ["a", "0", "2GiB"]
    assert cells(made)[6] == "fixed 30%*"
    assert made.out.endswith("* stored, not enforced yet\n")

    kernel.charge("a", A, 512 * MIB)
    listed = gpushare("list")
    assert cells(listed)[:6] == ["a", "0", "2GiB", "512MiB", "1.5GiB", "512MiB"]

    changed = gpushare("set", "a", "--memory", "3GiB")
    assert cells(changed)[:3] == ["a", "0", "3GiB"]

    assert gpushare("delete", "a") == Result(0, "", "")
    assert gpushare("list").out.splitlines()[1:] == []


def test_json_is_what_the_daemon_says(gpushare: Run, client: Client) -> None:
    made = json.loads(gpushare("create", "a", "--memory", "2GiB", "-o", "json").out)
    assert made == client.tenant("a")
    assert json.loads(gpushare("list", "-o", "json").out) == [made]
    assert json.loads(gpushare("show", "a", "-o", "json").out) == {**made, "processes": []}
    changed = json.loads(gpushare("set", "a", "--weight", "7", "-o", "json").out)
    assert changed == client.tenant("a")
    assert json.loads(gpushare("gpu", "list", "-o", "json").out) == client.cards()
    assert json.loads(gpushare("info", "-o", "json").out) == client.info()


def test_a_usual_list_fits_a_terminal(gpushare: Run, kernel: FakeKernel) -> None:
    gpushare("create", "batch", "--memory", "2.5GiB")
    kernel.charge("batch", A, 2047 * MIB + 1)
    assert max(len(line.rstrip()) for line in gpushare("list").out.splitlines()) <= 80


def test_show_has_nodes_and_processes(gpushare: Run, kernel: FakeKernel) -> None:
    gpushare("create", "a", "--memory", "2GiB")
    kernel.open_file("a", pid=4242, comm="[bold]trainer")
    shown = gpushare("show", "a").out
    assert "/dev/gpushare/a/nvidiactl" in shown
    assert "4242" in shown
    assert "[bold]trainer" in shown


def test_gpu_list_tells_what_can_be_granted(gpushare: Run) -> None:
    gpushare("create", "a", "--memory", "2GiB")
    listed = gpushare("gpu", "list")
    assert cells(listed)[:7] == ["0", A, "nvsim A10", "16GiB", "15.5GiB", "2GiB", "13.5GiB"]


@pytest.mark.case("DC-01")
def test_info_names_an_unknown_driver_the_nearest_ones_and_what_to_do(
    gpushare: Run, kernel: FakeKernel
) -> None:
    kernel.driver_supported = False
    told = gpushare("info").out
    assert "535.261.03 (nvsim) NOT SUPPORTED: tenants are refused." in told
    assert "Install 535.261.03, or a gpushare that knows this one" in told
    refusal = gpushare("create", "web", "--memory", "1GiB")
    assert refusal.status == 9
    assert "driver 535.99 is not supported, 535.261.03 is" in refusal.err
    assert "gpushare info" in refusal.err


def test_info_and_version(gpushare: Run) -> None:
    assert "535.261.03 (nvsim)" in gpushare("info").out
    assert gpushare("version").out.splitlines() == [
        f"gpushare {version()}",
        f"gpushared {version()}",
        "module 0.1.0",
    ]


def test_several_cards_get_a_share_each(client_of_two: Client, socket_path: Path) -> None:
    done = command(
        "create", "a", "--memory", "1GiB", "--gpu", "0", "--gpu", "1", socket=socket_path
    )
    assert done.returncode == 0, done.stderr
    (tenant,) = client_of_two.tenants()
    shares = tenant["shares"]
    assert isinstance(shares, list)
    assert len(shares) == 2
    unclear = command("set", "a", "--memory", "2GiB", socket=socket_path)
    assert (unclear.returncode, "--gpu" in unclear.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("create", "b", "--memory", "0"), 2, "zero|no unit"),
        (("create", "b", "--memory", "0GiB"), 2, "zero"),
        (("create", "b", "--memory", "-1GiB"), 2, "negative"),
        (("create", "b", "--memory", "99999999999GiB"), 2, "larger"),
        (("create", "b", "--memory", "16Gib"), 2, "'16Gib' is not a size"),
        (("create", "b", "--memory", "4 Gi"), 2, "space"),
        (("create", "b", "--memory", "8G"), 2, "decimal"),
        (("create", "b", "--memory", "4096"), 2, "no unit"),
        (("create", "b", "--memory", ""), 2, "empty"),
        (("create", "b"), 2, "--memory"),
        (("create", "b", "--memory", "1GiB", "--gpu", "9"), 3, "no card '9'"),
        (("create", "b", "--memory", "1GiB", "--compute", "0%"), 2, "compute"),
        (("create", "b", "--memory", "1GiB", "--compute", "30"), 2, "30%"),
        (("create", "b", "--memory", "1GiB", "--policy", "fair"), 2, "best-effort"),
        (("create", "b", "--memory", "1GiB", "--weight", "0"), 2, "weight"),
        (("create", "b", "--memory", "1GiB", "--colour", "red"), 2, "--colour"),
        (("create", "b", "--memory", "1GiB", "--owner", "root"), 2, "UID:GID"),
        (("create", "a", "--memory", "1GiB"), 4, "exists"),
        (("create", "../x", "--memory", "1GiB"), 2, "not a name"),
        (("create", "b" * 300, "--memory", "1GiB"), 2, "300 bytes"),
        (("create", "b", "--memory", "100GiB"), 5, "can grant 13.5GiB of 15.5GiB"),
        (("set", "a", "--memory", "100GiB"), 5, "can grant 13.5GiB of 15.5GiB"),
        (("set", "a", "--memory", "0GiB"), 2, "zero"),
        (("set", "a"), 2, "nothing to change"),
        (("set", "no", "--memory", "1GiB"), 3, "no tenant no"),
        (("show", "no"), 3, "no tenant no"),
        (("show", ".."), 2, "not a name"),
        (("delete", "no"), 3, "no tenant no"),
        (("delete", "../a"), 2, "not a name"),
    ],
)
def test_bad_input_is_refused_in_words_and_changes_nothing(
    gpushare: Run,
    kernel: FakeKernel,
    client: Client,
    arguments: tuple[str, ...],
    status: int,
    words: str,
) -> None:
    before = client.create({"name": "a", "shares": [{"memory": "2GiB"}]})
    result = gpushare(*arguments)
    assert (result.status, result.out) == (status, "")
    assert re.search(words, result.err)
    assert "Traceback" not in result.err
    assert (client.tenants(), kernel.changes) == ([before], 1)


@pytest.mark.case("CF-01")
@pytest.mark.parametrize("text", ["4Gi", "4GiB", "4096Mi", "4096MiB", "4194304Ki"])
def test_the_command_reads_sizes_as_the_library_does(
    gpushare: Run, client: Client, text: str
) -> None:
    made = json.loads(gpushare("create", "a", "--memory", text, "-o", "json").out)
    assert made["shares"][0]["quota_bytes"] == 4 * GIB


def test_a_tenant_in_use_needs_force(gpushare: Run, kernel: FakeKernel) -> None:
    gpushare("create", "a", "--memory", "1GiB")
    kernel.open_file("a", pid=1)
    refused = gpushare("delete", "a")
    assert (refused.status, "--force" in refused.err) == (4, True)
    assert gpushare("delete", "a", "--force").status == 0


def test_an_error_is_one_line(gpushare: Run) -> None:
    result = gpushare("create", "b", "--memory", "100GiB")
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("gpushare: ")


def test_no_daemon_is_said_so(tmp_path: Path) -> None:
    done = command("list", socket=tmp_path / "no.sock")
    assert (done.returncode, done.stdout) == (7, "")
    assert "systemctl start gpushared" in done.stderr
    assert command("version", socket=tmp_path / "no.sock").returncode == 0


def test_no_module_is_said_so(gpushare: Run, kernel: FakeKernel) -> None:
    kernel.loaded = False
    result = gpushare("list")
    assert (result.status, "modprobe gpushare" in result.err) == (8, True)


def loaded_modules(*arguments: str, socket: Path) -> set[str]:
    done = command(*arguments, socket=socket, options=("-X", "importtime"))
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^import time:.*\|\s+([\w.]+)$", done.stderr, re.MULTILINE)
    return {line.split(".")[0] for line in lines}


def test_list_loads_nothing_heavy(client: Client, socket_path: Path) -> None:
    modules = loaded_modules("list", socket=socket_path)
    assert not modules & HEAVY
    assert "rich" in modules


def test_json_and_help_load_no_table_library(client: Client, socket_path: Path) -> None:
    for arguments in (("list", "-o", "json"), ("--help",), ("create", "--help")):
        assert not loaded_modules(*arguments, socket=socket_path) & (HEAVY | {"rich", "ctypes"})


@pytest.mark.parametrize(
    "words", [(), ("gpu",), ("create",), ("run",), ("run", "a"), ("run", "a", "--")]
)
def test_too_few_words_show_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = command(*words, socket=tmp_path / "no.sock")
    assert done.returncode == 2
    assert "Usage: gpushare" in done.stdout + done.stderr
