# SPDX-License-Identifier: GPL-2.0-only
"""A netlink socket in front of a fake kernel: bytes in, bytes out, packed by hand.

It stands for what the kernel does before and after the module's handlers: strict
parsing, and answers, dumps and extended acknowledgements as bytes. Only transport
is missing. The packing here shares nothing with gpushared.kernel.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel
from pyroute2.netlink.marshal import Marshal

from gpushared.kernel import message_for
from gpushared.kernel_types import (
    Kernel,
    KernelRefusal,
    NewTenant,
    ShareRequest,
    TenantUpdate,
)
from gpushared.netlink_abi import ATTRIBUTE_SETS, COMMAND_SETS, Attribute, Command

FAMILY = 0x21
NLMSG_ERROR, NLMSG_DONE = 2, 3
MULTI, ACK_TLVS = 0x2, 0x200
REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
NESTED = 1 << 15
FORMATS = {"u8": "=B", "u32": "=I", "u64": "=Q", "s64": "=q"}

Values = dict[str, Any]


def pack_attribute(number: int, payload: bytes, *, flags: int = 0) -> bytes:
    length = 4 + len(payload)
    return struct.pack("=HH", length, number | flags) + payload + bytes(-length % 4)


def pack(set_name: str, values: Mapping[str, Any]) -> bytes:
    """Attributes as nla_put would lay them out."""
    data = b""
    for attribute in ATTRIBUTE_SETS[set_name]:
        value = values.get(attribute.name.replace("-", "_"))
        if value is None or (value is False and attribute.kind == "flag"):
            continue
        for part in value if attribute.multi else [value]:
            data += pack_one(attribute, part)
    return data


def pack_one(attribute: Attribute, value: Any) -> bytes:
    if attribute.nested is not None:
        return pack_attribute(attribute.number, pack(attribute.nested, value), flags=NESTED)
    if attribute.kind == "string":
        return pack_attribute(attribute.number, value.encode() + b"\0")
    if attribute.kind == "flag":
        return pack_attribute(attribute.number, b"")
    return pack_attribute(attribute.number, struct.pack(FORMATS[attribute.kind], int(value)))


def unpack(set_name: str, data: bytes) -> Values:
    """Attributes as a strict kernel would parse them."""
    by_number = {attribute.number: attribute for attribute in ATTRIBUTE_SETS[set_name]}
    found: Values = {}
    while data:
        length, kind = struct.unpack_from("=HH", data)
        attribute = by_number.get(kind & ~NESTED)
        if attribute is None:
            raise KernelRefusal(errno.EINVAL, "Unknown attribute type")
        if bool(kind & NESTED) != (attribute.nested is not None):
            raise KernelRefusal(errno.EINVAL, "NLA_F_NESTED is missing")
        value = unpack_one(attribute, data[4:length])
        key = attribute.name.replace("-", "_")
        if attribute.multi:
            found.setdefault(key, []).append(value)
        else:
            found[key] = value
        data = data[length + -length % 4 :]
    return found


def unpack_one(attribute: Attribute, payload: bytes) -> Any:
    if attribute.nested is not None:
        return unpack(attribute.nested, payload)
    if attribute.kind == "string":
        assert payload.endswith(b"\0"), "a string without its end"
        return payload[:-1].decode()
    if attribute.kind == "flag":
        assert not payload, "a flag with a value"
        return True
    (value,) = struct.unpack(FORMATS[attribute.kind], payload)
    return value


class FakeNetlink:
    """What NetlinkKernel opens: open() gives one socket a call, as long as kernel is loaded."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.opened = 0
        # the family's number in the kernel; it changes when the module is loaded again
        self.family = FAMILY

    async def open(self) -> FakeSocket:
        await self.kernel.info()
        self.opened += 1
        return FakeSocket(self)


class FakeSocket:
    """The part of pyroute2's socket that NetlinkKernel uses."""

    def __init__(self, netlink: FakeNetlink) -> None:
        self._netlink = netlink
        self.prid = netlink.family
        self._marshal = Marshal()
        self._marshal.msg_map[self.prid] = message_for

    async def nlm_request(
        self, message: Any, *, msg_type: int, msg_flags: int
    ) -> AsyncIterator[Any]:
        message["header"]["type"] = msg_type
        message["header"]["flags"] = msg_flags
        message["header"]["sequence_number"] = 7
        message.encode()
        return self._answers(bytes(message.data), msg_flags)

    async def _answers(self, request: bytes, flags: int) -> AsyncIterator[Any]:
        for data in await self._handled(request, flags):
            for message in self._marshal.parse(data):
                if message["header"]["error"] is not None:
                    raise message["header"]["error"]
                if message["header"]["type"] == NLMSG_DONE:
                    return
                yield message

    async def _handled(self, request: bytes, flags: int) -> list[bytes]:
        length, family, _, _, _, command, version, _ = struct.unpack_from("=IHHIIBBH", request)
        assert (length, version) == (len(request), 1)
        if family != self._netlink.family:
            return [refusal(request, errno.ENOENT, None)]
        try:
            values = unpack(COMMAND_SETS[Command(command)], request[20:])
            replies = await self._handle(Command(command), values, dump=flags & DUMP == DUMP)
        except KernelRefusal as error:
            return [refusal(request, error.number, error.text)]
        data = [
            framed(self.prid, MULTI if flags & DUMP else 0, generic(Command(command), reply))
            for reply in replies
        ]
        if flags & DUMP == DUMP:
            data.append(framed(NLMSG_DONE, MULTI, struct.pack("=i", 0)))
        elif flags & ACK:
            data.append(framed(NLMSG_ERROR, 0, struct.pack("=i", 0) + request[:16]))
        return data

    async def _handle(self, command: Command, values: Values, *, dump: bool) -> list[BaseModel]:
        kernel = self._netlink.kernel
        dumps: dict[Command, Callable[[], Awaitable[tuple[BaseModel, ...]]]] = {
            Command.CARD_GET: kernel.cards,
            Command.TENANT_GET: kernel.tenants,
            Command.CLIENT_GET: lambda: kernel.clients(values.get("tenant")),
            Command.STATS_GET: kernel.stats,
        }
        if dump:
            return list(await dumps[command]())
        match command:
            case Command.INFO_GET:
                return [await kernel.info()]
            case Command.TENANT_GET:
                return [await kernel.tenant(values["name"])]
            case Command.TENANT_NEW:
                shares = tuple(ShareRequest(**share) for share in values.pop("share"))
                return [await kernel.tenant_new(NewTenant(share=shares, **values))]
            case Command.TENANT_SET:
                await kernel.tenant_set(TenantUpdate(**values))
            case Command.TENANT_DEL:
                await kernel.tenant_del(values["name"], force=values.get("force", False))
            case Command.SHARE_SET:
                (share,) = values["share"]
                await kernel.share_set(values["name"], ShareRequest(**share))
            case _:
                raise KernelRefusal(errno.EOPNOTSUPP, "no such operation")
        return []

    def add_membership(self, group: str) -> None:
        assert group == "events"

    async def get(self) -> AsyncIterator[Any]:
        async for event in self._netlink.kernel.events():
            data = framed(self.prid, 0, generic(Command.EVENT, event), sequence=0)
            for message in self._marshal.parse(data):
                yield message

    def close(self) -> None:
        pass


def generic(command: Command, reply: BaseModel) -> bytes:
    body = pack(COMMAND_SETS[command], reply.model_dump())
    return struct.pack("=BBH", command, 1, 0) + body


def framed(kind: int, flags: int, body: bytes, *, sequence: int = 7) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 0) + body


def refusal(request: bytes, number: int, text: str | None) -> bytes:
    """NLMSG_ERROR with the request it is about and, behind it, the extended acknowledgement."""
    body = struct.pack("=i", -number) + request
    if text is not None:
        body += pack_attribute(1, text.encode() + b"\0")
    return framed(NLMSG_ERROR, ACK_TLVS if text is not None else 0, body)
