# SPDX-License-Identifier: GPL-2.0-only
"""The command, the daemon, a program in a tenant, and what the kernel says of them."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from gpushare.client import SOCKET_PATH
from gpushare_cli.main import main

NODES: Final = Path("/dev/gpushare")
SYSFS: Final = Path("/sys/kernel/gpushare")
LOG: Final = Path("/run/gpushared.log")
DEADLINE_S: Final = 60.0


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


def command(*argv: str, user: int | None = None, groups: tuple[int, ...] = ()) -> Result:
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        user=user,
        group=user,
        extra_groups=groups,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def gpushare(*arguments: str, user: int | None = None, groups: tuple[int, ...] = ()) -> Result:
    return command("gpushare", *arguments, user=user, groups=groups)


def gpushare_here(*arguments: str) -> Result:
    """The same in this process, which saves the second that Python takes to start."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        sys.argv = ["gpushare", *arguments]
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    assert isinstance(status, int)
    return Result(status, out.getvalue(), err.getvalue())


def done(*arguments: str) -> str:
    """gpushare with these arguments, which must succeed and be silent on standard error."""
    result = gpushare(*arguments)
    assert (result.status, result.err) == (0, "")
    return result.out


def settles(look: Callable[[], object], expected: object) -> None:
    """For what takes a moment, such as the end of a killed program."""
    until = time.monotonic() + DEADLINE_S
    while (seen := look()) != expected:
        assert time.monotonic() < until, f"expected {expected!r}, seen {seen!r}"
        time.sleep(0.05)


def kernel_state() -> dict[str, str]:
    """What the module itself shows of tenants: names, quotas, nodes."""
    found = {
        str(path.relative_to(SYSFS)): path.read_text().strip()
        for path in sorted(SYSFS.glob("*/*/quota_bytes"))
    }
    if NODES.is_dir():
        found.update({str(path): "node" for path in sorted(NODES.rglob("nvidia*"))})
    return found


class Program:
    """cudaprobe inside a tenant, told step by step."""

    def __init__(self, tenant: str) -> None:
        self.process = subprocess.Popen(
            ["gpushare", "run", tenant, "--", "cudaprobe", "step"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        while not (line := self._line()).startswith("ready"):
            assert line, f"the program ended with {self.process.wait(DEADLINE_S)}"

    def tell(self, words: str) -> str:
        stdin = _open(self.process.stdin)
        stdin.write(f"{words}\n")
        stdin.flush()
        return self._line().strip()

    def quit(self) -> int:
        _open(self.process.stdin).close()
        _open(self.process.stdout).read()
        return self.process.wait(DEADLINE_S)

    def end(self) -> None:
        """kill -9, if it still runs."""
        with self.process:
            self.process.kill()

    def _line(self) -> str:
        return _open(self.process.stdout).readline()


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@contextmanager
def program(tenant: str) -> Iterator[Program]:
    running = Program(tenant)
    try:
        yield running
    finally:
        running.end()


def daemon_pid() -> int:
    """The process that listens on the daemon's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.connect(SOCKET_PATH)
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], "little")


def kill_daemon() -> None:
    pid = daemon_pid()
    os.kill(pid, signal.SIGKILL)
    settles(lambda: _listening(), False)


def start_daemon() -> None:
    with LOG.open("ab") as log:
        subprocess.run(["setsid", "--fork", "gpushared"], stdout=log, stderr=log, check=True)
    settles(lambda: _listening(), True)


def _listening() -> bool:
    try:
        daemon_pid()
    except OSError:
        return False
    return True
