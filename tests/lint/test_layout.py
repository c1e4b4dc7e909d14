# SPDX-License-Identifier: GPL-2.0-only
"""Directions that never reverse, one home each, and names agreed on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lint.tree import tracked

TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "cli",
    "daemon",
    "kmod",
    "packaging",
    "pyproject.toml",
    "tests",
    "udev",
}
# folder: what its Python may import of ours
IMPORTS = {
    "daemon/gpushare": {"gpushare"},
    "daemon/gpushared": {"gpushare", "gpushared"},
    "cli/gpushare_cli": {"gpushare", "gpushare_cli"},
}
OURS = {"gpushare", "gpushared", "gpushare_cli", "tests"}
HOMES = {
    "pyroute2": "daemon/gpushared/kernel.py",
    "pynvml": "daemon/gpushared/nvml.py",
    "sqlite3": "daemon/gpushared/store.py",
    "systemd": "daemon/gpushared/notify.py",
}
# what decides takes plain values: no clock, no files, no sockets
PURE = {
    "daemon/gpushare/compute.py",
    "daemon/gpushare/drivers.py",
    "daemon/gpushare/names.py",
    "daemon/gpushare/sizes.py",
    "daemon/gpushared/placement.py",
    "daemon/gpushared/reconcile.py",
    "daemon/gpushared/views.py",
}
IMPURE_MODULES = {"asyncio", "os", "socket", "subprocess", "time", "logging", "datetime", "random"}
# folder under kmod/: folders whose headers it may include
INCLUDES = {
    "core": {"core", "nvabi"},
    "nvabi": {"nvabi"},
    "nvsim": {"nvsim", "nvabi"},
    "gpushare": {"gpushare", "core", "nvabi", "uapi"},
    "uapi": {"uapi"},
}
KERNEL_HEADER = re.compile(r"^(linux|asm|net|drm|kunit|uapi|generated)/")
COMPAT = "kmod/compat.h"
KERNEL_VERSION = re.compile(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION)\b")
# the one file of core/ that knows whether it is in a kernel, for types and memcpy
CORE_DOOR = "kmod/core/types.h"
CORE_SYSTEM_HEADERS = re.compile(r"^(std\w+|string|limits|errno|assert|inttypes)\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
# names of hosts that packages come from: the machine's own configuration says that
REGISTRY_HOST = re.compile(
    r"(pypi|pythonhosted|npmjs|crates|docker|ghcr|nvcr|quay)\.(org|io|com)\b"
    r"|\b(deb|archive|security|ftp|snapshot)\.(debian|ubuntu)\.(org|com)\b"
    r"|developer\.download\.nvidia\.com"
)


def imported(path: Path) -> Iterator[str]:
    """Top names of the modules that a Python file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}: relative import"
            yield node.module.split(".")[0]


def python_files(root: Path, folder: str) -> list[Path]:
    return [
        path
        for path in tracked(root)
        if path.suffix == ".py" and str(path).startswith(f"{folder}/")
    ]


def test_the_root_lists_agreed_names_only(root: Path) -> None:
    assert {path.parts[0] for path in tracked(root)} <= TOP_LEVEL


@pytest.mark.parametrize("folder", IMPORTS)
def test_python_layers_never_reverse(root: Path, folder: str) -> None:
    for path in python_files(root, folder):
        wrong = set(imported(root / path)) & OURS - IMPORTS[folder]
        assert not wrong, f"{path} imports {wrong}"


@pytest.mark.parametrize("library", HOMES)
def test_each_library_has_one_home(root: Path, library: str) -> None:
    users = {
        str(path)
        for folder in IMPORTS
        for path in python_files(root, folder)
        if library in imported(root / path)
    }
    assert users <= {HOMES[library]}


def test_kernel_versions_are_known_to_compat_alone(root: Path) -> None:
    """The module that the tests of NVIDIA's driver need is no part of the product."""
    knowing = {
        str(path)
        for path in tracked(root)
        if path.suffix in {".c", ".h"} and KERNEL_VERSION.search((root / path).read_text())
    }
    assert {name for name in knowing if name.startswith("kmod/")} == {COMPAT}
    assert {name for name in knowing if not name.startswith("tests/driver/")} == {COMPAT}


def test_pure_python_is_pure(root: Path) -> None:
    for name in PURE:
        wrong = set(imported(root / name)) & IMPURE_MODULES
        assert not wrong, f"{name} imports {wrong}"


def test_the_daemon_never_prints(root: Path) -> None:
    for path in python_files(root, "daemon"):
        assert not re.search(r"\bprint\(", (root / path).read_text(encoding="utf-8")), path


def test_kmod_folders_include_what_they_may(root: Path) -> None:
    wrong = []
    for path in tracked(root):
        if path.parts[0] != "kmod" or path.suffix not in {".c", ".h"} or len(path.parts) < 3:
            continue
        allowed = INCLUDES.get(path.parts[1])
        if allowed is None:
            continue
        for quote, name in INCLUDE.findall((root / path).read_text(encoding="utf-8")):
            if path.parts[1] == "core" and str(path) != CORE_DOOR and not pure(quote, name):
                wrong.append(f"{path} includes {name}")
            home = home_of(path, name, root)
            if home is not None and home not in allowed:
                wrong.append(f"{path} includes {name} of {home}")
    assert not wrong, "\n".join(wrong)


def pure(quote: str, name: str) -> bool:
    """Whether an include may stand in a file that knows no kernel."""
    if KERNEL_HEADER.match(name):
        return False
    return quote == '"' or CORE_SYSTEM_HEADERS.match(name) is not None


def home_of(path: Path, name: str, root: Path) -> str | None:
    """Which folder under kmod/ a quoted or bracketed name is in, if in one."""
    candidates = [root / path.parent / name, root / "kmod" / name]
    for candidate in candidates:
        try:
            relative = candidate.resolve().relative_to(root / "kmod")
        except ValueError:
            continue
        if candidate.exists() and len(relative.parts) > 1:
            return relative.parts[0]
    return None


def test_no_registry_is_named(root: Path) -> None:
    for path in tracked(root):
        if path.parts[:2] == ("tests", "lint"):
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        assert REGISTRY_HOST.findall(text) == [], path


def test_every_source_says_its_licence(root: Path) -> None:
    for path in tracked(root):
        if path.parts[0] in {"kmod", "daemon", "cli"} and path.suffix in {".py", ".c", ".h"}:
            head = (root / path).read_text(encoding="utf-8")[:400]
            assert "SPDX-License-Identifier" in head, path


def test_every_folder_has_a_readme(root: Path) -> None:
    deep = {"kmod", "tests", "packaging"}
    folders = {Path(*path.parts[: 2 if path.parts[0] in deep else 1]) for path in tracked(root)}
    wanted = [folder for folder in folders if (root / folder).is_dir() and folder != Path(".ci")]
    missing = sorted(str(folder) for folder in wanted if not (root / folder / "README.md").exists())
    assert not missing, f"no README.md in {', '.join(missing)}"
