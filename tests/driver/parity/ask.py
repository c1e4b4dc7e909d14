# SPDX-License-Identifier: GPL-2.0-only
"""In a guest: asks the driver's nodes everything, or those of a tenant made for it, or both.

    python3 -m tests.driver.parity.ask driver tenant

One line of JSON a side: {"side": …, "version": …, "answers": {…}}. What gpushare.ko wrote to the
kernel log is on the console, which is judged by whoever runs the guest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.driver.parity.clients import Clients
from tests.driver.parity.controls import Controls
from tests.driver.parity.events import Events
from tests.driver.parity.frontend import Frontend
from tests.driver.parity.gpu import Gpu
from tests.driver.parity.managed import Managed
from tests.guest.rm.abi import running_version
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import Nodes
from tests.guest.rm.tenant import cards, tenant

PARTS = (Frontend, Clients, Controls, Events, Gpu, Managed)


def answers(folder: Path, minor: int = 0) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for part in PARTS:
        more = part(Nodes(folder), minor).run()
        assert not set(more) & set(found), set(more) & set(found)
        found |= more
    return {name: plain(answer) for name, answer in found.items()}


def plain(answer: object) -> object:
    """As JSON has it: bytes as text if they are one, tuples as lists."""
    if isinstance(answer, bytes):
        return answer.decode("latin-1")
    if isinstance(answer, (list, tuple)):
        return [plain(one) for one in answer]
    if isinstance(answer, dict):
        return {str(key): plain(value) for key, value in answer.items()}
    return answer


def of_tenant() -> Mapping[str, object]:
    """A tenant with half of the first card, gone afterwards."""
    with Genl() as genl:
        card = cards(genl)[0]
        with tenant(genl, "asked", {card.uuid: card.grantable // 2}) as owner:
            return answers(owner.nodes.folder, card.minor)


SIDES: Final = {"driver": lambda: answers(Path("/dev")), "tenant": of_tenant}


def main(sides: list[str]) -> int:
    for side in sides or ["driver"]:
        told = {"side": side, "version": running_version(), "answers": SIDES[side]()}
        print(json.dumps(told), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
