# SPDX-License-Identifier: GPL-2.0-only
"""Daemon and command on the real module, with NVIDIA's programs: inside_cli/, in one guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parent
PYTEST = (
    "python3",
    "-m",
    "pytest",
    "-q",
    "-o",
    "python_files=check_*.py",
    "-p",
    "no:cacheprovider",
)

INSIDE = "tests/guest/inside_cli"

pytestmark = pytest.mark.guest


def test_daemon_and_command_keep_their_promises_on_the_real_module() -> None:
    done = subprocess.run(
        [GUEST / "run", "--cards", "2", "--timeout", "1500", "--", *PYTEST, INSIDE],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
