# SPDX-License-Identifier: GPL-2.0-only
"""A GPU's node, where it opens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tests.driver.parity.base import CLOSED, Part
from tests.guest.rm.abi import N, make
from tests.guest.rm.client import Client, check
from tests.guest.rm.node import Node


class Gpu(Part):
    """Asks what a GPU file answers before there is a device."""

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        return (self.gpu_node,)

    # ---- a GPU's node, where it opens ----

    def gpu_node(self, stack: ExitStack) -> None:
        nodes: list[Node] = []
        self.step(
            "open the gpu's node",
            lambda: nodes.append(stack.enter_context(Node(self.nodes.gpu(self.minor)))),
        )
        if not nodes:
            return
        node = nodes[0]
        client = self.client(stack)
        for what, fd in (("a closed number", CLOSED), ("a gpu file", node.fd)):
            block = make("nv_register_fd", ctl_fd=fd)
            self.call(f"gpu: register {what}", node, N.NV_ESC_REGISTER_FD, block)
        self.step("gpu: register", client.register, node)
        self.step("gpu: register again", client.register, node)
        self.step("gpu: poll", node.poll)
        self.step("gpu: mmap without context", lambda: node.mmap(4096).unmap())
        self.step("gpu: label", client.os_event, node)
        self.number("gpu: event of the control node", client.event, client.handle, node, 0)
        self.number("gpu: event on the node", self._event_on, client, node)
        self.step("gpu: a root client", self._root_on, node)
        self.step("gpu: an object", self._object_on, client, node)
        self.step("gpu: end of the label", client.free_os_event, node)
        for nr, size in (
            (N.NV_ESC_RM_FREE, 16),
            (N.NV_ESC_RM_CONTROL, 32),
            (N.NV_ESC_CARD_INFO, 72),
            (N.NV_ESC_SYS_PARAMS, 8),
            (N.NV_ESC_CHECK_VERSION_STR, 72),
            (N.NV_ESC_STATUS_CODE, 12),
            (N.NV_ESC_RM_DUP_OBJECT, 28),
            (N.NV_ESC_RM_VID_HEAP_CONTROL, 184),
        ):
            self.step(f"gpu: {nr:#x}", self._wrong_size, node, nr, size)
        interrupts = make("nv_query_device_intr")
        self.call("gpu: interrupts", node, N.NV_ESC_QUERY_DEVICE_INTR, interrupts)

    def _event_on(self, client: Client, node: Node) -> int:
        params = make(
            "nv0005_alloc",
            h_parent_client=client.handle,
            h_src_resource=client.handle,
            h_class=N.NV01_EVENT_OS_EVENT,
            data=node.fd,
        )
        block = make(
            "nvos21",
            h_root=client.handle,
            h_object_parent=client.handle,
            h_class=N.NV01_EVENT_OS_EVENT,
            p_alloc_parms=params.address,
        )
        node.ioctl(N.NV_ESC_RM_ALLOC, block)
        check("event", block["status"])
        return block["h_object_new"]

    def _root_on(self, node: Node) -> object:
        return self._alloc(node, h_class=N.NV01_ROOT_CLIENT)[0]

    def _object_on(self, client: Client, node: Node) -> object:
        return self._alloc(
            node,
            h_root=client.handle,
            h_object_parent=client.handle,
            h_class=N.NV20_GPU_MANAGEMENT,
        )[0]
