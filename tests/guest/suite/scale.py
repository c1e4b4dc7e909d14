# SPDX-License-Identifier: GPL-2.0-only
"""How many rounds: few in CI, the case's own count in a long run."""

from __future__ import annotations

import os


def scaled(ci: int, full: int) -> int:
    """The full count with GPUSHARE_LONG=1."""
    return full if os.environ.get("GPUSHARE_LONG") == "1" else ci
