"""NVIDIA's own open kernel modules for a guest's kernel, built from Debian's source package.

Debian's package brings the driver's core as one compiled object; what is compiled here is the part
that meets the kernel. Never shipped or taken apart.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import apt, cache, chroot, host, kernels
from .errors import TestbedError

PACKAGE = "nvidia-open-kernel-dkms"
# name -> its version, which is in one suite of testbed/apt.py each
KNOWN = {"nvidia-535": "535.261.03", "nvidia-550": "550.163.01"}
# Load order. The others want a display, or hardware of another kind.
MODULES = ("nvidia", "nvidia-uvm")
# As tests/driver/nocard wants it: a card's window, and where a 32-bit BAR still lies in memory.
CARD_MIB = 128
LOW_MIB = 3072
INSIDE = Path("/build-driver")
LEFT_OUT = "nvidia-modeset nvidia-drm nvidia-peermem"
SYMVERS = "Module.symvers"
# Debian's 6.1.192 and 6.12 took over a fourth argument that drivers before 580.126 know nothing of.
RESIZE = "pci_resize_resource(pci_dev, NV_GPU_BAR1, requested_size)"
RESIZE_4 = RESIZE.removesuffix(")") + ", 0)"
TAKES_4 = re.compile(r"\bpci_resize_resource\((?:[^,)]*,){3}")


@dataclass(frozen=True)
class Driver:
    """A built driver."""

    name: str
    folder: Path

    @property
    def version(self) -> str:
        return KNOWN[self.name]

    @property
    def symvers(self) -> Path:
        return self.folder / SYMVERS

    def ko(self, module: str) -> Path:
        return self.folder / f"{module}.ko"


def get(name: str, kernel: kernels.Kernel) -> Driver:
    """Some 6 minutes of CPU time for a driver and kernel that aren't in the cache."""

    def make(target: Path, log: Path) -> None:
        _make(KNOWN[name], kernel, target, log)

    parts = (PACKAGE, KNOWN[name], LEFT_OUT, RESIZE_4, *MODULES)
    key = cache.digest("1", *parts, kernel.folder.name, chroot.tools().name)
    return Driver(name, cache.entry(f"{name}-{kernel.name}", key, make))


def _make(version: str, kernel: kernels.Kernel, target: Path, log: Path) -> None:
    scratch = target / "source"
    scratch.mkdir()
    private = apt.PrivateApt()
    private.refresh(log)
    private.unpack([f"{PACKAGE}={version}*"], scratch, log)
    source = next((scratch / "usr/src").glob("nvidia-*"), None)
    if source is None:
        raise TestbedError(f"{PACKAGE} {version} has no source in /usr/src")
    _fit(source, kernel)
    chroot.run(_argv(kernel), log, binds={**kernel.binds, source: INSIDE}, cwd=str(INSIDE))
    for module in MODULES:
        strip: list[str | Path] = ["strip", "--strip-debug", "-o"]
        strip += [target / f"{module}.ko", source / f"{module}.ko"]
        chroot.run(strip, log, binds=chroot.same_path(target))
    shutil.copyfile(source / SYMVERS, target / SYMVERS)
    host.logged(["rm", "-rf", scratch], log)


def _fit(source: Path, kernel: kernels.Kernel) -> None:
    """To a kernel whose change the driver doesn't test for."""
    found = [path.read_text() for path in _sources(kernel).glob("*/include/linux/pci.h")]
    path = source / "nvidia/nv-pci.c"
    text = path.read_text()
    if RESIZE in text and any(map(TAKES_4.search, found)):
        path.write_text(text.replace(RESIZE, RESIZE_4))


def _sources(kernel: kernels.Kernel) -> Path:
    """Its /usr/src, here."""
    return next(here for here, inside in kernel.binds.items() if inside == Path("/usr/src"))


def _argv(kernel: kernels.Kernel) -> list[str | Path]:
    """Debian parts what is common to a release's kernels from what one was configured to."""
    common = next(_sources(kernel).glob("linux-headers-*-common*"), None)
    source = Path("/usr/src") / common.name if common else kernel.headers
    return [
        *("make", f"-j{os.cpu_count() or 1}", "modules"),
        *(f"SYSSRC={source}", f"SYSOUT={kernel.headers}", "CC=gcc", "IGNORE_CC_MISMATCH=1"),
        f"NV_EXCLUDE_KERNEL_MODULES={LEFT_OUT}",
    ]
