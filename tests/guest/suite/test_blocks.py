# SPDX-License-Identifier: GPL-2.0-only
"""Blocks of more than one size: taken or refused as the driver does, never read beyond the end."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, PAGE, Block, N, make
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, Form
from tests.guest.rm.node import Nodes
from tests.guest.rm.tenant import MakeTenant, Tenant

QUOTA: Final = 64 * MIB
SIZE: Final = 8 * MIB
libc = ctypes.CDLL(None, use_errno=True)


class Edge:
    """Bytes whose last one is the last that can be read: the page behind is not there."""

    def __init__(self, content: bytes) -> None:
        self._memory = mmap.mmap(-1, 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.address = start + PAGE - len(content)
        ctypes.memmove(self.address, content, len(content))
        if libc.mprotect(ctypes.c_void_p(start + PAGE), PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")


def asked(nodes: Nodes, form: Form, params: bytes, stated: int) -> int:
    """The status of one allocation; what it gave is freed with its client."""
    with Client(nodes) as client, Card(client) as card:
        edge = Edge(params)
        block = make(
            form.value,
            h_root=client.handle,
            h_object_parent=card.device,
            h_class=N.NV01_MEMORY_LOCAL_USER,
            p_alloc_parms=edge.address,
            params_size=stated,
        )
        client.ctl.ioctl(N.NV_ESC_RM_ALLOC, block)
        return block["status"]


@pytest.fixture
def owner(make: MakeTenant) -> Tenant:
    return make("c1", QUOTA)


@pytest.mark.case("DC-05")
@pytest.mark.parametrize("size", [8, 31, 33, 40, 47, 49, 64])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_block_of_unknown_size_is_refused_as_outside(
    owner: Tenant, size: int, wrapped: bool
) -> None:
    for nodes in (owner.nodes, Nodes.real()):
        with Client(nodes) as client, pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
            client.ctl.ioctl(N.NV_ESC_RM_ALLOC, Block(size), xfer=wrapped)


@pytest.mark.case("DC-05")
@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("more", [-8, 0, 8])
def test_what_the_caller_states_changes_nothing(owner: Tenant, form: Form, more: int) -> None:
    """The libraries leave it 0; the class decides, and the block ends where its page does."""
    params = Card.memory_params(SIZE).raw
    for nodes in (owner.nodes, Nodes.real()):
        assert asked(nodes, form, params, len(params) + more) == N.NV_OK
        assert asked(nodes, form, params + bytes(8), len(params) + more) == N.NV_OK
    owner.settled()


@pytest.mark.case("DC-05")
@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("less", [1, 8, 64])
def test_a_block_that_is_too_short_gives_nothing(owner: Tenant, form: Form, less: int) -> None:
    params = Card.memory_params(SIZE).raw
    answers = [
        asked(nodes, form, params[:-less], stated)
        for nodes in (owner.nodes, Nodes.real())
        for stated in (len(params) - less, len(params), 0)
    ]
    assert len(set(answers)) == 1, answers
    assert answers[0] != N.NV_OK
    owner.settled()
    assert truth.memory().objects == 0
