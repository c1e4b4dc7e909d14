# SPDX-License-Identifier: GPL-2.0-only
"""The demo is true, and fits a terminal."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parent
WIDTH = 80

pytestmark = pytest.mark.guest


def test_every_figure_of_the_demo_is_right() -> None:
    done = subprocess.run(
        [GUEST / "demo"], capture_output=True, text=True, timeout=1500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^demo: [0-9]+ checks passed\n\Z", done.stdout, re.MULTILINE), done.stdout
    assert "WRONG" not in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > WIDTH] == []
