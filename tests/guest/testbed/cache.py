"""Folders made once from a recipe and kept under its hash."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import host, paths

Maker = Callable[[Path, Path], None]
"""Fills an empty folder; the second path is its log."""


def digest(*parts: str | bytes) -> str:
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()[:12]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Held by one process; the kernel lets go of it when that process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(name: str, key: str, make: Maker) -> Path:
    """The finished folder NAME-KEY; a half-made one is never seen under that name."""
    root = paths.cache()
    done = root / f"{name}-{key}"
    if done.is_dir():
        return done
    with locked(root / f".{name}.lock"):
        if done.is_dir():
            return done
        partial = root / f".{name}-{key}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        log = root / f"{name}.log"
        log.unlink(missing_ok=True)
        host.say(f"making {name} (log: {log})")
        start = time.monotonic()
        make(partial, log)
        partial.rename(done)
        host.say(f"made {name} in {time.monotonic() - start:.0f} s")
    return done
