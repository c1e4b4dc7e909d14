# SPDX-License-Identifier: GPL-2.0-only
"""`gpushare run` with NVIDIA's own programs, and a daemon that dies meanwhile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from gpushare.client import Client, JsonObject
from gpushare.sizes import GIB
from tests.guest.inside_cli.machine import (
    LOG,
    Result,
    command,
    done,
    gpushare,
    kernel_state,
    kill_daemon,
    program,
    settles,
    start_daemon,
)

QUERY = ("nvidia-smi", "--query-gpu=uuid,memory.total", "--format=csv,noheader,nounits")


def inside(*argv: str) -> Result:
    return gpushare("run", "a", "--", *argv)


def shell(script: str) -> Result:
    return inside("sh", "-c", script)


def shares_of(tenant: JsonObject) -> list[JsonObject]:
    shares = tenant["shares"]
    assert isinstance(shares, list)
    return [share for share in shares if isinstance(share, dict)]


def charged(api: Client) -> object:
    return shares_of(api.tenant("a"))[0]["charged_bytes"]


def test_a_program_keeps_its_status_output_and_arguments() -> None:
    done("create", "a", "--memory", "1GiB")
    assert inside("sh", "-c", "echo out; echo err >&2; exit 42") == Result(42, "out\n", "err\n")
    assert inside("printf", "%s|", "a b", "--help", "-o") == Result(0, "a b|--help|-o|", "")
    assert inside("/no/such/program").status == 127
    assert inside("/etc/passwd").status == 126


def test_signals_reach_the_program_itself() -> None:
    done("create", "a", "--memory", "1GiB")
    script = "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(
        ["gpushare", "run", "a", "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.read() == "got\n"
        assert running.wait() == 3
    assert inside("sh", "-c", "kill -9 $$").status == -signal.SIGKILL


def test_nvidia_smi_inside_sees_its_card_and_quota_only() -> None:
    done("create", "a", "--memory", "3GiB", "--gpu", "1")
    outside = command(*QUERY).out.splitlines()
    assert len(outside) == 2
    uuid = outside[1].split(",")[0]
    seen = inside(*QUERY)
    assert (seen.status, seen.out, seen.err) == (0, f"{uuid}, 3072\n", "")
    listed = inside("nvidia-smi", "-L")
    assert (listed.status, len(listed.out.splitlines())) == (0, 1)
    plain = inside("nvidia-smi")
    assert plain.status == 0
    assert re.search(r"\b0MiB / +3072MiB", plain.out), plain.out


def test_the_libraries_do_not_replace_nodes() -> None:
    done("create", "a", "--memory", "1GiB", "--gpu", "0")
    look = "stat -c '%n %t:%T %a %u:%g' /dev/nvidia*"
    real = {
        path: os.stat(path).st_rdev
        for path in Path("/dev").glob("nvidia*")
        if path.is_char_device()
    }
    before = shell(look).out
    script = "nvidia-smi >/dev/null && cudaprobe info >/dev/null && nvidia-smi >/dev/null && "
    after = shell(script + look)
    assert (after.status, after.out) == (0, before)
    assert [line.split()[0] for line in before.splitlines()] == [
        "/dev/nvidia-uvm",
        "/dev/nvidia0",
        "/dev/nvidiactl",
    ]
    assert {path: os.stat(path).st_rdev for path in real} == real
    tenants = {os.stat(path).st_rdev for path in Path("/dev/gpushare/a").iterdir()}
    assert not tenants & set(real.values())


def test_nodes_cannot_be_taken_away_or_made() -> None:
    done("create", "a", "--memory", "1GiB", "--gpu", "0")
    attempts = (
        "rm /dev/nvidia0",
        "mv /dev/nvidia0 /dev/nvidia9",
        "mknod /dev/nvidia1 c 195 1",
        "mknod /dev/nvidiactl2 c 195 255",
        "chmod 0600 /dev/nvidia0",
        "ln -sf nvidia9 /dev/char/195:0",
        "echo x >/proc/driver/nvidia/params",
    )
    result = shell("\n".join(f"({attempt}) 2>/dev/null; echo $?" for attempt in attempts))
    done_anyway = [
        attempt
        for attempt, status in zip(attempts, result.out.split(), strict=True)
        if status == "0"
    ]
    assert done_anyway == []


def test_nothing_of_run_stays_behind() -> None:
    done("create", "a", "--memory", "1GiB")
    before = Path("/proc/self/mounts").read_text()
    assert inside("true").status == 0
    assert Path("/proc/self/mounts").read_text() == before


def test_a_killed_daemon_changes_nothing(api: Client) -> None:
    done("create", "a", "--memory", "2GiB", "--gpu", "0", "--compute", "30%")
    done("create", "b", "--memory", "1GiB", "--gpu", "0")
    with program("a") as running:
        assert running.tell("alloc 512M").startswith("ok")
        before = (lasting(api), api.processes("a"), kernel_state())
        kill_daemon()
        try:
            assert gpushare("list").status == 7
            assert kernel_state() == before[2]
            assert running.tell("alloc 512M").startswith("ok")
            assert "CUDA_ERROR_OUT_OF_MEMORY" in running.tell("alloc 1024M")
            assert running.tell("free 1").startswith("ok")
        finally:
            start_daemon()
        settles(lambda: (lasting(api), api.processes("a"), kernel_state()), before)
        assert running.quit() == 0
    settles(lambda: charged(api), 0)


def lasting(api: Client) -> list[JsonObject]:
    """Tenants without the two figures that a program's own doing moves for good."""
    tenants = api.tenants()
    for tenant in tenants:
        for share in shares_of(tenant):
            del share["peak_bytes"], share["refusals"]
    return tenants


def test_refusals_are_in_the_daemons_log() -> None:
    done("create", "a", "--memory", "1GiB", "--gpu", "0")
    with program("a") as running:
        assert "CUDA_ERROR_OUT_OF_MEMORY" in running.tell("alloc 1024M")
        settles(lambda: "quota-refused" in LOG.read_text(), True)


def test_a_quota_moves_while_a_program_runs(api: Client) -> None:
    done("create", "a", "--memory", "1GiB", "--gpu", "0")
    with program("a") as running:
        assert "CUDA_ERROR_OUT_OF_MEMORY" in running.tell("alloc 1024M")
        done("set", "a", "--memory", "2GiB")
        assert running.tell("alloc 1024M").startswith("ok")
        done("set", "a", "--memory", "512MiB")
        assert "over quota" in done("list")
        assert "CUDA_ERROR_OUT_OF_MEMORY" in running.tell("alloc 2M")
        assert " free=0 " in running.tell("memgetinfo")
        assert running.tell("free 0").startswith("ok")
        assert running.quit() == 0
    settles(lambda: charged(api), 0)


def test_killed_programs_leave_no_charge(api: Client) -> None:
    done("create", "a", "--memory", "4GiB", "--gpu", "0")
    for _ in range(3):
        with program("a") as running:
            assert running.tell("alloc 2048M").startswith("ok")
            used = charged(api)
            assert isinstance(used, int)
            assert used >= 2 * GIB
        settles(lambda: charged(api), 0)
        settles(lambda: api.tenant("a")["open_files"], 0)
