# SPDX-License-Identifier: GPL-2.0-only
"""Constants and attribute layouts of the generic netlink family gpushare.

Made by kmod/uapi/generate.py from gpushare.yaml: change that, not this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final


@dataclass(frozen=True)
class Attribute:
    """One attribute of a set; kind is its type in the specification."""

    name: str
    number: int
    kind: str
    nested: str | None = None
    multi: bool = False


FAMILY_NAME: Final = "gpushare"
FAMILY_VERSION: Final = 1
MCGRP_EVENTS: Final = "events"

ABI_VERSION: Final = 1
NAME_MAX: Final = 63
UUID_LEN: Final = 36
CARD_UUID_MAX: Final = 40
SHARES_MAX: Final = 32
TENANTS_MAX: Final = 1024
PERMILLE_MAX: Final = 1000
WEIGHT_MAX: Final = 10000
WEIGHT_DEFAULT: Final = 100
PRIORITY_MAX: Final = 7
MODE_MASK: Final = 0o666
MODE_DEFAULT: Final = 0o660


class Command(IntEnum):
    INFO_GET = 1
    CARD_GET = 2
    TENANT_NEW = 3
    TENANT_SET = 4
    TENANT_DEL = 5
    TENANT_GET = 6
    SHARE_SET = 7
    CLIENT_GET = 8
    STATS_GET = 9
    EVENT = 10


class Policy(IntEnum):
    FIXED = 0
    BURST = 1
    BEST_EFFORT = 2


class NodeKind(IntEnum):
    CTL = 0
    GPU = 1
    UVM = 2


class EventType(IntEnum):
    TENANT_NEW = 0
    TENANT_DEL = 1
    TENANT_CHANGED = 2
    QUOTA_REFUSED = 3
    OPEN_DENIED = 4
    CALL_DENIED = 5
    OVER_QUOTA = 6
    DRIVER_GONE = 7


COMMAND_SETS: Final[Mapping[Command, str]] = {
    Command.INFO_GET: "info",
    Command.CARD_GET: "card",
    Command.TENANT_NEW: "tenant",
    Command.TENANT_SET: "tenant",
    Command.TENANT_DEL: "tenant",
    Command.TENANT_GET: "tenant",
    Command.SHARE_SET: "tenant",
    Command.CLIENT_GET: "client",
    Command.STATS_GET: "stats",
    Command.EVENT: "event",
}

ATTRIBUTE_SETS: Final[Mapping[str, tuple[Attribute, ...]]] = {
    "info": (
        Attribute("abi-version", 1, "u32"),
        Attribute("module-version", 2, "string"),
        Attribute("driver-version", 3, "string"),
        Attribute("driver-supported", 4, "u8"),
        Attribute("supported-versions", 5, "string", multi=True),
        Attribute("cgroup-gate", 6, "u8"),
        Attribute("driver-flavour", 7, "string"),
    ),
    "card": (
        Attribute("uuid", 1, "string"),
        Attribute("minor", 2, "u32"),
        Attribute("gpu-id", 3, "u32"),
        Attribute("pci", 4, "string"),
        Attribute("name", 5, "string"),
        Attribute("total-bytes", 6, "u64"),
        Attribute("reserved-bytes", 7, "u64"),
        Attribute("grantable-bytes", 8, "u64"),
        Attribute("granted-bytes", 9, "u64"),
        Attribute("free-bytes", 10, "u64"),
        Attribute("charged-bytes", 11, "u64"),
        Attribute("outside-bytes", 12, "u64"),
        Attribute("residue-bytes", 13, "s64"),
        Attribute("shares", 14, "u32"),
        Attribute("state", 15, "string"),
        Attribute("reason", 16, "string"),
        Attribute("pad", 17, "pad"),
    ),
    "share": (
        Attribute("card-uuid", 1, "string"),
        Attribute("quota-bytes", 2, "u64"),
        Attribute("compute-min-permille", 3, "u32"),
        Attribute("compute-max-permille", 4, "u32"),
        Attribute("weight", 5, "u32"),
        Attribute("priority", 6, "u32"),
        Attribute("policy", 7, "u32"),
        Attribute("card-minor", 8, "u32"),
        Attribute("charged-bytes", 9, "u64"),
        Attribute("object-bytes", 10, "u64"),
        Attribute("managed-bytes", 11, "u64"),
        Attribute("overhead-bytes", 12, "u64"),
        Attribute("lingering-bytes", 13, "u64"),
        Attribute("free-bytes", 14, "u64"),
        Attribute("peak-bytes", 15, "u64"),
        Attribute("refusals", 16, "u64"),
        Attribute("over-quota", 17, "u8"),
        Attribute("pad", 18, "pad"),
    ),
    "node": (
        Attribute("path", 1, "string"),
        Attribute("major", 2, "u32"),
        Attribute("minor", 3, "u32"),
        Attribute("kind", 4, "u32"),
    ),
    "tenant": (
        Attribute("name", 1, "string"),
        Attribute("uuid", 2, "string"),
        Attribute("owner-uid", 3, "u32"),
        Attribute("owner-gid", 4, "u32"),
        Attribute("mode", 5, "u32"),
        Attribute("cgroup-id", 6, "u64"),
        Attribute("unbind", 7, "flag"),
        Attribute("force", 8, "flag"),
        Attribute("state", 9, "string"),
        Attribute("open-files", 10, "u32"),
        Attribute("share", 11, "nest", nested="share", multi=True),
        Attribute("node", 12, "nest", nested="node", multi=True),
        Attribute("pad", 13, "pad"),
    ),
    "client": (
        Attribute("tenant", 1, "string"),
        Attribute("pid", 2, "u32"),
        Attribute("tgid", 3, "u32"),
        Attribute("comm", 4, "string"),
        Attribute("kind", 5, "u32"),
        Attribute("files", 6, "u32"),
        Attribute("clients", 7, "u32"),
        Attribute("objects", 8, "u32"),
        Attribute("bytes", 9, "u64"),
        Attribute("card-uuid", 10, "string"),
        Attribute("pad", 11, "pad"),
    ),
    "stats": (
        Attribute("name", 1, "string"),
        Attribute("ioctls", 2, "u64"),
        Attribute("forwarded", 3, "u64"),
        Attribute("refused-quota", 4, "u64"),
        Attribute("refused-denied", 5, "u64"),
        Attribute("refused-unknown", 6, "u64"),
        Attribute("open-denied", 7, "u64"),
        Attribute("pad", 8, "pad"),
    ),
    "event": (
        Attribute("type", 1, "u32"),
        Attribute("tenant", 2, "string"),
        Attribute("card-uuid", 3, "string"),
        Attribute("pid", 4, "u32"),
        Attribute("bytes", 5, "u64"),
        Attribute("detail", 6, "string"),
        Attribute("time-ns", 7, "u64"),
        Attribute("pad", 8, "pad"),
    ),
}
