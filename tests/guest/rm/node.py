# SPDX-License-Identifier: GPL-2.0-only
"""Device nodes: where they are, and one open file of one."""

from __future__ import annotations

import ctypes
import mmap
import os
import select
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.guest.rm.abi import Block, N, make

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
_libc.ioctl.restype = ctypes.c_int
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_longlong,
]
_libc.mmap.restype = ctypes.c_void_p
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.munmap.restype = ctypes.c_int

_MAP_FAILED: Final = ctypes.c_void_p(-1).value
_MAP_FIXED: Final = 0x10
_MAP_NORESERVE: Final = 0x4000
_READ_WRITE: Final = 3
BLOCK: Final = 2 << 20


@dataclass(frozen=True)
class Nodes:
    """The three kinds of node by path: the driver's own, or a tenant's."""

    folder: Path

    @classmethod
    def real(cls) -> Nodes:
        return cls(Path("/dev"))

    @classmethod
    def of_tenant(cls, name: str) -> Nodes:
        return cls(Path("/dev/gpushare") / name)

    @property
    def ctl(self) -> Path:
        return self.folder / "nvidiactl"

    @property
    def uvm(self) -> Path:
        return self.folder / "nvidia-uvm"

    def gpu(self, minor: int) -> Path:
        return self.folder / f"nvidia{minor}"


class Mapping:
    """A mapping made with mmap(2) itself: at a fixed address, of a device."""

    def __init__(self, address: int, length: int) -> None:
        self.address = address
        self.length = length

    def write(self, offset: int, data: bytes) -> None:
        self._check(offset, len(data))
        ctypes.memmove(self.address + offset, data, len(data))

    def read(self, offset: int, length: int) -> bytes:
        self._check(offset, length)
        return ctypes.string_at(self.address + offset, length)

    def _check(self, offset: int, length: int) -> None:
        if offset < 0 or offset + length > self.length:
            raise ValueError("outside of the mapping")

    def unmap(self, offset: int = 0, length: int | None = None) -> None:
        """All of it, or a part."""
        bytes_ = self.length - offset if length is None else length
        if _libc.munmap(self.address + offset, bytes_):
            raise OSError(ctypes.get_errno(), "munmap")


def map_fd(
    fd: int,
    length: int,
    *,
    offset: int = 0,
    address: int = 0,
    private: bool = False,
    protection: int = _READ_WRITE,
) -> Mapping:
    flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
    if address:
        flags |= _MAP_FIXED
    got = _libc.mmap(address or None, length, protection, flags, fd, offset)
    if got is None or got == _MAP_FAILED:
        error = ctypes.get_errno()
        raise OSError(error, f"mmap: {os.strerror(error)}")
    return Mapping(got, length)


def reserve(length: int) -> int:
    """An address range of the process, on a 2 MiB block as libcuda takes it, where nothing else
    will be put."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    got = _libc.mmap(None, length + BLOCK, 0, flags, -1, 0)
    if got is None or got == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    return -(-int(got) // BLOCK) * BLOCK


def escape(nr: int, size: int) -> int:
    """The command of an ioctl of the control and GPU nodes: _IOWR('F', nr, size)."""
    return 3 << 30 | size << 16 | ord("F") << 8 | nr


_open: set[Node] = set()


def close_all() -> None:
    """Closes what a failed test has left open."""
    for node in list(_open):
        node.close()


class Node:
    """One open file of a node. ioctl() raises OSError with the driver's errno."""

    def __init__(self, path: Path, flags: int = 0) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags)
        _open.add(self)

    @classmethod
    def from_fd(cls, fd: int, path: Path) -> Node:
        """A descriptor that came from somewhere else; the node owns it from here on."""
        node = cls.__new__(cls)
        node.path = path
        node.fd = fd
        _open.add(node)
        return node

    def command(self, command: int, address: int) -> None:
        """An ioctl by its whole command number."""
        if _libc.ioctl(self.fd, command, address) < 0:
            error = ctypes.get_errno()
            raise OSError(error, f"ioctl {command:#x}: {os.strerror(error)}", str(self.path))

    def ioctl(self, nr: int, block: Block, *, xfer: bool = False, size: int | None = None) -> None:
        """An ioctl by number; with xfer inside the transfer escape."""
        bytes_ = block.size if size is None else size
        if not xfer:
            self.command(escape(nr, bytes_), block.address)
            return
        outer = make("nv_xfer", cmd=nr, size=bytes_, ptr=block.address)
        self.command(escape(N.NV_ESC_IOCTL_XFER_CMD, outer.size), outer.address)

    def poll(self, timeout_ms: int = 0) -> int:
        """The events that poll(2) reports now or within the time."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN | select.POLLPRI)
        found = poller.poll(timeout_ms)
        return found[0][1] if found else 0

    def mmap(
        self, length: int, *, offset: int = 0, address: int = 0, private: bool = False
    ) -> Mapping:
        return map_fd(self.fd, length, offset=offset, address=address, private=private)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        _open.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
