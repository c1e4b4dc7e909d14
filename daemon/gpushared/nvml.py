# SPDX-License-Identifier: GPL-2.0-only
"""NVML, for what the module does not know: its order of the cards and how busy they are.

The only home of pynvml. NVML is opened and closed around each look, so that the
daemon never keeps the driver in use; a machine without NVML is a normal state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pynvml

from gpushared.nvml_types import NvmlAnswer, NvmlCard

log = logging.getLogger(__name__)


class Nvml:
    """The genuine library."""

    async def look(self) -> NvmlAnswer:
        # NVML blocks, and initialises a sleeping card at first use
        return await asyncio.to_thread(_look)


def _look() -> NvmlAnswer:
    try:
        with _session():
            count = int(pynvml.nvmlDeviceGetCount())
            return NvmlAnswer(cards=tuple(_card(index) for index in range(count)))
    except pynvml.NVMLError as error:
        log.debug("NVML is not usable", extra={"reason": str(error)})
        return NvmlAnswer(reason=str(error))


@contextmanager
def _session() -> Iterator[None]:
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _card(index: int) -> NvmlCard:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    try:
        utilisation = int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    except pynvml.NVMLError:
        utilisation = None
    return NvmlCard(
        index=index,
        uuid=_text(pynvml.nvmlDeviceGetUUID(handle)),
        name=_text(pynvml.nvmlDeviceGetName(handle)),
        utilisation_percent=utilisation,
    )


def _text(value: str | bytes) -> str:
    """Bytes from old versions of pynvml, str from new ones."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
