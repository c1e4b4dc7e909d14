# SPDX-License-Identifier: GPL-2.0-only
"""The version, which lives in pyproject.toml and nowhere else."""

from __future__ import annotations

from pathlib import Path


def version() -> str:
    """Version of the installed package, or of the tree that this file is in."""
    # imported here: it costs more than all else that the command loads
    from importlib import metadata

    try:
        return metadata.version("gpushare")
    except metadata.PackageNotFoundError:
        return _from_tree()


def _from_tree() -> str:
    import tomllib

    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    try:
        found = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return "unknown"
    return str(found)
