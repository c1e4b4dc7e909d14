"""Initial RAM disks. Uncompressed: TCG is slow at gunzip. The kernel unpacks several in a row."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Archive:
    """A newc archive in the making; parents are added as needed."""

    _parts: list[bytes] = field(default_factory=list)
    _folders: set[str] = field(default_factory=set)

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        self._parents(name)
        self._add(name, stat.S_IFREG | mode, content)

    def link(self, name: str, to: str) -> None:
        self._parents(name)
        self._add(name, stat.S_IFLNK | 0o777, to.encode())

    def folder(self, name: str) -> None:
        if name in self._folders:
            return
        self._parents(name)
        self._folders.add(name)
        self._add(name, stat.S_IFDIR | 0o755, b"")

    def copy(self, source: Path, name: str) -> None:
        """A file or a tree from the host; links stay links."""
        if source.is_symlink():
            self.link(name, str(source.readlink()))
        elif source.is_dir():
            self.folder(name)
            for child in sorted(source.iterdir()):
                self.copy(child, f"{name}/{child.name}")
        else:
            self.file(name, source.read_bytes(), stat.S_IMODE(source.stat().st_mode))

    def content(self) -> bytes:
        end = _entry(0, "TRAILER!!!", 0, b"")
        data = b"".join([*self._parts, end])
        return data + bytes(-len(data) % 512)

    def _parents(self, name: str) -> None:
        parent = name.rpartition("/")[0]
        if parent:
            self.folder(parent)

    def _add(self, name: str, mode: int, content: bytes) -> None:
        self._parts.append(_entry(len(self._parts) + 1, name, mode, content))


def _entry(inode: int, name: str, mode: int, content: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % value for value in fields) + encoded
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
