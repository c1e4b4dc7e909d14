# SPDX-License-Identifier: GPL-2.0-only
"""The private /dev of `gpushare run`, with /dev/null and /dev/zero as a tenant's nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpushare.client import Client, JsonObject
from gpushare.errors import DriverUnavailable, GpuShareError
from gpushare_cli.commands.run import run
from gpushare_cli.devices import Node, enter, nodes_of
from tests.conftest import ROOT
from tests.unit.test_cli import command

PARAMS = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n"
ENTER = """
import os, sys
from pathlib import Path
from gpushare_cli.commands.run import run
from gpushare_cli.devices import Node, enter
nodes = [
    Node(Path("/dev/null"), "nvidiactl", os.stat("/dev/null").st_rdev),
    Node(Path("/dev/zero"), "nvidia0", os.stat("/dev/zero").st_rdev),
]
enter(nodes, driver_proc=Path(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def can_mount() -> bool:
    done = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        check=False,
    )
    return os.geteuid() == 0 and done.returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="needs root and mount namespaces")


@pytest.fixture
def driver_proc(tmp_path: Path) -> Path:
    folder = tmp_path / "nvidia"
    folder.mkdir()
    (folder / "params").write_text(PARAMS, encoding="utf-8")
    return folder


def inside(driver_proc: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'daemon'}:{ROOT / 'cli'}"}
    return subprocess.run(
        [sys.executable, "-c", ENTER, str(driver_proc), *argv],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def shell(driver_proc: Path, script: str) -> str:
    done = inside(driver_proc, "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_mounts
def test_only_the_tenants_nodes_are_there(driver_proc: Path) -> None:
    assert shell(driver_proc, "cd /dev; echo nvidia*") == "nvidia0 nvidiactl"
    assert shell(driver_proc, "stat -c %t:%T /dev/nvidia0 /dev/nvidiactl") == "1:5\n1:3"
    assert shell(driver_proc, "ls /dev/gpushare 2>/dev/null || echo none") == "none"


@needs_mounts
def test_nodes_can_be_used_and_not_replaced(driver_proc: Path) -> None:
    assert shell(driver_proc, "head -c 4 /dev/nvidia0 | od -An -tx1") == "00 00 00 00"
    assert shell(driver_proc, "echo written >/dev/nvidiactl && echo yes") == "yes"
    for attempt in (
        "rm /dev/nvidia0",
        "mknod /dev/nvidia1 c 195 1",
        "mknod /dev/nvidia-uvm c 510 0",
        "mv /dev/nvidia0 /dev/nvidia9",
        "chmod 0600 /dev/nvidia0",
        "touch /dev/x",
    ):
        done = inside(driver_proc, "sh", "-c", attempt)
        assert done.returncode != 0, attempt
        assert "Read-only file system" in done.stderr or "busy" in done.stderr, done.stderr


@needs_mounts
def test_libraries_are_told_not_to_modify_nodes(driver_proc: Path) -> None:
    text = shell(driver_proc, f"cat {driver_proc}/params")
    assert text == PARAMS.strip().replace("Files: 1", "Files: 0")
    assert (driver_proc / "params").read_text(encoding="utf-8") == PARAMS


@needs_mounts
def test_a_driver_without_params_gets_some(tmp_path: Path) -> None:
    folder = tmp_path / "nvidia"
    folder.mkdir()
    assert shell(folder, f"cat {folder}/params") == "ModifyDeviceFiles: 0"
    assert list(folder.iterdir()) == []


@needs_mounts
def test_the_rest_of_dev_works_as_before(driver_proc: Path) -> None:
    assert shell(driver_proc, "echo x >/dev/null; head -c 1 /dev/urandom | wc -c") == "1"
    assert shell(driver_proc, "f=/dev/shm/gsh-$$; echo y >$f && cat $f && rm $f") == "y"
    assert shell(driver_proc, "echo z | cat /dev/stdin") == "z"


@needs_mounts
def test_numbers_lead_to_the_tenants_nodes_only(driver_proc: Path) -> None:
    links = shell(driver_proc, "cd /dev/char; for l in *; do echo $l $(readlink $l); done")
    found = dict(line.split() for line in links.splitlines())
    assert {number: name for number, name in found.items() if "nvidia" in name} == {
        "1:3": "../nvidiactl",
        "1:5": "../nvidia0",
        "195:255": "../nvidiactl",
        "195:0": "../nvidia0",
    }
    assert shell(driver_proc, "ln -s x /dev/char/1:2 2>/dev/null || echo refused") == "refused"


@needs_mounts
def test_nothing_stays_behind_outside(driver_proc: Path) -> None:
    before = (sorted(os.listdir("/dev")), Path("/proc/self/mounts").read_text(encoding="utf-8"))
    shell(driver_proc, "true")
    after = (sorted(os.listdir("/dev")), Path("/proc/self/mounts").read_text(encoding="utf-8"))
    assert after == before
    assert list(Path("/tmp").glob("gpushare-run-*")) == []


@needs_mounts
def test_a_node_that_is_not_there_starts_nothing(driver_proc: Path) -> None:
    script = ENTER.replace('Path("/dev/zero")', 'Path("/dev/none")')
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'daemon'}:{ROOT / 'cli'}"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(driver_proc), "echo", "started"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert "/dev/none" in done.stderr or "nvidia0" in done.stderr
    assert list(Path("/tmp").glob("gpushare-run-*")) == []


@needs_mounts
def test_status_and_signals_are_those_of_the_program(driver_proc: Path) -> None:
    assert inside(driver_proc, "sh", "-c", "exit 42").returncode == 42
    assert inside(driver_proc, "sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL


def test_without_the_driver_there_is_no_view(tmp_path: Path) -> None:
    node = Node(Path("/dev/null"), "nvidiactl", 0)
    with pytest.raises(DriverUnavailable, match="not loaded"):
        enter([node], driver_proc=tmp_path / "none")


def test_a_name_with_a_path_in_it_is_no_node() -> None:
    bad: JsonObject = {"path": "/dev/null", "name": "../null", "major": 1, "minor": 3}
    with pytest.raises(GpuShareError, match="no device nodes"):
        nodes_of({"name": "a", "nodes": [bad]})


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["a", "--", "nvidia-smi", "-L"], ("nvidia-smi", "-L")),
        (["a", "nvidia-smi", "-L"], ("nvidia-smi", "-L")),
        (["a", "--", "sh", "--", "x"], ("sh", "--", "x")),
        (["--", "a", "env", "--help"], ("env", "--help")),
    ],
)
def test_the_program_is_what_follows_the_name(words: list[str], program: tuple[str, ...]) -> None:
    context = run.make_context("run", words)
    assert context.params == {"name": "a", "command": program}


def test_run_needs_the_tenant(client: Client, socket_path: Path) -> None:
    done = command("run", "no", "--", "true", socket=socket_path)
    assert (done.returncode, "no tenant no" in done.stderr) == (125, True)


def test_run_without_the_daemon_fails_with_its_own_status(tmp_path: Path) -> None:
    done = command("run", "a", "--", "true", socket=tmp_path / "no.sock")
    assert (done.returncode, "gpushared" in done.stderr) == (125, True)
