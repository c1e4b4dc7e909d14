"""Commands on the host, and what the host must bring."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import TestbedError

# command -> Debian package
NEEDED = {"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "apt-get": "apt", "dpkg-deb": "dpkg"}


def say(text: str) -> None:
    """Progress goes to stderr: stdout belongs to the guest's command."""
    print(f"guest: {text}", file=sys.stderr, flush=True)


def require() -> None:
    """Install missing host packages by name; root is needed anyway, for chroot and mount."""
    if os.geteuid() != 0:
        raise TestbedError("the guest's tools run in a chroot: run this as root")
    missing = [package for command, package in NEEDED.items() if shutil.which(command) is None]
    if importlib.util.find_spec("ensurepip") is None:
        # the root image's Python packages come by pip
        missing.append("python3-venv")
    if not missing:
        return
    say(f"installing {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *missing]):
        subprocess.run(["apt-get", *command], env=environment, stdout=sys.stderr, check=True)


def logged(command: Sequence[str | Path], log: Path, *, cwd: Path | None = None) -> None:
    """Run a command with its output in a log; on failure show the log's end."""
    with log.open("ab") as out:
        out.write(f"+ {' '.join(map(str, command))}\n".encode())
        out.flush()
        rc = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd
        ).returncode
    if rc:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise TestbedError(f"{command[0]} failed ({rc}); end of {log}:\n{tail}")
