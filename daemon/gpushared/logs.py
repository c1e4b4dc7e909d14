# SPDX-License-Identifier: GPL-2.0-only
"""Log lines: what happened, then its fields as key=value. Standard error, no clock:
the journal has one."""

from __future__ import annotations

import logging
from typing import Final

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
# the journal reads a priority in angle brackets at the start of a line
_PRIORITIES: Final = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))


class FieldFormatter(logging.Formatter):
    """The event, its fields, and a traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        fields = (
            f"{key}={value!r}" if " " in str(value) else f"{key}={value}"
            for key, value in vars(record).items()
            if key not in _STANDARD
        )
        priority = next((number for level, number in _PRIORITIES if record.levelno >= level), 7)
        line = " ".join((f"<{priority}>{record.getMessage()}", *fields))
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def set_up(level: str) -> None:
    """Send the log of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(FieldFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # the library is loud at debug and says nothing of tenants
    logging.getLogger("pyroute2").setLevel(logging.WARNING)
