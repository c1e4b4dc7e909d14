# SPDX-License-Identifier: GPL-2.0-only
"""Calls with names, one after the other, and what a client could see of each answer.

An answer is a status, an errno or what was written back. Where the driver chooses a number
(handles, addresses), the answer is only that there is one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import ParamSpec

from tests.guest.rm.abi import Block
from tests.guest.rm.client import Refused
from tests.guest.rm.node import Node

P = ParamSpec("P")


def sent(node: Node, nr: int, block: Block, *, size: int | None = None) -> bytes:
    """What stands in the structure after the call."""
    node.ioctl(nr, block, size=size)
    return block.raw


class Steps:
    """Answers by step, in order."""

    def __init__(self) -> None:
        self.answers: dict[str, object] = {}

    def step(self, name: str, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        assert name not in self.answers, name
        try:
            self.answers[name] = call(*args, **kwargs)
        except Refused as refused:
            self.answers[name] = f"status {refused.status:#x}"
        except OSError as error:
            self.answers[name] = errno.errorcode.get(error.errno or 0, "no errno")

    def number(self, name: str, call: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> int:
        """A step that yields a number of the driver's choice; 0 if it failed."""
        found: list[int] = []

        def made() -> str:
            found.append(call(*args, **kwargs))
            return "a number" if found[0] else "zero"

        self.step(name, made)
        return found[0] if found else 0
