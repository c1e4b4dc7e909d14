# SPDX-License-Identifier: GPL-2.0-only
"""Mount calls, which Python lacks. A failure is an OSError that names the call."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

MS_RDONLY: Final = 0x1
MS_NOSUID: Final = 0x2
MS_REMOUNT: Final = 0x20
MS_BIND: Final = 0x1000
MS_MOVE: Final = 0x2000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
_MNT_DETACH: Final = 0x2
_CLONE_NEWNS: Final = 0x20000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.unshare.argtypes = (ctypes.c_int,)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)
_libc.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)


def unshare_mounts() -> None:
    """Give this process a mount namespace of its own; later mounts stay inside it."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        raise _failure("unshare")
    mount(Path("/"), flags=MS_REC | MS_PRIVATE)


def mount(
    target: Path,
    *,
    source: Path | None = None,
    kind: str | None = None,
    flags: int = 0,
    data: str | None = None,
) -> None:
    """mount(2)."""
    result = _libc.mount(
        os.fsencode(source) if source is not None else kind and kind.encode(),
        os.fsencode(target),
        kind and kind.encode(),
        flags,
        data and data.encode(),
    )
    if result != 0:
        raise _failure("mount", target)


def bind(source: Path, target: Path, *, recursive: bool = False, read_only: bool = False) -> None:
    """Show source at target. Read-only keeps a node's mode and owner, and leaves it usable."""
    mount(target, source=source, flags=MS_BIND | (MS_REC if recursive else 0))
    if read_only:
        mount(target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID)


def detach(target: Path) -> None:
    """Take a mount away, if there is one."""
    _libc.umount2(os.fsencode(target), _MNT_DETACH)


def _failure(call: str, path: Path | None = None) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}", None if path is None else str(path))
