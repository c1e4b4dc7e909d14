# SPDX-License-Identifier: GPL-2.0-only
"""The files that the checks look at."""

from __future__ import annotations

import subprocess
from pathlib import Path


def tracked(root: Path) -> list[Path]:
    """Files in git or about to be, relative to the repository."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (Path(name) for name in done.stdout.split("\0") if name)
    return [path for path in paths if (root / path).is_file()]
