# SPDX-License-Identifier: GPL-2.0-only
"""What the module reports by itself goes to the log, for as long as the daemon runs."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from gpushared.kernel_types import EventsLost, Kernel, KernelEvent, KernelMissing, KernelRefusal
from gpushared.netlink_abi import EventType

log = logging.getLogger(__name__)

RETRY_S: Final = 2.0
_LEVELS: Final = {
    EventType.DRIVER_GONE: logging.ERROR,
    EventType.OVER_QUOTA: logging.WARNING,
    EventType.OPEN_DENIED: logging.WARNING,
    EventType.CALL_DENIED: logging.WARNING,
}


async def follow(kernel: Kernel) -> None:
    """Log events until cancelled; a module that is not loaded is waited for."""
    while True:
        try:
            async for event in kernel.events():
                _report(event)
        except EventsLost:
            log.warning("events were lost: they came faster than they could be read")
            continue
        except (KernelMissing, KernelRefusal) as error:
            log.debug("no events for now", extra={"reason": str(error)})
        except Exception:
            # a bug here must not end the reports of what comes later
            log.exception("an event could not be reported")
        await asyncio.sleep(RETRY_S)


def _report(event: KernelEvent) -> None:
    fields = event.model_dump(exclude_none=True, exclude={"type"})
    log.log(
        _LEVELS.get(event.type, logging.INFO),
        event.type.name.lower().replace("_", "-"),
        extra=fields,
    )
