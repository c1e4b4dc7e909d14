# SPDX-License-Identifier: GPL-2.0-only
"""Root clients and plain objects below them: how they are made, named and ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from tests.driver.parity.base import (
    MANY_CLIENTS,
    NO_ID,
    UNKNOWN,
    UNKNOWN_CLIENT,
    Part,
    in_child,
    only,
)
from tests.guest.rm.abi import Block, N, make
from tests.guest.rm.client import Client, Refused
from tests.guest.rm.node import Node

CLASS_NAMES: Final = {
    "NV01_DEVICE_0",
    "NV20_SUBDEVICE_0",
    "NV20_GPU_MANAGEMENT",
    "NV01_CONTEXT_DMA",
    "NV01_MEMORY_SYSTEM",
    "NV01_MEMORY_LOCAL_USER",
    "NV01_MEMORY_VIRTUAL",
    "NV01_MEMORY_SYSTEM_OS_DESCRIPTOR",
    "NV_CONFIDENTIAL_COMPUTE",
    "MPS_COMPUTE",
    "FERMI_VASPACE_A",
    "FERMI_CONTEXT_SHARE_A",
    "KEPLER_CHANNEL_GROUP_A",
    "AMPERE_CHANNEL_GPFIFO_A",
    "NV01_EVENT",
    "NV01_EVENT_OS_EVENT",
    "NV_EVENT_BUFFER",
    "NV50_P2P",
    "NV50_THIRD_PARTY_P2P",
    "NV_MEMORY_FABRIC",
    "NV_MEMORY_EXPORT",
    "NV0060_SYNC_GPU_BOOST",
    "NV2081_BINAPI",
    "AMPERE_SMC_PARTITION_REF",
}


class Clients(Part):
    """Asks about handles."""

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        return (
            self.roots,
            self.objects,
            self.ends,
            self.strangers,
        )

    # ---- clients ----

    def roots(self, stack: ExitStack) -> None:
        ctl = self.ctl(stack)
        client = self.client(stack, ctl)
        for form in ("nvos21", "nvos64"):
            for root in (N.NV01_ROOT, N.NV01_ROOT_NON_PRIV, N.NV01_ROOT_CLIENT):
                self.step(f"root {root:#x}, {form}", self._new_root, ctl, client, form, root)
        wishes: tuple[tuple[str, dict[str, int]], ...] = (
            ("in new", {"h_object_new": 0x12345678}),
            ("as client", {"h_root": 0x12345678}),
            ("as parent", {"h_object_parent": 0x12345678}),
            ("of a client's kind", {"h_object_new": 0xC1D0ABCD}),
            ("that is used", {"h_object_new": client.handle}),
            ("of an existing client", {"h_root": client.handle}),
        )
        for what, wish in wishes:
            self.step(
                f"root with a wish {what}",
                self._new_root,
                ctl,
                client,
                "nvos21",
                N.NV01_ROOT_CLIENT,
                **wish,
            )
        self.step("many clients", self._many, stack)

    def _new_root(
        self, ctl: Node, client: Client, form: str, h_class: int, **values: int
    ) -> object:
        answer, handle = self._alloc(ctl, form, h_class=h_class, **values)
        if answer["status"] != "0x0":
            return answer
        wish = "the wish" if handle in values.values() else hex(handle >> 20)
        mine, client.handle = client.handle, handle
        try:
            return answer, wish, hex(client.handle_class(handle))
        except Refused:
            return answer, wish, "no client of that handle"
        finally:
            client.handle = mine

    def _many(self, stack: ExitStack) -> object:
        client = self.client(stack)
        handles = {client.root() for _ in range(MANY_CLIENTS)}
        first, last = min(handles), max(handles)
        client.handle = last
        return len(handles), last - first, client.handle_class(last), hex(first >> 20)

    # ---- objects ----

    def objects(self, stack: ExitStack) -> None:
        client = self.client(stack)
        classes = {
            value
            for name, value in vars(N)["_values"].items()
            if name in CLASS_NAMES and value not in (0, 1, 0x41)
        }
        for h_class in sorted(classes):
            self.step(f"class {h_class:#x} under the client", self._object, client, h_class)
        for what, h_class, values in (
            ("unknown class", 0xFFFE, {}),
            ("unknown parent", N.NV_CONFIDENTIAL_COMPUTE, {"h_object_parent": UNKNOWN}),
            ("no parent", N.NV_CONFIDENTIAL_COMPUTE, {"h_object_parent": 0}),
            ("parent of another kind", N.NV20_SUBDEVICE_0, {}),
            ("handle of the client", N.NV_CONFIDENTIAL_COMPUTE, {"h_object_new": client.handle}),
            ("handle 1", N.NV_CONFIDENTIAL_COMPUTE, {"h_object_new": 1}),
            ("handle 1 again", N.NV_CONFIDENTIAL_COMPUTE, {"h_object_new": 1}),
            ("handle of all ones", N.NV_CONFIDENTIAL_COMPUTE, {"h_object_new": NO_ID}),
            ("unknown client", N.NV_CONFIDENTIAL_COMPUTE, {"h_root": UNKNOWN_CLIENT}),
            ("client 0", N.NV_CONFIDENTIAL_COMPUTE, {"h_root": 0}),
            ("no object's handle as client", N.NV_CONFIDENTIAL_COMPUTE, {"h_root": 1}),
        ):
            wanted = {"h_root": client.handle, "h_object_parent": client.handle, **values}
            self.step(f"object: {what}", self._made, client, h_class, wanted)
        for when in ("first", "second"):
            self.step(f"object: {when} of a kind of which there is one", self._kept, client)
        self.step("object: by the oldest call", self._oldest, client)
        self.step("object: parameters nowhere", self._nowhere, client)
        self.step("object: chosen handle", self._chosen, client)
        self.step("object: long form", self._long_form, client)

    def _object(self, client: Client, h_class: int) -> str:
        params = Block(1024)
        handle = client.alloc(client.handle, h_class, params)
        client.free(handle)
        return "made"

    @staticmethod
    def _kept(client: Client) -> int:
        return client.alloc(client.handle, N.NV20_GPU_MANAGEMENT, handle=0) >> 20

    @staticmethod
    def _made(client: Client, h_class: int, values: Mapping[str, int]) -> object:
        block = make("nvos21", h_class=h_class, **values)
        client.ctl.ioctl(N.NV_ESC_RM_ALLOC, block)
        return f"status {block['status']:#x}"

    @staticmethod
    def _oldest(client: Client) -> object:
        block = make(
            "nvos05",
            h_root=client.handle,
            h_object_parent=client.handle,
            h_object_new=0x5501,
            h_class=N.NV_CONFIDENTIAL_COMPUTE,
        )
        client.ctl.ioctl(N.NV_ESC_RM_ALLOC_OBJECT, block)
        return only(block, "status", "h_object_new")

    def _nowhere(self, client: Client) -> object:
        answer, _ = self._alloc(
            client.ctl,
            h_root=client.handle,
            h_object_parent=client.handle,
            h_class=N.NV01_DEVICE_0,
            p_alloc_parms=8,
        )
        return answer

    @staticmethod
    def _chosen(client: Client) -> str:
        """The first two handles that the driver chooses by itself, from their distance."""
        first = client.alloc(client.handle, N.NV_CONFIDENTIAL_COMPUTE)
        second = client.alloc(client.handle, N.NV_CONFIDENTIAL_COMPUTE)
        return f"{first >> 20:#x}, {second - first} apart"

    def _long_form(self, client: Client) -> object:
        answer, _ = self._alloc(
            client.ctl,
            "nvos64",
            h_root=client.handle,
            h_object_parent=client.handle,
            h_class=N.NV_CONFIDENTIAL_COMPUTE,
        )
        return answer

    # ---- frees ----

    def ends(self, stack: ExitStack) -> None:
        client, other = self.client(stack), self.client(stack)
        managed = client.alloc(client.handle, N.NV20_GPU_MANAGEMENT)
        self.step("free: unknown", client.free, UNKNOWN)
        self.step("free: nothing", client.free, 0)
        self.step("free: unknown parent named", client.free, managed, UNKNOWN)
        self.step("free: a second time", client.free, managed, client.handle)
        managed = client.alloc(client.handle, N.NV20_GPU_MANAGEMENT)
        self.step("free: an object", client.free, managed, client.handle)
        self.step("free: once more", client.free, managed, client.handle)
        self.step("free: its question", client.handle_class, managed)
        client.os_event(client.ctl)
        event = client.event(client.handle, client.ctl, 0)
        self.step("free: the client with children", client.free, client.handle)
        self.step("free: the client again", client.free, client.handle)
        self.step("free: a child of it", client.free, event)
        self.step("free: a question to it", client.handle_class, client.handle)
        self.step("free: its label on the file", client.free_os_event, client.ctl)
        self.step("free: other clients stay", other.handle_class, other.handle)
        extra = other.root()
        self.step("free: a client by another's name", other.free, extra)
        mine, other.handle = other.handle, extra
        self.step("free: that one still answers", other.handle_class, extra)
        self.step("free: a client under a parent", other.free, extra, mine)
        other.handle = mine

    # ---- somebody else's ----

    def strangers(self, stack: ExitStack) -> None:
        owner, stranger = self.client(stack), self.client(stack)
        inside = owner.alloc(owner.handle, N.NV20_GPU_MANAGEMENT)
        mine = stranger.handle
        for what, handle in (("a stranger's", owner.handle), ("nobody's", UNKNOWN_CLIENT)):
            stranger.handle = handle
            for name, call in (
                ("question", lambda: stranger.handle_class(inside)),
                ("free of an object", lambda: stranger.free(inside, owner.handle)),
                ("free of the client", lambda handle=handle: stranger.free(handle)),
                ("object", lambda handle=handle: stranger.alloc(handle, N.NV20_GPU_MANAGEMENT)),
                ("share", lambda handle=handle: stranger.share(handle, N.RS_SHARE_TYPE_ALL)),
                ("label", lambda: stranger.os_event(stranger.ctl)),
                ("end of the label", lambda: stranger.free_os_event(stranger.ctl)),
                ("dup", lambda handle=handle: stranger.dup(handle, mine, mine)),
            ):
                self.step(f"{what} client: {name}", call)
        stranger.handle = mine
        self.step("dup from a stranger", stranger.dup, mine, owner.handle, inside, handle=0x6601)
        self.step("the stranger's object is there", owner.handle_class, inside)
        again = stack.enter_context(Node.from_fd(os.dup(owner.ctl.fd), owner.ctl.path))
        copy = self.client(stack, again)
        copy.handle = owner.handle
        self.step("a duplicate of the file uses the client", copy.handle_class, inside)
        self.step("a child with the file uses the client", self._in_child, owner, inside)
        self.step("a child with another file", self._in_child_anew, owner)

    def _in_child(self, owner: Client, inside: int) -> int:
        return in_child(lambda: owner.handle_class(inside))

    def _in_child_anew(self, owner: Client) -> int:
        def ask() -> int:
            with Client(self.nodes) as client:
                client.handle = owner.handle
                try:
                    return client.handle_class(owner.handle)
                except Refused as refused:
                    return refused.status

        return in_child(ask)
