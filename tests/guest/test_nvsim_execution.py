# SPDX-License-Identifier: GPL-2.0-only
"""The simulated card at work: launches that take time, load, pausing, two cards, sudden ends."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.guest.sections import Section, boot

LAUNCH_MS: Final = 10

pytestmark = pytest.mark.guest

SCRIPT: Final = """
channels() { python3 -m tests.guest.channels "$@"; }
busy() {
    cudaprobe ptx 3000 >/tmp/busy & pid=$!
    until_word ptx-begin /tmp/busy; sleep 3; echo "pid $pid"
}
paused() { channels disable $pid; sleep 3; channels launches $pid; }
resumed() { channels enable $pid; sleep 3; channels launches $pid; }
finished() { wait $pid; status=$?; cat /tmp/busy; return $status; }
second() {
    CUDAPROBE_DEVICE=1 cudaprobe hold 1G 600 >/tmp/second & pid=$!
    until_word ^holding /tmp/second; nvidia-smi
    head -n 9 /sys/kernel/debug/nvsim/card1/memory
}
sudden() { # in the middle of launches, then of copies
    cudaprobe ptx 3000 >/tmp/a & until_word ptx-begin /tmp/a; kill -9 $!
    cudaprobe copy >/tmp/b & until_word bytes=4096 /tmp/b; kill -9 $!
    kill -9 $pid; wait; until_idle; truth; cat /sys/kernel/debug/nvsim/card1/memory
}
section list nvidia-smi -L
section timed cudaprobe ptx 100
section blocking env CUDAPROBE_BLOCKING=1 cudaprobe ptx 100
section busy busy
section load nvidia-smi
section processes nvidia-smi pmon -c 1
section paused paused
section resumed resumed
section finished finished
section second second
section sudden sudden
"""


@pytest.fixture(scope="module")
def sections() -> dict[str, Section]:
    return boot(SCRIPT, "--cards", "2", "--option", f"nvsim.launch_ns={LAUNCH_MS}000000")


def test_every_card_has_a_name_of_its_own(sections: dict[str, Section]) -> None:
    found = re.findall(r"^GPU (\d): .* \(UUID: (\S+)\)$", sections["list"].text, re.M)
    assert [number for number, _ in found] == ["0", "1"]
    assert len({uuid for _, uuid in found}) == 2


@pytest.mark.parametrize("name", ["timed", "blocking"])
def test_launches_take_their_time(sections: dict[str, Section], name: str) -> None:
    assert sections[name].status == 0, sections[name].text
    assert float(sections[name].values("ptx")["elapsed_ms"]) >= 100 * LAUNCH_MS


def test_work_shows_as_load(sections: dict[str, Section]) -> None:
    pid = sections["busy"].figures()["pid"]
    (percent,) = re.findall(r"24576MiB \|\s+(\d+)%", sections["load"].text)[:1]
    assert int(percent) > 0
    assert re.search(rf"^\s+0\s+{pid}\s+C\s+[1-9]", sections["processes"].text, re.M)


def test_disabled_channels_do_not_run(sections: dict[str, Section]) -> None:
    paused, resumed = sections["paused"].figures(), sections["resumed"].figures()
    assert paused["disable"] == paused["launches"] > 0
    assert resumed["launches"] > paused["launches"]
    assert sections["finished"].status == 0, sections["finished"].text


def test_memory_is_taken_from_the_card_that_was_asked(sections: dict[str, Section]) -> None:
    second = sections["second"]
    used = re.findall(r"(\d+)MiB / 24576MiB", second.text)
    assert used[0] == "0"
    assert int(used[1]) >= 1024
    assert second.figures()["objects"] >= 1 << 30


def test_a_sudden_end_leaves_nothing(sections: dict[str, Section]) -> None:
    assert set(sections["sudden"].alive()) == {"total", "reserved", "heap", "free"}
