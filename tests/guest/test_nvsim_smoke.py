# SPDX-License-Identifier: GPL-2.0-only
"""nvsim's own promises, asked with raw calls: see client/nvsim-smoke.c."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

RUN: Final = Path(__file__).resolve().parent / "run"
# the module is unloaded at the end: nothing may be left that holds it
SCRIPT: Final = "nvsim-smoke && rmmod nvsim && echo unloaded"

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("version", ["535.261.03", "550.163.01", "570.211.01"])
def test_simulated_driver_keeps_its_promises(version: str) -> None:
    option = f"nvsim.version={version}"
    done = subprocess.run(
        [RUN, "--modules", "nvsim", "--option", option, "--", "sh", "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout
    assert "unloaded" in done.stdout
