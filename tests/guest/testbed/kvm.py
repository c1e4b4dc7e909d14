"""Whether KVM really runs a guest here: that /dev/kvm opens says little."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from . import cache, chroot, host, kernels, paths

LIMIT_S = 8


def works(kernel: kernels.Kernel, initrd: Path) -> bool:
    """Boots once per boot of this machine, with a time limit; the answer is kept."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    answer = paths.WORK / f"kvm-{boot}"
    with cache.locked(paths.WORK / ".kvm.lock"):
        if not answer.exists():
            answer.write_text("works" if _probe(kernel, initrd) else "no")
            host.say(f"KVM: {answer.read_text()}")
        return answer.read_text() == "works"


def _probe(kernel: kernels.Kernel, initrd: Path) -> bool:
    argv = ["timeout", "--kill-after=1", str(LIMIT_S), "qemu-system-x86_64", "-accel", "kvm"]
    argv += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-cpu", "max"]
    argv += ["-m", "512", "-serial", "stdio", "-kernel", str(kernel.image), "-initrd", str(initrd)]
    argv += ["-append", "console=ttyS0 panic=-1 quiet rdinit=/init gpushare.probe"]
    binds = chroot.same_path(kernel.image.parent, initrd.parent)
    try:
        done = chroot.output(argv, binds=binds, timeout_s=LIMIT_S + 5)
    except subprocess.TimeoutExpired:
        return False
    return "PROBE-WORKS" in done.stdout
