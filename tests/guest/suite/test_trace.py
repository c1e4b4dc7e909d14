# SPDX-License-Identifier: GPL-2.0-only
"""The module's tracepoints tell of calls, charges, refusals, files and objects as they happen."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.guest.rm.abi import MIB, Block, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.tenant import MakeTenant

TRACEFS: Final = Path("/sys/kernel/tracing")
EVENTS: Final = {
    "gpushare_call",
    "gpushare_uvm_call",
    "gpushare_forward",
    "gpushare_charge",
    "gpushare_refuse",
    "gpushare_open",
    "gpushare_release",
    "gpushare_gone",
    "gpushare_mmap",
    "gpushare_object_new",
    "gpushare_object_gone",
}


class Trace:
    """What was recorded since the test began, as (event, fields)."""

    def lines(self, event: str, **fields: str) -> list[dict[str, str]]:
        """Lines of one event whose fields are as given."""
        found = []
        for line in (TRACEFS / "trace").read_text().splitlines():
            if match := re.search(rf" {event}: (.*)", line):
                values = dict(re.findall(r"(\w+)=(\S*)", match[1]))
                if fields.items() <= values.items():
                    found.append(values)
        return found


@pytest.fixture
def trace() -> Iterator[Trace]:
    if not (TRACEFS / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=True)
    (TRACEFS / "trace").write_text("")
    switch = TRACEFS / "events/gpushare/enable"
    switch.write_text("1")
    yield Trace()
    switch.write_text("0")


def test_events_are_named_and_off_at_first() -> None:
    if not (TRACEFS / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=True)
    folder = TRACEFS / "events/gpushare"
    assert {path.name for path in folder.iterdir() if path.is_dir()} == EVENTS
    assert (folder / "enable").read_text().strip() == "0"


def test_a_call_and_its_forward_are_told(make: MakeTenant, trace: Trace) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        handle = gpu.memory(8 * MIB)
        (call,) = trace.lines("gpushare_call", nr="0x2b", what="0x40")
        assert call["tenant"] == "c1"
        assert call["node"] == "ctl"
        assert int(call["client"], 16) == client.handle
        assert (call["rc"], call["status"]) == ("0", "0x0")
        assert int(call["ns"]) > 0
        (made,) = trace.lines("gpushare_object_new", **{"class": "0x40"})
        assert int(made["handle"], 16) == handle
    forwards = trace.lines("gpushare_forward", tenant="c1")
    assert len(forwards) >= 4
    assert all(int(one["driver_ns"]) > 0 for one in forwards)


def test_charges_add_up_in_the_trace(make: MakeTenant, trace: Trace) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        gpu.memory(8 * MIB)
        (settled,) = trace.lines("gpushare_charge", op="settle", kind="object")
        assert int(settled["bytes"]) == 8 * MIB
        assert int(settled["charged"]) == owner.share().charged
        assert int(settled["quota"]) == 64 * MIB
        assert settled["reserved"] == "0"
    owner.settled()
    (released,) = trace.lines("gpushare_charge", op="release", kind="object")
    assert (released["bytes"], released["ok"]) == (str(8 * MIB), "1")


def test_refusals_say_why(make: MakeTenant, trace: Trace) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        assert status_of(gpu.memory, 128 * MIB) == N.NV_ERR_NO_MEMORY
        assert trace.lines("gpushare_refuse", tenant="c1", why="quota", bytes=str(128 * MIB))
        assert status_of(client.alloc, gpu.device, N.NV_MEMORY_EXPORT, Block(512)) != 0
        (denied,) = trace.lines("gpushare_refuse", tenant="c1", why="denied")
        assert (denied["nr"], int(denied["what"], 16)) == ("0x2b", N.NV_MEMORY_EXPORT)


def test_files_come_and_go(make: MakeTenant, trace: Trace) -> None:
    owner = make("c1", 64 * MIB)
    with Client(owner.nodes):
        assert trace.lines("gpushare_open", tenant="c1", node="ctl", rc="0")
    owner.settled()
    opened = len(trace.lines("gpushare_open", tenant="c1"))
    assert len(trace.lines("gpushare_release", tenant="c1")) == opened
    assert len(trace.lines("gpushare_gone", tenant="c1")) == opened
    assert len(trace.lines("gpushare_object_gone", **{"class": "0x41"})) == 1
