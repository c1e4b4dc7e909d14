# SPDX-License-Identifier: GPL-2.0-only
"""gpushare.ko on NVIDIA's own kernel modules: tests of inside/, run in one guest a driver.

535 always; the others with GPUSHARE_LONG=1.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.guest.testbed import driver as drivers
from tests.guest.testbed import kernels

RUN: Final = Path(__file__).resolve().parents[1] / "guest" / "run"
SYMVERS: Final = Path(__file__).resolve().parents[2] / "kmod" / "nvidia-symvers"
LONG: Final = os.environ.get("GPUSHARE_LONG") == "1"
DRIVERS: Final = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name != "nvidia-535" and not LONG, reason="a second branch: GPUSHARE_LONG=1"
        ),
    )
    for name in drivers.KNOWN
]

pytestmark = [pytest.mark.driver, pytest.mark.parametrize("driver", DRIVERS)]


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RUN, *argv], capture_output=True, text=True, check=False)


def test_modules_and_tenants_inside(driver: str) -> None:
    inside = [f"tests/driver/inside/{name}" for name in ("test_tenant.py", "test_modules.py")]
    options = ("--driver", driver, "--bare", "--cpus", "1", "--timeout", "400")
    done = run(*options, "--", "pytest", "-q", "--tb=short", *inside)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout


def test_info_and_tenants_through_the_daemon(driver: str) -> None:
    script = """
        set -e
        gpushare info -o json
        gpushare create c1 --memory 1GiB >/dev/null
        ls /dev/gpushare/c1
        gpushare show c1 -o json
        gpushare delete c1 >/dev/null
    """
    done = run("--driver", driver, "--timeout", "200", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    decoder = json.JSONDecoder()
    info, end = decoder.raw_decode(done.stdout)
    assert (info["driver_version"], info["driver_flavour"]) == (drivers.KNOWN[driver], "open")
    assert info["driver_supported"] is True
    nodes, shown = done.stdout[end:].split("{", 1)
    assert nodes.split() == ["nvidia-uvm", "nvidia0", "nvidiactl"]
    tenant = json.loads("{" + shown)
    assert tenant["name"] == "c1"


def test_user_links_with_what_the_installed_module_says(driver: str) -> None:
    """NVIDIA's build knows the symbol's checksum; on a user's machine only the module is left."""
    built = drivers.get(driver, kernels.get(kernels.DEFAULT))
    read = subprocess.run([SYMVERS, built.ko("nvidia")], capture_output=True, text=True, check=True)
    checksum, symbol, _, kind = read.stdout.split()
    own = (line.split() for line in built.symvers.read_text().splitlines())
    assert [checksum, kind] == next([one[0], one[3]] for one in own if one[1] == symbol)
