"""C programs of tests/guest/client, built in the chroot for the guest.

Static, unless a file says `build: dynamic` near its top (one that loads NVIDIA's libraries must);
the chroot and the guest's root are of the same suite.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import cache, chroot, host, paths

SOURCE = paths.GUEST / "client"
FLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-pthread"]


def build() -> dict[str, Path]:
    """Name -> program. One that doesn't compile is reported and left out, so others still run."""
    found: dict[str, Path] = {}
    sources = sorted(SOURCE.glob("*.c"))
    headers = [
        *SOURCE.glob("*.h"),
        *(p for d in ("nvabi", "uapi") for p in (paths.REPO / "kmod" / d).rglob("*.h")),
    ]
    common = [path.read_bytes() for path in sorted(headers)] if sources else []
    store = paths.WORK / "clients"
    for source in sources:
        content = source.read_bytes()
        program = (
            store / f"{source.stem}-{cache.digest(chroot.tools().name, *FLAGS, content, *common)}"
        )
        if not program.exists() and not _compile(source, content, program):
            continue
        found[source.stem] = program
    return found


def _compile(source: Path, content: bytes, program: Path) -> bool:
    store = program.parent
    store.mkdir(parents=True, exist_ok=True)
    with cache.locked(store / ".lock"):
        fresh = store / f".{program.name}.{os.getpid()}"
        linking = ["-ldl"] if b"build: dynamic" in content[:2000] else ["-static"]
        inside = Path("/build-client")
        include = [f"-I{inside / 'kmod'}", f"-I{inside / 'client'}"]
        argv = [
            "gcc",
            *FLAGS,
            *include,
            f"client/{source.name}",
            "-o",
            f"out/{fresh.name}",
            *linking,
        ]
        binds = {
            SOURCE: inside / "client",
            paths.REPO / "kmod": inside / "kmod",
            store: inside / "out",
        }
        done = chroot.output(argv, binds=binds, cwd=str(inside))
        if done.stdout:
            host.say(f"{source.relative_to(paths.REPO)}:\n{done.stdout.rstrip()}")
        if done.returncode:
            return False
        for old in store.glob(f"{source.stem}-*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
        fresh.rename(program)
    return True
