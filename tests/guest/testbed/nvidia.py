"""NVIDIA's genuine user space, from Debian's non-free archive; never shipped or taken apart.

Several versions lie side by side in the guest's root, each in /opt/nvidia/VERSION; links in the
usual places lead to one. Process 1 leads them to the version of the driver it has loaded.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from . import apt

# The first is what the links of an image lead to: what is there when no driver is loaded.
VERSIONS = ("535.261.03", "550.163.01")
PACKAGES = ("nvidia-smi", "libnvidia-ml1", "libcuda1", "libnvidia-ptxjitcompiler1")
# Where Debian has them, where they lie here, and where the links are.
PLACES = (
    ("usr/lib/x86_64-linux-gnu/nvidia/current", "lib", "usr/lib/x86_64-linux-gnu"),
    ("usr/lib/nvidia/current", "bin", "usr/bin"),
)


def install(root: Path, log: Path) -> None:
    """All versions into a guest's root folder."""
    private = apt.PrivateApt()
    private.refresh(log)
    for version in VERSIONS:
        home = root / "opt/nvidia" / version
        home.mkdir(parents=True)
        private.unpack([f"{package}={version}*" for package in PACKAGES], home, log)
        for debian, short, _ in PLACES:
            (home / debian).rename(home / short)
        for rest in ("usr", "etc"):
            shutil.rmtree(home / rest, ignore_errors=True)
        for manual in (home / "bin").glob("*.gz"):
            manual.unlink()
    _lead_to(VERSIONS[0], root)


def _lead_to(version: str, root: Path) -> None:
    """Links to one version; inside/init does the same with ln."""
    for _, short, place in PLACES:
        for path in (root / "opt/nvidia" / version / short).iterdir():
            link = root / place / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(Path("/opt/nvidia", version, short, path.name))
