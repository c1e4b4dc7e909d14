"""The one chroot that compiles modules and runs QEMU, so that the host's release doesn't matter."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import apt, cache, host

COMPILE = (
    "gcc",
    "make",
    "libc6-dev",
    "kmod",
    "libelf1t64",
    "libssl3t64",
    "zlib1g",
    "pahole",
    "sparse",
)
GUESTS = ("qemu-system-x86", "seabios", "busybox-static", "e2fsprogs", "python3")
TOOLS = (*COMPILE, *GUESTS)
SLIM = [f"--dpkgopt=path-exclude=/usr/share/{what}/*" for what in ("doc", "man", "locale", "info")]
TMPFS_SIZE = "6G"


def bootstrap(suites: Sequence[str], packages: Sequence[str], target: Path, log: Path) -> None:
    """mmdebstrap, on a tmpfs of its own mount namespace: on a disk dpkg's fsync costs minutes."""
    options = [f"--aptopt={line}" for line in apt.transport_settings()]
    make = [
        *("mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(packages)}"),
        *('--aptopt=Apt::Install-Recommends "false"', *options, "--dpkgopt=force-unsafe-io"),
        *("--skip=cleanup/apt/lists,cleanup/apt/cache", *SLIM),
        *(apt.TOOLS_SUITE, "root.tar", *apt.sources(suites)),
    ]
    here = shlex.quote(str(target))
    # The tar is written on the tmpfs and unpacked outside of it, through a pipe.
    steps = [
        "set -e",
        f"mount -t tmpfs -o size={TMPFS_SIZE},mode=1777 tmpfs {here}",
        f"cd {here}",
        f"TMPDIR={here} {shlex.join(make)} >&2",
        "cat root.tar",
    ]
    inner = shlex.quote("\n".join(steps))
    script = f"unshare -m sh -c {inner} | tar -C {here} --numeric-owner -xpf -"
    host.logged(["bash", "-o", "pipefail", "-c", script], log)


def tools() -> Path:
    def make(target: Path, log: Path) -> None:
        bootstrap(["trixie", "trixie-security"], TOOLS, target, log)

    return cache.entry("tools", cache.digest(apt.TOOLS_SUITE, *TOOLS), make)


def command(argv: Sequence[str | Path], *, binds: Mapping[Path, Path], cwd: str = "/") -> list[str]:
    """A command line that runs argv in the tools chroot with host folders bound to guest paths.

    The mounts live in a namespace of their own and go with the command, however it ends.
    """
    root = tools()
    lines = ["set -e"]
    for source, inside in {
        **binds,
        Path("/dev"): Path("/dev"),
        Path("/proc"): Path("/proc"),
    }.items():
        target = root / inside.relative_to("/")
        lines.append(f"mkdir -p {shlex.quote(str(target))}")
        lines.append(f"mount --rbind {shlex.quote(str(source))} {shlex.quote(str(target))}")
    inner = f"cd {shlex.quote(cwd)} && exec {shlex.join(map(str, argv))}"
    lines.append(f"exec chroot {shlex.quote(str(root))} /bin/sh -c {shlex.quote(inner)}")
    return ["unshare", "--mount", "--propagation=private", "sh", "-c", "\n".join(lines)]


def run(
    argv: Sequence[str | Path], log: Path, *, binds: Mapping[Path, Path], cwd: str = "/"
) -> None:
    host.logged(command(argv, binds=binds, cwd=cwd), log)


def same_path(*folders: Path) -> dict[Path, Path]:
    return {folder: folder for folder in folders}


def output(
    argv: Sequence[str | Path],
    *,
    binds: Mapping[Path, Path],
    cwd: str = "/",
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run, and return the status and all output, whatever they are."""
    return subprocess.run(
        command(argv, binds=binds, cwd=cwd),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout_s,
    )
