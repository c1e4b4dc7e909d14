# SPDX-License-Identifier: GPL-2.0-only
"""Failures that are expected. Each speaks to an operator: what happened, what to do next.

An error has a code that travels in problem+json, an HTTP status, and an exit
status of the command. All three are a promise to programs; see cli/README.md.
"""

from __future__ import annotations

from typing import ClassVar


class GpuShareError(Exception):
    """Base of the expected failures, and what a failure without a class of its own becomes."""

    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "gpushare failed"
    http_status: ClassVar[int] = 500
    exit_status: ClassVar[int] = 1

    def __init__(self, what: str, *, hint: str = "", field: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.field = field

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}" if self.hint else self.what


class InvalidInput(GpuShareError):
    """Something that was asked for cannot be meant; nothing was changed."""

    code = "invalid-input"
    title = "The request is not valid"
    http_status = 400
    exit_status = 2


class NotFound(GpuShareError):
    """No tenant, card or path of that name."""

    code = "not-found"
    title = "There is no such thing"
    http_status = 404
    exit_status = 3


class Conflict(GpuShareError):
    """The name is taken, or the tenant is in use."""

    code = "conflict"
    title = "The present state does not allow it"
    http_status = 409
    exit_status = 4


class NoRoom(GpuShareError):
    """The quota does not fit on the card beside those already granted."""

    code = "no-room"
    title = "The card has not enough memory to grant"
    http_status = 409
    exit_status = 5


class NotPermitted(GpuShareError):
    """The caller may not do this."""

    code = "not-permitted"
    title = "Not permitted"
    http_status = 403
    exit_status = 6


class DaemonUnreachable(GpuShareError):
    """The socket of gpushared is not there or does not answer."""

    code = "daemon-unreachable"
    title = "gpushared does not answer"
    http_status = 503
    exit_status = 7


class DriverUnavailable(GpuShareError):
    """The module is not loaded, or NVIDIA's driver is missing or not supported."""

    code = "driver-unavailable"
    title = "No usable driver"
    http_status = 503
    exit_status = 8


class Unsupported(GpuShareError):
    """The request is well formed, and this version or machine cannot do it."""

    code = "unsupported"
    title = "Not supported here"
    http_status = 501
    exit_status = 9


KINDS: tuple[type[GpuShareError], ...] = (
    GpuShareError,
    InvalidInput,
    NotFound,
    Conflict,
    NoRoom,
    NotPermitted,
    DaemonUnreachable,
    DriverUnavailable,
    Unsupported,
)


def kind_of(code: str) -> type[GpuShareError]:
    """The class whose code that is; the base class for a code from a newer daemon."""
    for kind in KINDS:
        if kind.code == code:
            return kind
    return GpuShareError
