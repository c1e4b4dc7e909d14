# SPDX-License-Identifier: GPL-2.0-only
"""Events of the module in the log, and how log lines look."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from gpushared.events import follow
from gpushared.kernel_types import NewTenant, ShareRequest
from gpushared.logs import FieldFormatter
from tests.fakes.kernel import GIB, FakeKernel, card

NEW = NewTenant(
    name="a",
    uuid="u",
    owner_uid=0,
    owner_gid=0,
    mode=0o660,
    share=(ShareRequest(card_uuid=card().uuid, quota_bytes=GIB),),
)


async def test_refusals_of_quota_are_logged_and_lost_events_are_said(
    kernel: FakeKernel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    task = asyncio.create_task(follow(kernel))
    async with asyncio.timeout(10):
        await kernel.listened.wait()
        await kernel.tenant_new(NEW)
        kernel.charge("a", card().uuid, 2 * GIB)
        kernel.listened.clear()
        kernel.lose_events()
        # it listens again at once
        await kernel.listened.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:2] == ["tenant-new", "quota-refused"]
    assert "events were lost" in messages[2]
    assert vars(caplog.records[1])["bytes"] == 2 * GIB


async def test_a_missing_module_is_waited_for(kernel: FakeKernel) -> None:
    kernel.loaded = False
    task = asyncio.create_task(follow(kernel))
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_a_line_has_priority_event_and_fields() -> None:
    record = logging.LogRecord("gpushared", logging.WARNING, "", 1, "it happened", None, None)
    record.tenant = "a"
    record.reason = "no room"
    assert FieldFormatter().format(record) == "<4>it happened tenant=a reason='no room'"
