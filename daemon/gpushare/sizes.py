# SPDX-License-Identifier: GPL-2.0-only
"""Memory sizes: one way to write them, the same on every surface.

A size is a number and one of Ki, KiB, Mi, MiB, Gi, GiB, without a space. All
are binary. A fraction is allowed when the result is a whole number of bytes.
Everything else is refused, zero and decimal units included.
"""

from __future__ import annotations

import re
from typing import Final

from gpushare.errors import InvalidInput

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30
# what a signed 64-bit number holds: the widest that JSON readers and the kernel agree on
SIZE_MAX_BYTES: Final = (1 << 63) - 1
EXAMPLE: Final = "write for example 2GiB, 1.5GiB or 512MiB"

_UNITS: Final = {"Ki": KIB, "KiB": KIB, "Mi": MIB, "MiB": MIB, "Gi": GIB, "GiB": GIB}
_SIZE: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?([KMG]iB?)")
_LONGEST: Final = 40
_DECIMAL: Final = re.compile(r"[0-9.]+ *(G|GB|M|MB|K|KB|T|TB|g|gb|m|mb|k|kb|Gb|Mb|Kb)")


def parse_size(text: object, *, field: str = "memory") -> int:
    """Bytes of a size as a person writes it; InvalidInput names field and gives an example."""
    if not isinstance(text, str):
        raise _refused(field, text, "is not a size with a unit")
    match = _SIZE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise _refused(field, text, _why(text))
    whole, fraction, unit = match[1], match[2] or "", match[3]
    scaled = int(whole + fraction) * _UNITS[unit]
    divisor: int = 10 ** len(fraction)
    size_bytes, rest = divmod(scaled, divisor)
    if rest:
        raise _refused(field, text, "is not a whole number of bytes")
    if size_bytes == 0:
        raise _refused(field, text, "is zero, and zero is no size")
    if size_bytes > SIZE_MAX_BYTES:
        raise _refused(field, text, "is larger than any card")
    return size_bytes


def format_size(size_bytes: int) -> str:
    """The shortest exact form that parse_size reads back; plain bytes when there is none."""
    for unit, scale in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        hundredths, rest = divmod(size_bytes * 100, scale)
        if rest == 0 and (abs(size_bytes) >= scale or unit == "KiB"):
            return f"{_trimmed(hundredths)}{unit}"
    return f"{size_bytes} bytes"


def rounded_size(size_bytes: int) -> str:
    """For tables: exact where that is short, else MiB with one digit."""
    exact = format_size(size_bytes)
    if exact.endswith(("GiB", "MiB")) or size_bytes == 0:
        return exact
    return f"{size_bytes / MIB:.1f}MiB"


def _trimmed(hundredths: int) -> str:
    sign = "-" if hundredths < 0 else ""
    whole, fraction = divmod(abs(hundredths), 100)
    return f"{sign}{whole}.{fraction:02}".rstrip("0").rstrip(".")


def _why(text: str) -> str:
    if not text:
        return "is empty"
    if text.startswith("-"):
        return "is negative"
    if re.fullmatch(r"[0-9.]+", text):
        return "has no unit"
    if _DECIMAL.fullmatch(text):
        return "has a decimal unit, which people read in two ways"
    if re.search(r"\s", text):
        return "has a space in it"
    return "is not a size"


def _refused(field: str, text: object, why: str) -> InvalidInput:
    shown = repr(text)
    if len(shown) > 2 * _LONGEST:
        shown = f"{shown[: 2 * _LONGEST]}…"
    return InvalidInput(f"{field}: {shown} {why}", hint=EXAMPLE, field=field)
