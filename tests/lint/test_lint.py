# SPDX-License-Identifier: GPL-2.0-only
"""Formatters, linters and types, for C and Python. A missing tool fails in CI only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import needed
from tests.lint.tree import tracked

GENERATED = {"kmod/uapi/gpushare.h", "kmod/gpushare/netlink_policy.h"}


def run(*argv: str | Path, cwd: Path) -> None:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def tool(name: str) -> Path:
    """A tool beside this interpreter, else on the path."""
    beside = Path(sys.executable).with_name(name)
    return beside if beside.exists() else Path(needed(name))


def test_ruff_check(root: Path) -> None:
    run(tool("ruff"), "check", "--quiet", ".", cwd=root)


def test_ruff_format(root: Path) -> None:
    run(tool("ruff"), "format", "--check", "--quiet", ".", cwd=root)


def test_mypy(root: Path) -> None:
    run(tool("mypy"), cwd=root)


def test_clang_format(root: Path) -> None:
    sources = [
        path
        for path in tracked(root)
        if path.parts[0] == "kmod"
        # nvabi is tables, aligned by hand
        and path.parts[1] != "nvabi"
        and path.suffix in {".c", ".h"}
        and str(path) not in GENERATED
    ]
    if sources:
        run(tool("clang-format"), "--dry-run", "--Werror", *sources, cwd=root)
