# SPDX-License-Identifier: GPL-2.0-only
"""Both modules on the kernels that Debian has: built without a word, and used in a guest.

Each run builds them for the two that the others grow from, 6.1 and 6.12. GPUSHARE_LONG=1 builds for
all with sparse, and boots them: the whole suite on each but 6.1, which test_suite.py has.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.guest.testbed import kernels

GUEST = Path(__file__).resolve().parent
LONG = os.environ.get("GPUSHARE_LONG") == "1"
QUICK = ("6.1", "6.12")
SUITE = "tests/guest/suite"
RACE = f"{SUITE}/test_race.py"
SMOKE = f"pytest -q --tb=short {SUITE}/test_nodes.py {SUITE}/test_memory.py {SUITE}/test_reload.py"
# what a guest with so many processors runs, and the least that passes there
PARTS = {1: (f"{SUITE} --ignore={RACE}", 150), 2: (RACE, 1)}
SECONDS = 3600
ENDBR64 = b"\xf3\x0f\x1e\xfa"

pytestmark = pytest.mark.guest
long = pytest.mark.skipif(not LONG, reason="GPUSHARE_LONG=1 runs it")
every_kernel = pytest.mark.parametrize(
    "kernel",
    [pytest.param(name, marks=() if name in QUICK else long) for name in kernels.DEBIAN],
)


def guest(kernel: str, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    argv = ["--kernel", kernel, "--bare", "--cards", "2", "--timeout", str(SECONDS), *options]
    return subprocess.run(
        [GUEST / "run", *argv, "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )


def told(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout[-5000:] + done.stderr[-5000:]


@every_kernel
def test_modules_build_without_a_word(kernel: str) -> None:
    """Warnings are errors; sparse, which makes everything anew, is asked in a long run."""
    options = ["--sparse"] if LONG else []
    done = subprocess.run(
        [GUEST / "build-modules", "--kernel", kernel, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    words = [line for line in done.stderr.splitlines() if not line.startswith("guest: ")]
    assert (done.returncode, words) == (0, []), told(done)
    assert len(done.stdout.splitlines()) == 2


@long
@pytest.mark.parametrize("cpus", PARTS)
@pytest.mark.parametrize("kernel", [name for name in kernels.DEBIAN if name != "6.1"])
def test_suite_passes(kernel: str, cpus: int) -> None:
    files, least = PARTS[cpus]
    script = f"GPUSHARE_LONG=0 pytest -q --tb=short {files}"
    done = guest(kernel, script, "--cpus", str(cpus))
    assert done.returncode == 0, told(done)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, told(done)
    assert int(passed[1]) >= least, told(done)


# ---- hardened kernels (KS-05) ----


@long
@pytest.mark.case("KS-05")
@pytest.mark.parametrize("kernel", [name for name in kernels.DEBIAN if name.endswith("-rt")])
def test_realtime_kernel_is_one(kernel: str) -> None:
    done = guest(kernel, "grep -q PREEMPT_RT /proc/version && cat /sys/kernel/realtime")
    assert (done.returncode, done.stdout.strip()) == (0, "1"), told(done)


@long
@pytest.mark.case("KS-05")
def test_page_table_isolation() -> None:
    script = f"dmesg | grep -q 'page tables isolation: enabled' && {SMOKE}"
    done = guest("6.1", script, "--cpus", "1", "--append", "mitigations=auto pti=on")
    assert done.returncode == 0, told(done)


@long
@pytest.mark.case("KS-05")
@pytest.mark.parametrize("level", ["integrity", "confidentiality"])
def test_locked_down_kernel_refuses_what_nobody_signed(level: str) -> None:
    """Secure boot does that. The modules have to be signed there, as DKMS does."""
    script = (
        "rmmod gpushare nvsim; mount -t securityfs securityfs /sys/kernel/security;"
        f" echo {level} >/sys/kernel/security/lockdown;"
        " insmod .guest/nvsim.ko; echo status $?; dmesg | grep -c 'unsigned module loading'"
    )
    done = guest("6.12", script, "--cpus", "1")
    assert "Operation not permitted" in done.stderr, told(done)
    assert "status 1\n1\n" in done.stdout, told(done)


@pytest.mark.case("KS-05")
@every_kernel
def test_module_code_is_read_only(kernel: str) -> None:
    assert "CONFIG_STRICT_MODULE_RWX=y" in kernels.get(kernel).config


@pytest.mark.case("KS-05")
def test_indirect_branches_have_landing_places() -> None:
    """6.12 of Debian tracks indirect branches. The compiler and objtool, which has no word about
    the modules, see to it; QEMU's processor does not track, so nothing more is shown here."""
    assert "CONFIG_X86_KERNEL_IBT=y" in kernels.get("6.12").config
    built = subprocess.run(
        [GUEST / "build-modules", "--kernel", "6.12"], capture_output=True, text=True, check=True
    )
    for path in built.stdout.splitlines():
        assert Path(path).read_bytes().count(ENDBR64) > 20, path
