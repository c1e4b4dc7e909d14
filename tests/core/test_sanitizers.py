# SPDX-License-Identifier: GPL-2.0-only
"""What reads and writes buffers, once more with AddressSanitizer loaded before the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import needed
from tests.core.native import ADDRESS

WATCHED = [f"tests/core/test_{name}.py" for name in ("books", "decode", "views", "sanitizers")]


def runtime() -> Path:
    found = subprocess.run(
        [needed("gcc"), "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    path = Path(found.stdout.strip())
    if not path.is_absolute():
        pytest.skip("this compiler has no libasan")
    return path


@pytest.mark.skipif(ADDRESS, reason="this is that run")
def test_nothing_is_touched_beyond_its_bounds(root: Path) -> None:
    environment = {
        **os.environ,
        "GPUSHARE_CORE_ADDRESS": "1",
        "LD_PRELOAD": str(runtime()),
        # the interpreter frees nothing at exit; each block has an end that ASan sees
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "PYTHONMALLOC": "malloc",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *WATCHED],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]


@pytest.mark.skipif(not ADDRESS, reason="only where AddressSanitizer watches")
def test_the_watch_is_awake() -> None:
    """A read one byte beyond a buffer must kill a process like this one."""
    code = (
        "from tests.core.native import Buffer\nimport ctypes\n"
        "b = Buffer(b'x' * 24)\nctypes.string_at(b.address, 25)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode != 0
    assert b"heap-buffer-overflow" in done.stderr
