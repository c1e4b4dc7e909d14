# SPDX-License-Identifier: GPL-2.0-only
"""The driver's kernel interface, called from a kernel thread: rmops/check.py in a guest each."""

from __future__ import annotations

import pytest

from tests.driver.parity.guests import BRANCHES, DRIVERS, run

CHECK = ["python3", "-m", "tests.driver.rmops.check"]


@pytest.mark.driver
@pytest.mark.parametrize("driver", BRANCHES)
def test_kernel_interface_acts_on_anybodys_clients(driver: str) -> None:
    printed = run(["--driver", driver, "--modules", "rmops"], CHECK)
    assert printed == f"kernel interface of {DRIVERS[driver]}: ok\n"


@pytest.mark.guest
@pytest.mark.parametrize("version", list(DRIVERS.values()))
def test_simulated_kernel_interface_does_the_same(version: str) -> None:
    printed = run(["--modules", "rmops", "--option", f"nvsim.version={version}"], CHECK)
    assert printed == f"kernel interface of {version}: ok\n"
