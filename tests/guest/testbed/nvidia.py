"""NVIDIA's genuine user space, from Debian's non-free archive; never shipped or taken apart."""

from __future__ import annotations

from pathlib import Path

from . import apt

VERSION = "535.261.03"
PACKAGES = ("nvidia-smi", "libnvidia-ml1", "libcuda1", "libnvidia-ptxjitcompiler1")
LIBRARIES = Path("usr/lib/x86_64-linux-gnu/nvidia/current")
PROGRAMS = Path("usr/lib/nvidia/current")


def install(root: Path, log: Path) -> None:
    """Into a guest's root folder, with the links that Debian's alternatives would make."""
    private = apt.PrivateApt()
    private.refresh(log)
    private.unpack([f"{package}={VERSION}*" for package in PACKAGES], root, log)
    smi = root / "usr/bin/nvidia-smi"
    smi.unlink(missing_ok=True)
    smi.symlink_to(Path("/") / PROGRAMS / "nvidia-smi")
    for library in (root / LIBRARIES).glob("*.so*"):
        link = root / "usr/lib/x86_64-linux-gnu" / library.name
        link.unlink(missing_ok=True)
        link.symlink_to(Path("/") / LIBRARIES / library.name)
