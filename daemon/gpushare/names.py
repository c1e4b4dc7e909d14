# SPDX-License-Identifier: GPL-2.0-only
"""Names of tenants and owners of nodes, as a person writes them."""

from __future__ import annotations

import re
from typing import Final

from gpushare.errors import InvalidInput

NAME_MAX_BYTES: Final = 63
ID_MAX: Final = (1 << 32) - 2  # the last one means "no such user" to the kernel
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_OWNER: Final = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")


def parse_name(text: object, *, field: str = "name") -> str:
    """A tenant's name, unchanged; InvalidInput says what is wrong with it."""
    if not isinstance(text, str) or not text:
        raise _refused(field, f"{text!r} is not a name")
    length = len(text.encode("utf-8", errors="replace"))
    if length > NAME_MAX_BYTES:
        raise _refused(
            field, f"{text[:16]!r}… is {length} bytes long, at most {NAME_MAX_BYTES} are allowed"
        )
    if _NAME.fullmatch(text) is None:
        raise _refused(field, f"{text!r} is not a name")
    return text


def parse_owner(text: object, *, field: str = "owner") -> tuple[int, int]:
    """(uid, gid) from "UID:GID", both as numbers."""
    match = _OWNER.fullmatch(text) if isinstance(text, str) else None
    if match is None or max(int(match[1]), int(match[2])) > ID_MAX:
        raise InvalidInput(
            f"{field}: {text!r} is not UID:GID",
            hint="write both as numbers, for example 1000:1000",
            field=field,
        )
    return int(match[1]), int(match[2])


def _refused(field: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{field}: {why}",
        hint="use a-z, 0-9, '.', '_' and '-', first a letter or digit, for example team-a",
        field=field,
    )
