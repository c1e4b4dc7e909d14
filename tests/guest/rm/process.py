# SPDX-License-Identifier: GPL-2.0-only
"""Other processes of a test: forked, spoken to over a pipe, killed at any point."""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

Body = Callable[[Connection], None]

ANSWER_S: Final = 60.0
CLONE_NEWPID: Final = 0x20000000
PR_SET_PDEATHSIG: Final = 1
_libc = ctypes.CDLL(None, use_errno=True)


_living: list[Child] = []


def kill_all() -> int:
    """Ends the processes that a test has left: how many."""
    left = list(_living)
    for child in left:
        child.kill()
    return len(left)


class ChildFailed(AssertionError):
    pass


class Child:
    """body(pipe) in a forked process. It starts without this process's files unless they are kept.

    An exception in body is sent and raised here at the next recv() or at the end.
    """

    def __init__(self, body: Body, *, keep: Iterable[int] = ()) -> None:
        here, there = Pipe()
        self.pipe = here
        self.status: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run(body, there, {*keep, there.fileno()})
        there.close()
        _living.append(self)

    def recv(self, limit_s: float = ANSWER_S) -> object:
        if not self.pipe.poll(limit_s):
            raise ChildFailed(f"no answer within {limit_s} s")
        try:
            answer = self.pipe.recv()
        except EOFError:
            raise ChildFailed("the child is gone") from None
        if isinstance(answer, ChildFailed):
            raise answer
        return answer

    def number(self) -> int:
        answer = self.recv()
        assert isinstance(answer, int), answer
        return answer

    def send(self, what: object = None) -> None:
        self.pipe.send(what)

    def ask(self, what: object) -> object:
        self.send(what)
        return self.recv()

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
        self.wait()

    def wait(self) -> int:
        """The exit status; negative for a signal."""
        if self.status is None:
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
            self.pipe.close()
            _living.remove(self)
        return self.status

    def finish(self) -> None:
        """Tells the child to end, and expects that it does so without an error."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)
        failure = None
        with contextlib.suppress(EOFError, OSError):
            while True:
                answer = self.pipe.recv()
                if isinstance(answer, ChildFailed):
                    failure = answer
        status = self.wait()
        if failure is not None:
            raise failure
        if status:
            raise ChildFailed(f"the child ended with {status}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status is None:
            if kind is None:
                self.finish()
            else:
                self.kill()


def _run(body: Body, pipe: Connection, keep: set[int]) -> NoReturn:
    status = 1
    try:
        _close_others({0, 1, 2, *keep})
        body(pipe)
        status = 0
    except EOFError:
        status = 0  # the parent hung up
    except BaseException:
        with contextlib.suppress(OSError):
            pipe.send(ChildFailed(traceback.format_exc()))
    finally:
        os._exit(status)


def _close_others(keep: set[int]) -> None:
    start = 3
    for fd in sorted(fd for fd in keep if fd > 2):
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, 4096)


def in_new_pid_namespace(body: Body) -> Body:
    """The body as process 1 of a pid namespace of its own."""

    def outer(pipe: Connection) -> None:
        if _libc.unshare(CLONE_NEWPID):
            raise OSError(ctypes.get_errno(), "unshare")
        _fork_and_wait(body, pipe)

    return outer


def in_pid_namespace(fd: int, body: Body, *, number: int = 0) -> Body:
    """The body as a new process of the pid namespace behind an open descriptor, with that number
    there if one is given."""

    def inside(pipe: Connection) -> None:
        # the file speaks of the writer's own namespace
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
        _fork_and_wait(body, pipe)

    def outer(pipe: Connection) -> None:
        if _libc.setns(fd, CLONE_NEWPID):
            raise OSError(ctypes.get_errno(), "setns")
        _fork_and_wait(inside if number else body, pipe)

    return outer


def _fork_and_wait(body: Body, pipe: Connection) -> NoReturn:
    pid = os.fork()
    if pid == 0:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _run(body, pipe, {pipe.fileno()})
    pipe.close()
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def send_fds(over: socket.socket, *fds: int) -> None:
    over.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])


def recv_fds(over: socket.socket, count: int) -> list[int]:
    _, ancillary, _, _ = over.recvmsg(1, socket.CMSG_LEN(count * 4))
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return list(fds)
