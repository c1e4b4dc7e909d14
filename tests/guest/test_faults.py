# SPDX-License-Identifier: GPL-2.0-only
"""Each thing that can fail on a call's way fails once: the right answer, nothing left, it goes on.

What the driver refuses, on the usual kernel. Allocations and user copies, with GPUSHARE_LONG=1 on
the kernel that checks itself: it has failslab, and tells lost memory afterwards.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.guest import checked

GUEST = Path(__file__).resolve().parent
STEPS = tuple(
    re.findall(r'^\t\{ "([a-z-]+)", \w+, ', (GUEST / "client/faults.c").read_text(), re.M)
)
SITES = ("open", "alloc", "free", "control", "vidheap", "map", "dup", "uvm")
# Where the driver is asked at all: the others meet no refusal, and say so by points=0.
REFUSED = {
    *(("open-gpu", "open"), ("client", "alloc"), ("card-memory", "alloc"), ("free", "free")),
    *(("heap-memory", "vidheap"), ("duplicate", "dup"), ("export", "control"), ("map", "map")),
    *(("sizes", "control"), ("channel", "alloc"), ("external-map", "uvm"), ("event", "alloc")),
    *(("semaphore-pool", "uvm"), ("map-on-card", "map"), ("uvm-register-gpu", "uvm")),
}
# Functions nearest to what failed, as the first run met them; what the compiler makes one of
# several stands under the name of the outermost.
FAILED = {
    *("gsh_job_new", "gsh_job_seg", "gsh_job_copy_in", "gsh_job_copy_out", "gsh_file_cred"),
    *("gsh_open", "gsh_real_open", "gsh_client_create", "gsh_frontend_ioctl", "gsh_uvm_ioctl"),
    *("gsh_tenant_create", "gsh_node_create", "gsh_sysfs_tenant_add"),
}

pytestmark = pytest.mark.guest


@cache
def lines(mode: str) -> dict[tuple[str, str], str]:
    """(call, whose) -> what became of it; "" -> the whole output."""
    if mode == "kernel":
        command = ["faults", checked.CARD, "kernel"]
        ran = checked.run_debug("--bare", "--cpus", "1", command=command, seconds=5400)
    else:
        command = ["faults", checked.CARD, "driver"]
        ran = checked.run("--bare", "--cpus", "1", command=command, seconds=400)
    shown = re.findall(r"^([a-z-]+) ([a-z]+) (points=.*)$", ran.out, re.M)
    found = {(call, whose): rest for call, whose, rest in shown}
    found["status", ""] = str(ran.status)
    found["all", ""] = ran.told
    return found


def expect_ok(mode: str, call: str, whose: str) -> None:
    line = lines(mode).get((call, whose))
    assert line is not None, lines(mode)["all", ""]
    assert line.endswith(" ok"), line
    met = int(line.split()[0].partition("=")[2])
    if mode == "driver" and (call, whose) in REFUSED:
        assert met, "the driver was not asked"


@pytest.mark.parametrize("call", STEPS)
def test_a_refusal_of_the_driver_is_passed_on(call: str) -> None:
    for site in SITES:
        expect_ok("driver", call, site)


def test_refusals_end_well() -> None:
    assert lines("driver")["status", ""] == "0", lines("driver")["all", ""]


@checked.only_long
@pytest.mark.parametrize("call", STEPS)
def test_a_failed_allocation_is_told_and_leaves_nothing(call: str) -> None:
    whose = [key[1] for key in lines("kernel") if key[0] == call]
    assert "caller" in whose, lines("kernel")["all", ""]
    for one in whose:
        expect_ok("kernel", call, one)


@checked.only_long
def test_failures_reached_the_module() -> None:
    assert lines("kernel")["status", ""] == "0", lines("kernel")["all", ""]
    sites = set(re.findall(r"^site (\S+) \S+ \d+$", lines("kernel")["all", ""], re.M))
    assert not FAILED - sites, f"nothing failed in {', '.join(sorted(FAILED - sites))}"


@checked.only_long
def test_loading_and_unloading_survive_failed_allocations() -> None:
    script = "rmmod gpushare && faultload /opt/gpushare/.guest/gpushare.ko " + checked.CARD
    command = ["sh", "-c", script]
    ran = checked.run_debug("--bare", "--cpus", "1", command=command, seconds=3600)
    assert ran.status == 0, ran.told
    for what in ("load", "unload"):
        shown = re.search(rf"^{what} points=(\d+) inside=(\d+) ok$", ran.out, re.M)
        assert shown, ran.told
        assert int(shown[2]) > 10, "the module's own allocations were not met"
    assert "faultload: ok" in ran.out
