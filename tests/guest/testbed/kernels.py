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
        boot = self.folder / "boot" / f"vmlinuz-{self.release}"
        return boot if boot.exists() else self.modules / "vmlinuz"

    @property
    def config(self) -> list[str]:
        """Lines of the configuration that it was compiled with."""
        boot = self.folder / "boot" / f"config-{self.release}"
        return (boot if boot.exists() else self.modules / "config").read_text().splitlines()

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


@dataclass(frozen=True)
class Wanted:
    """A kernel of Debian's: the newest whose release matches."""

    release: str
    suites: tuple[str, ...] = apt.USUAL
    flavour: str = "cloud-amd64"


def _version(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)))


def _packages(wanted: Wanted, names: set[str]) -> tuple[str, list[str]]:
    """The release found, and the packages of its image and headers."""
    shape = re.compile(rf"linux-headers-({wanted.release})-{wanted.flavour}$")
    found = [hit[1] for hit in map(shape.match, names) if hit]
    if not found:
        raise TestbedError(f"no kernel {wanted.release} in the package archive")
    release = max(found, key=_version)
    full = f"{release}-{wanted.flavour}"
    base = ".".join(release.split(".")[:2])
    variants = {
        "image": [
            [f"linux-{part}-{full}" for part in ("binary", "modules", "base")],  # 7.x: apart
            [f"linux-image-{full}"],
            [f"linux-image-{full}-unsigned"],  # before it has been signed
        ],
        "common": [[f"linux-headers-{release}-common-rt"], [f"linux-headers-{release}-common"]],
        "kbuild": [[f"linux-kbuild-{release}"], [f"linux-kbuild-{base}"]],
    }
    if not wanted.flavour.startswith("rt"):
        del variants["common"][0]
    packages = [f"linux-headers-{full}"]
    for what, choices in variants.items():
        choice = next((one for one in choices if names.issuperset(one)), None)
        if choice is None:
            raise TestbedError(f"no {what} of kernel {full} in the package archive")
        packages += choice
    return full, packages


def _debian(name: str, wanted: Wanted) -> Path:
    def make(target: Path, log: Path) -> None:
        private = apt.PrivateApt(wanted.suites)
        private.refresh(log)
        release, packages = _packages(wanted, set(private.names("linux-")))
        private.unpack(packages, target, log)
        if (target / "lib").is_dir() and not (target / "usr/lib").exists():
            (target / "usr/lib").mkdir()
        for folder in (target / "lib").glob("linux-kbuild-*"):
            folder.rename(target / "usr/lib" / folder.name)
        (target / "release").write_text(f"{release}\n")

    key = cache.digest("debian-1", wanted.release, *wanted.suites, wanted.flavour)
    return cache.entry(f"kernel-{name}", key, make)


DEBIAN = {
    "5.10": Wanted(r"5\.10\.0-\d+", ("bullseye", "bullseye-security")),
    "6.1": Wanted(r"6\.1\.0-\d+"),
    "6.12": Wanted(r"6\.12\.\d+\+deb13"),
    # the newest that is built with the chroot's own compiler
    "newest": Wanted(r"\d+\.\d+\.\d+\+deb13", ("trixie-backports",)),
    "6.1-rt": Wanted(r"6\.1\.0-\d+", flavour="rt-amd64"),
    "6.12-rt": Wanted(r"6\.12\.\d+\+deb13", flavour="rt-amd64"),
}
KNOWN: dict[str, Callable[[], Path]] = {
    **{name: partial(_debian, name, wanted) for name, wanted in DEBIAN.items()},
    "debug": debug_kernel.folder,
}


def get(name: str) -> Kernel:
    if name not in KNOWN:
        raise TestbedError(f"unknown kernel {name}: one of {', '.join(KNOWN)}")
    return Kernel(name, KNOWN[name]())
