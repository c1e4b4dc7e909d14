# SPDX-License-Identifier: GPL-2.0-only
"""A process that is a GPU program: it opens a tenant's nodes and does as it is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection

from tests.guest.rm.card import Card, ProcessMemory
from tests.guest.rm.client import Client, Refused
from tests.guest.rm.node import Nodes
from tests.guest.rm.process import Child, in_new_pid_namespace, in_pid_namespace

Before = Callable[[], None]


def _serve(nodes: Nodes, minor: int, before: Before | None) -> Callable[[Connection], None]:
    def body(pipe: Connection) -> None:
        if before is not None:
            before()
        client = Client(nodes)
        card = Card(client, minor)
        pipe.send(os.getpid())
        while (request := pipe.recv()) is not None:
            try:
                pipe.send(_answer(client, card, request))
            except Refused as refused:
                pipe.send(refused.status)

    return body


def _answer(client: Client, card: Card, request: tuple[str, tuple[int, ...]]) -> object:
    what, numbers = request
    match what:
        case "alloc":
            return [card.memory(numbers[0])]
        case "free":
            card.free(numbers[0])
            return []
        case "figures":
            return list(card.total_free())
        case "pids":
            return card.pids()
        case "pid_info":
            return card.pid_info(*numbers)
        case "handle":
            return [client.handle]
    raise ValueError(what)


class Actor(Child):
    """One process with one client. Its own pid is .own_pid, as it sees it itself.

    With namespace it is process 1 of a new pid namespace; with beside it joins the one of that
    process, there with a number of choice.
    """

    def __init__(
        self,
        nodes: Nodes,
        minor: int = 0,
        *,
        before: Before | None = None,
        namespace: bool = False,
        beside: int = 0,
        number: int = 0,
        keep: Iterable[int] = (),
    ) -> None:
        body = _serve(nodes, minor, before)
        fds = list(keep)
        if namespace:
            body = in_new_pid_namespace(body)
        elif beside:
            fds.append(os.open(f"/proc/{beside}/ns/pid", os.O_RDONLY | os.O_CLOEXEC))
            body = in_pid_namespace(fds[-1], body, number=number)
        try:
            super().__init__(body, keep=fds)
        finally:
            if beside:
                os.close(fds[-1])
        self.own_pid = self.number()

    def _ask(self, what: str, *numbers: int) -> object:
        answer = self.ask((what, numbers))
        if isinstance(answer, int):
            raise Refused(what, answer)
        return answer

    def _numbers(self, what: str, *numbers: int) -> list[int]:
        answer = self._ask(what, *numbers)
        assert isinstance(answer, list)
        return answer

    def alloc(self, size: int) -> int:
        """The handle."""
        return self._numbers("alloc", size)[0]

    def free(self, handle: int) -> None:
        self._ask("free", handle)

    def total_free(self) -> tuple[int, int]:
        total, free = self._numbers("figures")
        return total, free

    def pids(self) -> list[int]:
        return self._numbers("pids")

    def pid_info(self, *pids: int) -> list[ProcessMemory]:
        answer = self._ask("pid_info", *pids)
        assert isinstance(answer, list)
        return answer

    def handle(self) -> int:
        """Of the client."""
        return self._numbers("handle")[0]
