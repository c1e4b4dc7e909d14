# SPDX-License-Identifier: GPL-2.0-only
"""Runs in a guest with NVIDIA's own modules and gpushare.ko; outside there is nothing to run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

INSIDE: Final = (Path(__file__).resolve().parents[3] / ".guest").is_dir()
collect_ignore_glob = [] if INSIDE else ["test_*.py"]
# these load and unload the modules: nothing may run after them
LAST: Final = "test_modules.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name == LAST)
