# SPDX-License-Identifier: GPL-2.0-only
"""Labels, event objects, second handles and exports: all without a card."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tests.driver.parity.base import CLOSED, UNKNOWN, UNKNOWN_CLIENT, Part, only
from tests.guest.rm.abi import Block, N, make, running
from tests.guest.rm.client import Client
from tests.guest.rm.node import Node


class Events(Part):
    """Asks what objects may be tied to each other."""

    def parts(self) -> tuple[Callable[[ExitStack], None], ...]:
        return (
            self.labels,
            self.event_objects,
            self.second_handles,
        )

    # ---- events ----

    def labels(self, stack: ExitStack) -> None:
        client, second = self.client(stack), self.client(stack)
        data = make("nvos41", p_event=Block(16).address)
        self.step("no event data", self._event_data, client.ctl, data)
        self.step("label", client.os_event, client.ctl)
        self.step("label again", client.os_event, client.ctl)
        self.step("label of a second file", client.os_event, second.ctl)
        self.step("label of another client, same number", self._foreign_label, second, client.ctl)
        self.step("no event data with a label", self._event_data, client.ctl, data)
        self.step("nothing to poll", client.ctl.poll)
        self.step("end of the label", client.free_os_event, client.ctl)
        self.step("end of the label again", client.free_os_event, client.ctl)
        self.step("end of a label by another file", self._free_on, client, second.ctl)
        self.step("label after its end", client.os_event, client.ctl)

    @staticmethod
    def _event_data(node: Node, block: Block) -> object:
        node.ioctl(N.NV_ESC_RM_GET_EVENT_DATA, block)
        return only(block, "more_events", "status")

    @staticmethod
    def _foreign_label(client: Client, node: Node) -> int:
        """A label names a number; it need not be that of the file on which it is made."""
        block = make("nv_alloc_os_event", h_client=client.handle, fd=node.fd)
        client.ctl.ioctl(N.NV_ESC_ALLOC_OS_EVENT, block)
        return block["status"]

    @staticmethod
    def _free_on(client: Client, node: Node) -> int:
        block = make("nv_free_os_event", h_client=client.handle, fd=node.fd)
        client.ctl.ioctl(N.NV_ESC_FREE_OS_EVENT, block)
        return block["status"]

    def event_objects(self, stack: ExitStack) -> None:
        client, second = self.client(stack), self.client(stack)
        command = N.NV0000_CTRL_EVENT_SET_NOTIFICATION
        notify = Block(8)
        notify.set_u32(4, 2)
        self.control("notification without event", client, command, notify)
        self.number("event without label", client.event, client.handle, client.ctl, 0)
        client.os_event(client.ctl)
        event = self.number("event", client.event, client.handle, client.ctl, 0)
        self.step("event's class", client.handle_class, event)
        for action in range(4):
            notify.set_u32(4, action)
            name = f"notification, action {action}"
            self.control(name, client, command, notify)
        notify.set_u32(0, 99)
        self.control("notification of no such event", client, command, notify)
        for what, values in (
            ("of an unknown source", {"h_src_resource": UNKNOWN}),
            ("of a stranger's source", {"h_parent_client": second.handle}),
            ("of nobody's source", {"h_parent_client": UNKNOWN_CLIENT}),
            ("of another class", {"h_class": 0x78}),
            ("of no class", {"h_class": 0}),
            ("of a high index", {"notify_index": 0xFFFF}),
            ("without data", {"notify_index": N.NV01_EVENT_WITHOUT_EVENT_DATA}),
        ):
            self.number(f"event {what}", self._event, client, **values)
        self.number("event of class 5", self._event, client, of=N.NV01_EVENT)
        self.number("event below an event", self._event, client, below=event)
        self.step("event without parameters", client.alloc, client.handle, N.NV01_EVENT_OS_EVENT)
        self.step("nothing to poll with events", client.ctl.poll)
        self.step("end of the label under an event", client.free_os_event, client.ctl)
        self.step("event after its label: class", client.handle_class, event)
        self.step("event after its label: free", client.free, event, client.handle)

    @staticmethod
    def _event(client: Client, *, of: int = 0x79, below: int = 0, **values: int) -> int:
        wanted = {
            "h_parent_client": client.handle,
            "h_src_resource": client.handle,
            "h_class": N.NV01_EVENT_OS_EVENT,
            "data": client.ctl.fd,
            **values,
        }
        return client.alloc(below or client.handle, of, make("nv0005_alloc", **wanted))

    # ---- second handles ----

    def second_handles(self, stack: ExitStack) -> None:
        client, second = self.client(stack), self.client(stack)
        inside = client.alloc(client.handle, N.NV20_GPU_MANAGEMENT)
        client.os_event(client.ctl)
        event = client.event(client.handle, client.ctl, 0)
        for what, source in (
            ("a plain object", inside),
            ("an event", event),
            ("the client", client.handle),
            ("an unknown object", UNKNOWN),
        ):
            name = f"dup of {what}"
            self.step(name, client.dup, client.handle, client.handle, source)
            self.step(f"{name} to another", second.dup, second.handle, client.handle, source)
        self.step("dup below an unknown", client.dup, UNKNOWN, client.handle, inside)
        self.step(
            "dup to a used handle",
            client.dup,
            client.handle,
            client.handle,
            inside,
            handle=event,
        )
        for kind in range(9):
            for what, target in (("client", client.handle), ("object", inside)):
                self.step(f"share {what}, type {kind}", client.share, target, kind)
        everything = 0xFFFFFFFF
        self.step(
            "share all rights",
            client.share,
            client.handle,
            N.RS_SHARE_TYPE_ALL,
            rights=everything,
        )
        self.step("share unknown", client.share, UNKNOWN, N.RS_SHARE_TYPE_ALL)
        self.step("unshare", client.share, client.handle, N.RS_SHARE_TYPE_ALL, revoke=True)
        for what, command, layout in (
            ("export", N.NV0000_CTRL_OS_UNIX_EXPORT_OBJECT_TO_FD, "nv0000_export_to_fd"),
            ("import", N.NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD, "nv0000_import_from_fd"),
        ):
            for which, fd in (
                ("a closed number", CLOSED),
                ("itself", client.ctl.fd),
                ("another file", second.ctl.fd),
            ):
                for kind in (0, 1):
                    params = make(layout, fd=fd, object_type=kind)
                    self.step(f"{what} {which}, type {kind}", self._status, client, command, params)
        info = Block(running()["export_info_bytes"])
        info.set_u32(0, second.ctl.fd)
        command = N.NV0000_CTRL_OS_UNIX_GET_EXPORT_OBJECT_INFO
        self.step("export info of nothing", self._status, client, command, info)

    @staticmethod
    def _status(client: Client, command: int, params: Block) -> str:
        client.control(client.handle, command, params)
        return "status 0x0"
