# SPDX-License-Identifier: GPL-2.0-only
"""gpushare's generic netlink family, byte by byte.

Attribute layouts come from gpushared.netlink_abi, which is made from the YAML specification; the
messages are packed here and not by the daemon's library, so that a test can send any bytes, and so
that a fault of the daemon's codec isn't hidden by its own twin.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Final, Self

from gpushared.netlink_abi import (
    ATTRIBUTE_SETS,
    COMMAND_SETS,
    FAMILY_NAME,
    FAMILY_VERSION,
    MCGRP_EVENTS,
    Attribute,
    Command,
)

_NETLINK_GENERIC: Final = 16
_SOL_NETLINK: Final = 270
_ADD_MEMBERSHIP: Final = 1
_CAP_ACK: Final = 10
_EXT_ACK: Final = 11
_REQUEST, _ACK, _DUMP = 1, 4, 0x300
_ERROR, _DONE = 2, 3
_ACK_TLVS: Final = 0x200
_NESTED: Final = 0x8000
_CTRL: Final = 16
_CTRL_GETFAMILY: Final = 3
_TEXT: Final = 1  # NLMSGERR_ATTR_MSG

_PACK: Final = {"u8": "<B", "u32": "<I", "u64": "<Q", "s64": "<q"}

Values = Mapping[str, object]


class Refusal(Exception):
    """A request the module refused: errno and the extack text."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"{os.strerror(number)}: {text or '(no text)'}")
        self.number = number
        self.text = text


def attribute(number: int, payload: bytes) -> bytes:
    """One attribute with any payload, padded."""
    length = 4 + len(payload)
    return struct.pack("<HH", length, number) + payload + bytes(-length % 4)


def encode(set_name: str, values: Values) -> bytes:
    return b"".join(_encoded(set_name, values))


def _encoded(set_name: str, values: Values) -> Iterator[bytes]:
    known = {one.name.replace("-", "_"): one for one in ATTRIBUTE_SETS[set_name]}
    for name, value in values.items():
        one = known[name]
        for part in value if isinstance(value, list) else [value]:
            yield _encode_one(one, part)


def _encode_one(one: Attribute, value: object) -> bytes:
    if one.nested is not None:
        if not isinstance(value, dict):
            raise TypeError(f"{one.name} is a nest")
        return attribute(one.number | _NESTED, encode(one.nested, value))
    if one.kind == "flag":
        return attribute(one.number, b"")
    if one.kind == "string":
        return attribute(one.number, str(value).encode() + b"\0")
    return attribute(one.number, struct.pack(_PACK[one.kind], value))


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 4 <= len(data):
        length, number = struct.unpack_from("<HH", data, offset)
        if length < 4:
            return
        yield number & 0x3FFF, data[offset + 4 : offset + length]
        offset += length + 3 & ~3


def decode(set_name: str, data: bytes) -> dict[str, object]:
    """Values by name; what may be repeated is a list."""
    known = {one.number: one for one in ATTRIBUTE_SETS[set_name]}
    found: dict[str, object] = {}
    for number, payload in attributes(data):
        one = known.get(number)
        if one is None or one.kind == "pad":
            continue
        value = _decode_one(one, payload)
        key = one.name.replace("-", "_")
        if one.multi:
            many = found.setdefault(key, [])
            if isinstance(many, list):
                many.append(value)
        else:
            found[key] = value
    return found


def _decode_one(one: Attribute, payload: bytes) -> object:
    if one.nested is not None:
        return decode(one.nested, payload)
    if one.kind == "flag":
        return True
    if one.kind == "string":
        return payload.rstrip(b"\0").decode()
    return struct.unpack(_PACK[one.kind], payload)[0]


class Genl:
    """A socket of the family. Each request is one exchange; a refusal raises."""

    def __init__(self) -> None:
        self._socket = socket.socket(
            getattr(socket, "AF_NETLINK", 16),
            socket.SOCK_RAW | socket.SOCK_CLOEXEC,
            _NETLINK_GENERIC,
        )
        self._socket.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)
        self._socket.setsockopt(_SOL_NETLINK, _CAP_ACK, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._socket.bind((0, 0))
        self._socket.settimeout(20)
        self._sequence = 0
        try:
            self.family, self.groups = self._resolve()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _resolve(self) -> tuple[int, dict[str, int]]:
        request = attribute(2, FAMILY_NAME.encode() + b"\0")
        family, groups = 0, {}
        for _, payload in self._exchange(_CTRL, _CTRL_GETFAMILY, 1, request, _ACK):
            for number, value in attributes(payload):
                if number == 1:
                    family = struct.unpack("<H", value)[0]
                elif number == 7:
                    groups = _groups(value)
        return family, groups

    def do(self, command: Command, **values: object) -> dict[str, object]:
        """One request; the answer, empty when there is only an acknowledgement."""
        return self.send(command, encode(COMMAND_SETS[command], values))

    def send(self, command: int, body: bytes) -> dict[str, object]:
        """A request of any bytes."""
        answers = self._exchange(self.family, command, FAMILY_VERSION, body, _ACK)
        found = [decode(COMMAND_SETS[Command(number)], data) for number, data in answers]
        return found[0] if found else {}

    def dump(self, command: Command, **values: object) -> list[dict[str, object]]:
        body = encode(COMMAND_SETS[command], values)
        answers = self._exchange(self.family, command, FAMILY_VERSION, body, _DUMP)
        return [decode(COMMAND_SETS[command], data) for _, data in answers]

    def _exchange(
        self, family: int, command: int, version: int, body: bytes, flags: int
    ) -> list[tuple[int, bytes]]:
        self._sequence += 1
        message = struct.pack("<BBH", command, version, 0) + body
        header = struct.pack(
            "<IHHII", 16 + len(message), family, _REQUEST | flags, self._sequence, 0
        )
        self._socket.send(header + message)
        answers: list[tuple[int, bytes]] = []
        while True:
            data = self._socket.recv(1 << 18)
            for kind, flagged, sequence, payload in _messages(data):
                if sequence != self._sequence:
                    continue
                if kind in (_ERROR, _DONE):
                    _raise(payload, flagged)
                    return answers
                answers.append((payload[0], payload[4:]))

    # ---- events ----

    def subscribe(self) -> None:
        self._socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, self.groups[MCGRP_EVENTS])

    def events(self, *, wait_s: float = 0.0) -> list[dict[str, object]]:
        """Everything multicast that has arrived; waits that long for the first."""
        found: list[dict[str, object]] = []
        self._socket.settimeout(wait_s or 0.001)
        try:
            while True:
                for _, _, _, payload in _messages(self._socket.recv(1 << 18)):
                    found.append(decode("event", payload[4:]))
                self._socket.settimeout(0.001)
        except TimeoutError:
            return found
        finally:
            self._socket.settimeout(20)


def _groups(data: bytes) -> dict[str, int]:
    groups = {}
    for _, nest in attributes(data):
        entry = dict(attributes(nest))
        groups[entry[1].rstrip(b"\0").decode()] = struct.unpack("<I", entry[2])[0]
    return groups


def _messages(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    offset = 0
    while offset + 16 <= len(data):
        length, kind, flags, sequence, _ = struct.unpack_from("<IHHII", data, offset)
        yield kind, flags, sequence, data[offset + 16 : offset + length]
        offset += length + 3 & ~3


def _raise(payload: bytes, flags: int) -> None:
    number = -struct.unpack_from("<i", payload)[0] if len(payload) >= 4 else 0
    if number <= 0:
        return
    text = ""
    if flags & _ACK_TLVS:
        # a capped acknowledgement repeats the header only; the end of a dump repeats none
        start = 20 if len(payload) >= 20 else 4
        for kind, value in attributes(payload[start:]):
            if kind == _TEXT:
                text = value.rstrip(b"\0").decode()
    raise Refusal(number, text)
