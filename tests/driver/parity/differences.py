# SPDX-License-Identifier: GPL-2.0-only
"""Where answers are meant to differ, and why. Keys are steps of the script.

Anything else that differs is a fault, and so is an entry that doesn't differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Only:
    """A difference of some drivers."""

    reason: str
    branches: frozenset[str]


Declared = Mapping[str, str | Only]


def of(declared: Declared, version: str) -> Mapping[str, str]:
    """Reasons by step, for one driver."""
    branch = version.split(".")[0]
    found = {}
    for name, one in declared.items():
        if isinstance(one, str):
            found[name] = one
        elif branch in one.branches:
            found[name] = one.reason
    return found


# ---- nvsim against what the driver answered, which had no card ----

NO_CARD: Final = "the driver had no card that could be started"
OWN_NAME: Final = "nvsim says its own name and build"
NO_EFFECT: Final = "an object without effect on nvsim: what it names is not looked for"

NVSIM: Final[Declared] = {
    "card info": "another chip, and windows at other addresses",
    "status code: right": NO_CARD,
    "attached ids": NO_CARD,
    "attached ids after attach": NO_CARD,
    "attached ids after detach": NO_CARD,
    "device ids": NO_CARD,
    "device ids after attach": NO_CARD,
    "device ids after detach": NO_CARD,
    "detach: right": NO_CARD,
    "id info: right card": NO_CARD,
    "id info v2: right card": NO_CARD,
    "uuid: right card": NO_CARD,
    "init status: right card": NO_CARD,
    "gpu: interrupts": NO_CARD,
    "class 0x80 under the client": NO_CARD,
    "class 0x60 under the client": NO_EFFECT,
    "class 0x2 under the client": NO_EFFECT,
    "class 0x503b under the client": NO_EFFECT,
    "class 0xe0 under the client": "too new for 535, a right in 550; nvsim has no fabric",
    "features": Only(
        "sharing memory by UUID, for which nvsim has no class (0xe0)", frozenset({"550"})
    ),
    "build version, 64 bytes": OWN_NAME,
    "build version, 256 bytes": OWN_NAME,
    "build version to nowhere": OWN_NAME,
    "uvm: processor table": "nvsim has no calls of the tools' kind",
}

# ---- the driver with tests/driver/nocard's objects against the driver as it is ----

HELPER: Final[Declared] = {
    "card info": "gpushare has opened the card: it has an interrupt",
    "class 0x80 under the client": "devices are the helper's",
    "id info v2: right card": "so is the card's number among devices",
}

# ---- a tenant against the nodes that it does not see ----

DENIED: Final = "refused before the driver is asked where the class would stand"
SOURCE_FIRST: Final = "what a duplicate is made of must be an object of the tenant's"
MACHINE_WIDE: Final = "tells the driver about the machine's lid, dock or power"
NOT_NICE: Final = "a tenant that is root has no CAP_SYS_NICE towards the driver"
NOT_OURS: Final = "a client that isn't the tenant's is refused before anything else is looked at"

_TENANT: Final[Declared] = {
    "transfer of the greatest length": "one byte more than an ioctl's number can say",
    "class 0x71 under the client": DENIED,
    "class 0xf8 under the client": DENIED,
    "class 0x503c under the client": DENIED,
    "class 0xc637 under the client": DENIED,
    "a stranger's client: dup": SOURCE_FIRST,
    "nobody's client: dup": SOURCE_FIRST,
    "dup of the client": SOURCE_FIRST,
    "dup of the client to another": SOURCE_FIRST,
    "attach: all": "all are the tenant's own",
    "detach: all": "all are the tenant's own",
    "notify of lid": MACHINE_WIDE,
    "notify of power": MACHINE_WIDE,
    "notify of unknown": MACHINE_WIDE,
    "rights on object": NOT_NICE,
    "rights on client": NOT_NICE,
    "share all rights": NOT_NICE,
    "event of nobody's source": NOT_OURS,
    "uvm: map nobody's memory": NOT_OURS,
    "uvm: register an address space": NOT_OURS,
}

TENANT_ON_NVSIM: Final[Declared] = _TENANT

TENANT: Final[Declared] = {
    **_TENANT,
    "class 0xe0 under the client": DENIED,
    "export a closed number, type 1": "a number that is none of the tenant's files becomes -1",
    "uvm: processor table": "calls of the tools' kind are not for tenants",
}
