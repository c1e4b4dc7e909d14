# SPDX-License-Identifier: GPL-2.0-only
"""In a guest with rmops.ko: the driver's kernel interface, on clients of a tenant's.

It has kernel privilege and asks nobody: whoever calls it must know whose a handle is.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from tests.guest.rm.abi import MIB, N, running, running_version
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.genl import Genl
from tests.guest.rm.process import Child
from tests.guest.rm.tenant import KernelCard, Tenant, cards, tenant

ASK: Final = Path("/sys/kernel/debug/rmops/ask")
UNKNOWN: Final = 0x0BAD0001
OBJECT: Final = 0x5001


def ask(what: str, *numbers: int) -> list[int]:
    """Status and what else is answered."""
    fd = os.open(ASK, os.O_RDWR)
    try:
        os.write(fd, " ".join([what, *(f"{number:x}" for number in numbers)]).encode())
        return [int(word, 16) for word in os.pread(fd, 200, 0).split()]
    finally:
        os.close(fd)


def version_is_told_to_who_has_another() -> None:
    fd = os.open(ASK, os.O_RDWR)
    for string, status in (("111.11", N.NV_ERR_GENERIC), (running_version(), N.NV_OK)):
        os.write(fd, f"version {string}".encode())
        got, told, op_bytes, is_nvos64 = os.pread(fd, 200, 0).decode().split()
        assert (int(got, 16), told) == (status, running_version())
        assert int(op_bytes) == running()["rm_op_bytes"]
        assert int(is_nvos64) == running().get("alloc_is_nvos64", 0)
    os.close(fd)


def clients_of_anybody_are_answered(client: Client) -> None:
    handle = client.handle
    assert ask("ask", handle, handle) == [N.NV_OK, N.NV01_ROOT_CLIENT]
    status, first = ask(
        "control",
        handle,
        handle,
        N.NV0000_CTRL_GPU_GET_PROBED_IDS,
        running()["probed_ids_bytes"],
    )
    assert (status, first) == (N.NV_OK, client.probed_ids()[0])
    assert ask("ask", handle, UNKNOWN)[0] == N.NV_ERR_OBJECT_NOT_FOUND
    assert ask("ask", UNKNOWN, UNKNOWN)[0] == N.NV_ERR_INVALID_CLIENT


def objects_are_made_and_freed_under_a_users_client(client: Client) -> None:
    handle = client.handle
    made = ask("alloc", handle, handle, OBJECT, N.NV20_GPU_MANAGEMENT)
    assert made == [N.NV_OK, OBJECT]
    assert client.handle_class(OBJECT) == N.NV20_GPU_MANAGEMENT
    assert ask("free", handle, handle, OBJECT) == [N.NV_OK]
    assert status_of(client.handle_class, OBJECT) == N.NV_ERR_OBJECT_NOT_FOUND


def freed_client_is_its_owners_no_more(owner: Tenant, card: KernelCard) -> None:
    """Behind gpushare's back: what it has charged comes back all the same, once the file closes."""
    with Client(owner.nodes) as client, Card(client, card.minor) as mine:
        mine.memory(16 * MIB)
        assert owner.charged() == 16 * MIB
        assert ask("free", client.handle, 0, client.handle) == [N.NV_OK]
        assert status_of(client.handle_class, client.handle) == N.NV_ERR_INVALID_CLIENT
    owner.settled()


def client_of_a_killed_process_is_gone(owner: Tenant) -> None:
    with Client(owner.nodes) as living:
        dying = Child(lambda pipe: _hold(owner, pipe))
        handle = dying.number()
        assert ask("ask", handle, handle)[0] == N.NV_OK
        dying.kill()
        assert ask("ask", handle, handle)[0] == N.NV_ERR_INVALID_CLIENT
        assert ask("ask", living.handle, living.handle)[0] == N.NV_OK


def _hold(owner: Tenant, pipe: Connection) -> None:
    with Client(owner.nodes) as client:
        pipe.send(client.handle)
        pipe.recv()


def main() -> int:
    with ExitStack() as stack:
        genl = stack.enter_context(Genl())
        card = min(cards(genl), key=lambda one: one.minor)
        owner = stack.enter_context(tenant(genl, "asked", {card.uuid: 256 * MIB}))
        version_is_told_to_who_has_another()
        with Client(owner.nodes) as client:
            clients_of_anybody_are_answered(client)
            objects_are_made_and_freed_under_a_users_client(client)
        freed_client_is_its_owners_no_more(owner, card)
        client_of_a_killed_process_is_gone(owner)
    print(f"kernel interface of {running_version()}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
