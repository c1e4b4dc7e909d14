# SPDX-License-Identifier: GPL-2.0-only
"""What every part of the script is made of: calls with a name, and how their answers are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from tests.guest.rm.abi import Block, N, make
from tests.guest.rm.client import Client, Refused
from tests.guest.rm.node import Node, Nodes
from tests.guest.rm.steps import Steps

UNKNOWN: Final = 0x0BAD0001
UNKNOWN_CLIENT: Final = 0xC1DFFFF0
CLOSED: Final = 777  # a descriptor's number that nobody has
NO_ID: Final = 0xFFFFFFFF
MANY_CLIENTS: Final = 2000
QUERY, RELAXED, STRICT = ord("2"), ord("1"), 0
TEXTS: Final = {"version_string"}
# what the driver may choose freely: the answer tells only whether it is 0
CHOSEN: Final = {
    "p_memory",
    "h_object_new",
    "ptr",
    "ctl_fd",
    "h_root",
    "h_object_parent",
    "p_alloc_parms",
    "driver_version",
    "version",
    "title",
}


def shown(block: Block) -> object:
    """Fields by name where there is a layout, else the bytes without their zero tail."""
    if block.layout is None:
        return f"{len(block.raw)} bytes: {block.raw.rstrip(bytes(1)).hex()}"
    return fields(block)


def fields(block: Block) -> dict[str, str]:
    assert block.layout is not None
    answer: dict[str, str] = {}
    for name, field in block.layout.fields.items():
        if name.startswith("pad"):
            continue
        if name in TEXTS:
            answer[name] = block.get_field(name).split(b"\0")[0].decode(errors="replace")
        elif field.count > 1:
            answer[name] = block.get_field(name).rstrip(bytes(1)).hex()
        elif name in CHOSEN:
            answer[name] = "set" if block[name] else "0"
        else:
            answer[name] = hex(block[name])
    return answer


def only(block: Block, *names: str) -> dict[str, str]:
    return {name: hex(block[name]) for name in names}


# Which of the two the server says for a client that is not there depends on other clients
# (535.261.03 src/nvidia/src/libraries/resserv/src/rs_server.c, the search of a sorted list).
NO_SUCH_CLIENT: Final = {"status 0x31": "no such client", "status 0x33": "no such client"}


class Part(Steps):
    """Some of the questions. Each method of parts() starts with files and clients of its own, so
    that one that goes wrong on one side does not change the answers of the next."""

    def __init__(self, nodes: Nodes, minor: int) -> None:
        super().__init__()
        self.nodes = nodes
        self.minor = minor

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        raise NotImplementedError

    def run(self) -> Mapping[str, object]:
        for part in self.parts():
            with ExitStack() as stack:
                part(stack)
        return {
            name: NO_SUCH_CLIENT.get(answer, answer) if isinstance(answer, str) else answer
            for name, answer in self.answers.items()
        }

    # ---- helpers ----

    def ctl(self, stack: ExitStack) -> Node:
        return stack.enter_context(Node(self.nodes.ctl))

    def client(self, stack: ExitStack, ctl: Node | None = None) -> Client:
        return stack.enter_context(Client(self.nodes, ctl=ctl))

    @staticmethod
    def plain_file(stack: ExitStack) -> int:
        """The number of an ordinary file."""
        fd = os.open(__file__, os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, fd)
        return fd

    def call(
        self, name: str, node: Node, nr: int, block: Block, *, size: int | None = None
    ) -> None:
        def made() -> object:
            node.ioctl(nr, block, size=size)
            return shown(block)

        self.step(name, made)

    def control(
        self,
        name: str,
        client: Client,
        command: int,
        params: Block | None = None,
        *,
        target: int | None = None,
        size: int | None = None,
    ) -> None:
        """The status, and what was written back whatever the status is."""

        def made() -> object:
            try:
                client.control(
                    client.handle if target is None else target, command, params, size=size
                )
            except Refused as refused:
                return f"status {refused.status:#x}"
            return shown(params) if params is not None else "status 0x0"

        self.step(name, made)

    def gpu_id(self) -> int:
        with Client(self.nodes) as client:
            return client.card_info()[0]["gpu_id"]

    def _alloc(self, node: Node, form: str = "nvos21", **values: int) -> tuple[dict[str, str], int]:
        block = make(form, **values)
        node.ioctl(N.NV_ESC_RM_ALLOC, block)
        return fields(block), block["h_object_new"]

    @staticmethod
    def _wrong_size(ctl: Node, nr: int, size: int) -> str:
        ctl.ioctl(nr, Block(4096), size=size)
        return "accepted"


def in_child(ask: Callable[[], int]) -> int:
    """What a forked process finds, as far as 8 bits carry it."""
    pid = os.fork()
    if pid == 0:
        status = 255
        try:
            status = ask() & 0xFF
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
