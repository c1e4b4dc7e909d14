# SPDX-License-Identifier: GPL-2.0-only
"""A running program's channels, from a second client: what they have done, and pausing them.

In a guest: python3 -m tests.guest.channels {launches|disable|enable} PID
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from tests.guest.rm.abi import Block, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client
from tests.guest.rm.node import Nodes
from tests.guest.rm.truth import DEBUGFS

# NV2080_CTRL_FIFO_DISABLE_CHANNELS: abi/README.md 8
SIZE, COUNT, CLIENTS, CHANNELS, MOST = 536, 4, 24, 280, 64


@dataclass(frozen=True)
class Channel:
    client: int
    handle: int
    launches: int


def clients_of(pid: int) -> set[int]:
    lines = re.findall(r"client (\w+) pid (\d+)", (DEBUGFS / "clients").read_text())
    return {int(client, 16) for client, owner in lines if int(owner) == pid}


def channels_of(pid: int) -> list[Channel]:
    clients = clients_of(pid)
    found = re.findall(
        r"channel \d+ client (\w+) handle (\w+) .*? launches (\d+)",
        (DEBUGFS / "card0/channels").read_text(),
    )
    channels = [Channel(int(c, 16), int(h, 16), int(n)) for c, h, n in found]
    return [channel for channel in channels if channel.client in clients]


def disable(card: Card, channels: list[Channel], *, yes: bool) -> None:
    """In one call; when it returns they don't run."""
    block = Block(SIZE)
    block.put(0, bytes([yes]))
    block.set_u32(COUNT, len(channels))
    for i, channel in enumerate(channels):
        block.set_u32(CLIENTS + 4 * i, channel.client)
        block.set_u32(CHANNELS + 4 * i, channel.handle)
    card.client.control(card.subdevice, N.NV2080_CTRL_FIFO_DISABLE_CHANNELS, block)


def main() -> None:
    word, pid = sys.argv[1], int(sys.argv[2])
    channels = channels_of(pid)
    if word != "launches":
        with Client(Nodes.real()) as client, Card(client) as card:
            for first in range(0, len(channels), MOST):
                disable(card, channels[first : first + MOST], yes=word == "disable")
        channels = channels_of(pid)
    print(f"{word} {sum(channel.launches for channel in channels)}")


if __name__ == "__main__":
    main()
