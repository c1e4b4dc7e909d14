# SPDX-License-Identifier: GPL-2.0-only
"""What the simulated driver knows it gave to whom; gpushare's books have no part in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.guest.rm import truth


@dataclass
class Truth:
    """Bytes on card 0, by process.

    The driver knows whose a memory object is, but not whose its context buffers are: when their
    sum changes, it is the doing of the one program that was acting.
    """

    _acting: int | None = None
    _buffers: dict[int | None, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.acts(None)

    def acts(self, pid: int | None) -> None:
        """From here on this program acts, and no other."""
        self._attribute()
        self._acting = pid

    def used(self, pid: int) -> int:
        self._attribute()
        handles = {client.handle for client in truth.clients() if client.pid == pid}
        objects = sum(one.bytes for one in truth.objects() if one.client in handles)
        return objects + self._buffers.get(pid, 0)

    def card(self) -> truth.Memory:
        return truth.memory()

    def _attribute(self) -> None:
        change = truth.memory().overhead - sum(self._buffers.values())
        self._buffers[self._acting] = self._buffers.get(self._acting, 0) + change
