"""Debian's cloud kernels, headers and image, unpacked side by side; and one compiled for checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import apt, cache, debug_kernel
from .errors import TestbedError

DEFAULT = "6.1"


@dataclass(frozen=True)
class Kernel:
    name: str
    folder: Path

    @property
    def release(self) -> str:
        return (self.folder / "release").read_text().strip()

    @property
    def image(self) -> Path:
        return self.folder / "boot" / f"vmlinuz-{self.release}"

    @property
    def headers(self) -> Path:
        """As seen in the tools chroot when `binds` are mounted there."""
        return Path("/usr/src") / f"linux-headers-{self.release}"

    @property
    def modules(self) -> Path:
        for lib in ("usr/lib", "lib"):
            folder = self.folder / lib / "modules" / self.release
            if folder.is_dir():
                return folder
        raise TestbedError(f"no modules for {self.release} in {self.folder}")

    @property
    def binds(self) -> dict[Path, Path]:
        """Debian's headers name /usr/src and reach kbuild by relative links: bind both there."""
        found = {self.folder / "usr/src": Path("/usr/src")}
        for kbuild in (self.folder / "usr/lib").glob("linux-kbuild-*"):
            found[kbuild] = Path("/usr/lib") / kbuild.name
        return found


def _cloud(name: str, pattern: str, kbuild: str) -> Path:
    """By what an image package's release looks like, and its kbuild package."""

    def make(target: Path, log: Path) -> None:
        private = apt.PrivateApt()
        private.refresh(log)
        shape = re.compile(rf"linux-image-(?P<release>{pattern})-cloud-amd64-unsigned$")
        found = [hit for hit in map(shape.match, private.names("linux-image-")) if hit]
        if not found:
            raise TestbedError(f"no cloud kernel {name} in the package archive")
        release = max(found, key=lambda hit: int(hit[2]))["release"]
        headers = f"linux-headers-{release}"
        packages = [
            f"linux-image-{release}-cloud-amd64-unsigned",
            f"{headers}-cloud-amd64",
            f"{headers}-common",
        ]
        private.unpack([*packages, kbuild.format(release=release)], target, log)
        if (target / "lib").is_dir() and not (target / "usr/lib").exists():
            (target / "usr/lib").mkdir()
        for folder in (target / "lib").glob("linux-kbuild-*"):
            folder.rename(target / "usr/lib" / folder.name)
        (target / "release").write_text(f"{release}-cloud-amd64\n")

    return cache.entry(f"kernel-{name}", cache.digest("cloud-1", pattern, kbuild), make)


KNOWN: dict[str, Callable[[], Path]] = {
    "6.1": partial(_cloud, "6.1", r"6\.1\.0-(\d+)", "linux-kbuild-6.1"),
    "6.12": partial(_cloud, "6.12", r"6\.12\.(\d+)\+deb13", "linux-kbuild-{release}"),
    "debug": debug_kernel.folder,
}


def get(name: str) -> Kernel:
    if name not in KNOWN:
        raise TestbedError(f"unknown kernel {name}: one of {', '.join(KNOWN)}")
    return Kernel(name, KNOWN[name]())
