# SPDX-License-Identifier: GPL-2.0-only
"""The module over generic netlink: the only home of pyroute2.

Messages are laid out by netlink_abi. Requests and events have a socket each: a
multicast may carry any sequence number and must not be taken for an answer.
The family's number changes when the module is loaded again, so a socket is
opened at first use and dropped when the family is gone.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from pyroute2.netlink import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, genlmsg, nla
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import AsyncGenericNetlinkSocket

from gpushared.kernel_types import (
    EventsLost,
    KernelCard,
    KernelClient,
    KernelEvent,
    KernelInfo,
    KernelMissing,
    KernelRefusal,
    KernelStats,
    KernelTenant,
    NewTenant,
    ShareRequest,
    TenantUpdate,
)
from gpushared.netlink_abi import (
    ATTRIBUTE_SETS,
    COMMAND_SETS,
    FAMILY_NAME,
    FAMILY_VERSION,
    MCGRP_EVENTS,
    Attribute,
    Command,
)

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 10.0
DUMP_TRIES: Final = 5
_DUMP_INTERRUPTED: Final = 0x10  # NLM_F_DUMP_INTR
_COMMAND_OFFSET: Final = 16  # struct genlmsghdr follows struct nlmsghdr
_KINDS: Final = {
    "u8": "uint8",
    "u32": "uint32",
    "u64": "uint64",
    "s64": "int64",
    "string": "asciiz",
    "flag": "flag",
    "pad": "none",
}

Fact = TypeVar("Fact", bound=BaseModel)
# a message, nested attributes or an attribute class of pyroute2, which has no types
Untyped = Any
# a socket whose received bytes message_for has been told to decode
OpenSocket = Callable[[], Awaitable[Untyped]]


class NetlinkKernel:
    """kernel_types.Kernel over generic netlink. One event loop; close() when done."""

    def __init__(self, open_socket: OpenSocket | None = None) -> None:
        self._open = open_socket or _opened
        self._socket: Untyped = None
        # the kernel runs one dump a socket at a time
        self._exchanging = asyncio.Lock()

    async def info(self) -> KernelInfo:
        return KernelInfo.model_validate(await self._do(Command.INFO_GET))

    async def cards(self) -> tuple[KernelCard, ...]:
        return await self._dump(Command.CARD_GET, KernelCard)

    async def tenants(self) -> tuple[KernelTenant, ...]:
        return await self._dump(Command.TENANT_GET, KernelTenant)

    async def tenant(self, name: str) -> KernelTenant:
        return KernelTenant.model_validate(await self._do(Command.TENANT_GET, name=name))

    async def tenant_new(self, request: NewTenant) -> KernelTenant:
        answer = await self._do(Command.TENANT_NEW, **_given(request))
        return KernelTenant.model_validate(answer)

    async def tenant_set(self, request: TenantUpdate) -> None:
        await self._act(Command.TENANT_SET, **_given(request))

    async def tenant_del(self, name: str, *, force: bool) -> None:
        await self._act(Command.TENANT_DEL, name=name, force=force)

    async def share_set(self, name: str, share: ShareRequest) -> None:
        await self._act(Command.SHARE_SET, name=name, share=(share,))

    async def clients(self, tenant: str | None = None) -> tuple[KernelClient, ...]:
        return await self._dump(Command.CLIENT_GET, KernelClient, tenant=tenant)

    async def stats(self) -> tuple[KernelStats, ...]:
        return await self._dump(Command.STATS_GET, KernelStats)

    async def events(self) -> AsyncIterator[KernelEvent]:
        sock = await self._open()
        try:
            sock.add_membership(MCGRP_EVENTS)
            while True:
                async for message in sock.get():
                    event = _decoded(message, COMMAND_SETS[Command.EVENT])
                    yield KernelEvent.model_validate(event)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                raise EventsLost from error
            raise KernelRefusal(error.errno or errno.EIO) from error
        finally:
            sock.close()

    async def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def _do(self, command: Command, **values: object) -> dict[str, object]:
        """One request with one answer. Without ACK, which would stay behind unread."""
        for message in await self._exchange(command, NLM_F_REQUEST, values):
            return _decoded(message, COMMAND_SETS[command])
        raise KernelRefusal(errno.ENODATA, f"the module did not answer {command.name}")

    async def _act(self, command: Command, **values: object) -> None:
        await self._exchange(command, NLM_F_REQUEST | NLM_F_ACK, values)

    async def _dump(self, command: Command, kind: type[Fact], **values: object) -> tuple[Fact, ...]:
        for _ in range(DUMP_TRIES):
            messages = await self._exchange(command, NLM_F_REQUEST | NLM_F_DUMP, values)
            if not any(message["header"]["flags"] & _DUMP_INTERRUPTED for message in messages):
                break
        set_name = COMMAND_SETS[command]
        return tuple(kind.model_validate(_decoded(message, set_name)) for message in messages)

    async def _exchange(
        self, command: Command, flags: int, values: dict[str, object]
    ) -> list[Untyped]:
        log.debug("request", extra={"command": command.name, "values": values})
        async with self._exchanging:
            try:
                return await self._exchange_once(command, flags, values)
            except KernelRefusal as refusal:
                # every refusal of the module has a text of its own; without one
                # the family's number is stale, for the module was loaded again
                if refusal.number != errno.ENOENT or refusal.text != os.strerror(errno.ENOENT):
                    raise
            await self.close()
            return await self._exchange_once(command, flags, values)

    async def _exchange_once(
        self, command: Command, flags: int, values: dict[str, object]
    ) -> list[Untyped]:
        if self._socket is None:
            self._socket = await self._open()
        sock = self._socket
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answers = await sock.nlm_request(
                    _message(command, values), msg_type=sock.prid, msg_flags=flags
                )
                return [answer async for answer in answers if answer["header"]["type"] == sock.prid]
        except NetlinkError as error:
            raise KernelRefusal(error.code, error.args[1]) from error
        except TimeoutError as error:
            await self.close()
            raise KernelRefusal(errno.ETIMEDOUT, "the module does not answer") from error
        except OSError as error:
            await self.close()
            raise KernelRefusal(error.errno or errno.EIO) from error


class _Socket(AsyncGenericNetlinkSocket):  # type: ignore[misc]
    module_err_level = "debug"


async def _opened() -> _Socket:
    sock = _Socket(ext_ack=True)
    try:
        await sock.bind(FAMILY_NAME, message_for)
    except NetlinkError as error:
        sock.close()
        if error.code == errno.ENOENT:
            raise KernelMissing from error
        raise KernelRefusal(error.code, error.args[1]) from error
    except BaseException:
        sock.close()
        raise
    return sock


def _attribute_class(attributes: tuple[Attribute, ...], base: Untyped) -> Untyped:
    """A pyroute2 class for an attribute set, with the classes of its nests inside."""
    body: dict[str, object] = {"prefix": None}
    nla_map = [("unspec", "none")]
    for attribute in attributes:
        kind = _KINDS.get(attribute.kind)
        if attribute.nested is not None:
            kind = f"nest_{attribute.nested}"
            body[kind] = _attribute_class(ATTRIBUTE_SETS[attribute.nested], nla)
        if kind is None:
            raise ValueError(f"attribute {attribute.name} has unknown type {attribute.kind}")
        # the same nest may come several times: that is several attributes, not an array
        nla_map.append((attribute.name, kind))
    body["nla_map"] = tuple(nla_map)
    if base is nla:
        body["nla_flags"] = _NESTED
    return type("gpushare_attributes", (base,), body)


_NESTED: Final = 1 << 15  # NLA_F_NESTED
_CLASSES: Final[dict[str, Untyped]] = {
    set_name: _attribute_class(ATTRIBUTE_SETS[set_name], genlmsg)
    for set_name in set(COMMAND_SETS.values())
}


def message_for(data: bytes, *, offset: int = 0) -> Untyped:
    """The message class for received bytes, chosen by their command."""
    number = data[offset + _COMMAND_OFFSET] if len(data) > offset + _COMMAND_OFFSET else 0
    known = number in set(Command)
    return (_CLASSES[COMMAND_SETS[Command(number)]] if known else genlmsg)(data, offset=offset)


def _message(command: Command, values: dict[str, object]) -> Untyped:
    set_name = COMMAND_SETS[command]
    message = _CLASSES[set_name]()
    message["cmd"] = int(command)
    message["version"] = FAMILY_VERSION
    message["attrs"] = list(_encoded(set_name, values))
    return message


def _encoded(set_name: str, values: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Attributes in their order; what is None, and a flag that is False, is left out."""
    for attribute in ATTRIBUTE_SETS[set_name]:
        value = values.get(attribute.name.replace("-", "_"))
        if value is None or (attribute.kind == "flag" and not value):
            continue
        if attribute.nested is None:
            yield attribute.name, int(value) if isinstance(value, IntEnum) else value
        elif isinstance(value, tuple):
            for part in value:
                yield attribute.name, {"attrs": list(_encoded(attribute.nested, _given(part)))}


def _given(request: object) -> dict[str, object]:
    if not is_dataclass(request):
        raise TypeError(f"{type(request).__name__} is no request")
    return {entry.name: getattr(request, entry.name) for entry in fields(request)}


def _decoded(message: Untyped, set_name: str) -> dict[str, object]:
    """Fields of a message or nest by name; what is repeated becomes a list."""
    known = {attribute.name: attribute for attribute in ATTRIBUTE_SETS[set_name]}
    found: dict[str, object] = {}
    for slot in message["attrs"]:
        attribute = known.get(slot[0])
        if attribute is None or attribute.kind == "pad":
            continue
        value: object = slot[1]
        if attribute.nested is not None:
            value = _decoded(value, attribute.nested)
        elif isinstance(value, bytes):
            value = value.decode("utf-8", errors="replace")
        key = attribute.name.replace("-", "_")
        if attribute.multi:
            many = found.setdefault(key, [])
            if isinstance(many, list):
                many.append(value)
        else:
            found[key] = value
    return found
