"""Where things lie on the host."""

from __future__ import annotations

import os
from pathlib import Path

GUEST = Path(__file__).resolve().parent.parent
REPO = GUEST.parent.parent
BUILD = REPO / "build"
WORK = BUILD / "guest"


def cache() -> Path:
    """Things that take minutes to make: outlives a build folder when GPUSHARE_CACHE says so."""
    folder = Path(os.environ.get("GPUSHARE_CACHE") or BUILD / "cache").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
