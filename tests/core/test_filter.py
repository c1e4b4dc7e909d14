# SPDX-License-Identifier: GPL-2.0-only
"""What a tenant may ask: named refusals, and one rule for what nobody knows."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core import headers
from tests.core.abi import Abi
from tests.core.native import Core, Struct

NOSUP, PERM = 0x56, 0x1B
constant = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
commands = st.one_of(st.integers(0, 0xFFFFFFFF), st.integers(0x20800000, 0x2080FFFF))

# escape numbers, classes, controls that genuine NVML, nvidia-smi and libcuda cannot do without
# (535.261.03 and 550.163.01, measured)
NEEDED_ESCAPES = [210, 200, 201, 0x2B, 0x2A, 0x29, 0x27, 0x4A, 0x4E, 206, 218, 214]
NEEDED_CLASSES = [
    *(0, 1, 0x41, 0x80, 0x2080, 0x40, 0x3E, 0x70, 0x50A0, 0x90F1, 0xA06C, 0x9067, 0xC56F, 0xC7C0),
    *(0xC7B5, 0x79, 5, 0xC561, 0xC461, 0x71, 0x73, 0xCB33, 0x900E, 0xC86F, 0xCBC0, 0x60),
]
NEEDED_CONTROLS = [
    *(0x101, 0x13E, 0x201, 0x202, 0x205, 0x214, 0x215, 0x21B, 0x279, 0x289, 0xA04, 0xD01, 0xD04),
    *(0x136, 0x800201, 0x800280, 0x800289, 0x80028E, 0x800292, 0x800294, 0x80170D, 0x809909),
    *(0x20800102, 0x20800110, 0x20800123, 0x20800145, 0x2080014A, 0x2080018D, 0x2080018E),
    *(0x20800406, 0x20801201, 0x20801218, 0x20801303, 0x20801701, 0x20801702, 0x20801801),
    *(0x20801802, 0x20801803, 0x20802096, 0x2080200A, 0x20808159, 0x20809001, 0x20809009),
    *(0x20809064, 0x2080A068, 0x2080A087, 0xA06C0101, 0xA06C0103, 0xC36F0101, 0xC36F0108),
    *(0xCB330101, 0x906F0102, 0x2080220C, 0x20802209, 0x20802210),
]
NEEDED_UVM = [
    *(0x30000001, 0x30000002, 0x4B, 0x27, 0x25, 0x26, 0x19, 0x1A, 0x17, 0x18, 0x49, 0x21, 0x1B),
    *(0x1C, 0x44, 0x48, 0x41, 0x22, 0x42),
]


def action(core: Core, verdict: dict[str, int]) -> str:
    names = {
        core.names[f"GSH_{name}"]: name for name in ("ALLOW", "DENY", "ABSORB", "VIEW", "LOCAL")
    }
    return names[verdict["action"]]


class Filter:
    """Verdicts in words."""

    def __init__(self, core: Core, version: Struct) -> None:
        self.core, self.version = core, version

    def raw(self, kind: str, *numbers: int) -> dict[str, int]:
        return self.core.verdict(kind, self.version, *numbers)

    def __call__(self, kind: str, *numbers: int) -> tuple[str, int]:
        verdict = self.raw(kind, *numbers)
        return action(self.core, verdict), verdict["status"]


@pytest.fixture
def judge(core: Core, version: Struct) -> Filter:
    return Filter(core, version)


# of 570, 580 and 595: figures of the whole card or of others, and switches of the whole card
NEW_AND_DENIED = {
    0x2080019F: False,  # GPU_GET_SKYLINE_INFO: what the board is
    0x0080200A: True,
    **dict.fromkeys((0x208001A9, 0x208001AA, 0x208001AC, 0x208001AD, 0x208001E8, 0x208001E9), True),
    **dict.fromkeys((0x2080111B, 0x2080111C, 0x20801123, 0x20801124, 0x2080123E), True),
    **dict.fromkeys((0x20801353, 0x20801360, 0x20801362, 0x20801832, 0x20801836), True),
    **dict.fromkeys((0x20801837, 0x20802069, 0x20803604, 0x20800ADA, 0x01000102), True),
    0x20801361: False,  # FB_GET_REMAPPED_BANKS, as FB_GET_REMAPPED_ROWS
}


def test_controls_that_newer_drivers_brought_are_judged(judge: Filter) -> None:
    for number, denied in NEW_AND_DENIED.items():
        assert (judge("control", number, 0)[0] == "DENY") == denied, hex(number)


def test_genuine_libraries_get_what_they_need(judge: Filter) -> None:
    forwarded = {"ALLOW", "VIEW", "LOCAL"}
    for number in NEEDED_ESCAPES:
        assert judge("escape", number)[0] in forwarded, hex(number)
    for number in NEEDED_CLASSES:
        assert judge("class", number)[0] in forwarded, hex(number)
    for number in NEEDED_CONTROLS:
        assert judge("control", number, 0)[0] in forwarded, hex(number)
    for number in NEEDED_UVM:
        assert judge("uvm", number)[0] in forwarded, hex(number)


@pytest.mark.parametrize(
    ("number", "status", "err"),
    [(0x39, PERM, 0), (0x4D, PERM, 0), (0x5F, 0, -22), (216, 0, -13), (217, NOSUP, 0)],
)
def test_calls_nobody_needs_are_refused(judge: Filter, number: int, status: int, err: int) -> None:
    verdict = judge.raw("escape", number)
    assert action(judge.core, verdict) == "DENY"
    assert (verdict["status"], verdict["err"]) == (status, err & 0xFFFFFFFF)


@pytest.mark.parametrize(
    "number",
    [
        *(0x3F, 0x42, 0xC2, 0x81, 0x82, 0x83, 0xE0, 0xF3, 0xF8, 0xF9, 0xFB, 0xFD, 0x503C),
        *(0x2082, 0xC637, 0xC638, 0xC639, 0xC640, 0xF, 0xF1, 0x5080, 0x90CC, 0xB2CC),
        0xDE,  # a page with the card's free memory
        *(0xC763, 0xC863),  # who touched which memory of the card
        *(0x8F, 0x100, 0x101),  # watchdog of the card; locks held as a test
    ],
)
def test_dangerous_classes_are_refused_with_a_status(judge: Filter, number: int) -> None:
    verdict, status = judge("class", number)
    assert verdict == "DENY"
    assert status in {NOSUP, PERM}


def test_undocumented_interface_is_an_empty_handle(judge: Filter) -> None:
    """libcuda 550 does not start without the object, and does without its commands."""
    assert judge("class", 0x2081)[0] == "ALLOW"
    for command in (0x20810101, 0x20810108, 0x20818001):
        assert judge("control", command, 0) == ("DENY", NOSUP)


def test_classes_of_the_driver_itself_are_refused(judge: Filter, abi: Abi) -> None:
    for name, entry in abi.json["classes"].items():
        if entry["privilege"] in {"root", "kernel"}:
            assert judge("class", entry["id"])[0] == "DENY", name


@pytest.mark.parametrize(
    ("number", "status"),
    [
        *((number, NOSUP) for number in range(0xB01, 0xB07)),
        *((number, NOSUP) for number in (0x3D0A, 0x3D0B, 0x3D0C, 0xFD0104, 0xE00101)),
        (0x2080A097, NOSUP),
        (0x20803A01, NOSUP),
        (0xD08, PERM),
        (0x2080012C | 0x8000, NOSUP),
    ],
)
def test_dangerous_controls_are_refused_with_a_status(
    judge: Filter, number: int, status: int
) -> None:
    assert judge("control", number, 0) == ("DENY", status)


def test_exports_of_one_object_are_tracked(judge: Filter) -> None:
    track = judge.core.names["GSH_VERDICT_TRACK"]
    for number in (0x3D05, 0x3D06, 0x3D08):
        verdict = judge.raw("control", number, 0)
        assert action(judge.core, verdict) == "ALLOW"
        assert verdict["flags"] & track


REPLIES = {
    0x20801303: "FB_INFO_V2",
    0x20801301: "FB_INFO",
    0x20801320: "FB_REGIONS",
    0x2080018D: "PIDS",
    0x2080018E: "PID_INFO",
    0x20802096: "GPUMON",
    0x214: "PROBED_IDS",
    0x201: "ATTACHED_IDS",
}


def test_replies_about_sizes_and_neighbours_are_rewritten(judge: Filter) -> None:
    for number, kind in REPLIES.items():
        verdict = judge.raw("control", number, 0)
        assert action(judge.core, verdict) == "VIEW"
        assert verdict["view"] == judge.core.names[f"GSH_VIEW_{kind}"]
    for number, kind in {200: "CARD_INFO", 0x4A: "VIDHEAP", 0x27: "HEAP_LIMIT"}.items():
        assert judge.raw("escape", number)["view"] == judge.core.names[f"GSH_VIEW_{kind}"]


def test_naming_other_clients_channels_is_checked(judge: Filter) -> None:
    channels = judge.core.names["GSH_VERDICT_CHECK_CHANNELS"]
    for verdict in (judge.raw("control", 0x2080110B, 0), judge.raw("escape", 0x41)):
        assert action(judge.core, verdict) == "LOCAL"
        assert verdict["flags"] & channels
        assert verdict["status"] == 0x23, "what the driver says of a client that is not yours"


@pytest.mark.parametrize("number", [0x83DE, 0x80, 5, 0x79])
def test_naming_other_clients_is_checked(judge: Filter, number: int) -> None:
    verdict = judge.raw("class", number)
    assert action(judge.core, verdict) == "LOCAL"
    assert verdict["flags"] & judge.core.names["GSH_VERDICT_CHECK_CLIENT"]
    assert verdict["status"] == 0x23


def test_scheduling_of_ones_own_channels_is_marked(judge: Filter) -> None:
    scheduling = judge.core.names["GSH_VERDICT_SCHEDULING"]
    for number in (0xA06C0101, 0xA06C0103, 0xA06C0105, 0xA06F0103, 0xA06F0112, 0x906F0102):
        verdict = judge.raw("control", number, 0)
        assert action(judge.core, verdict) == "ALLOW"
        assert verdict["flags"] & scheduling


@constant
@given(cmd=commands)
def test_serialised_parameters_are_refused(core: Core, v535: Struct, cmd: int) -> None:
    verdict = core.verdict("control", v535, cmd, 4)
    assert (action(core, verdict), verdict["status"]) == ("DENY", NOSUP)
    assert action(core, core.verdict("control", v535, cmd, 7)) == "DENY"


@constant
@given(cmd=commands, flags=st.integers(0, 3))
def test_what_is_unknown_meets_one_rule(core: Core, v535: Struct, cmd: int, flags: int) -> None:
    verdict = core.verdict("control", v535, cmd, flags)
    unknown = core.names["GSH_VERDICT_UNKNOWN"]
    if verdict["flags"] & unknown:
        legacy = bool(cmd & 0x8000)
        assert action(core, verdict) == ("DENY" if legacy else "ALLOW")
        assert bool(verdict["flags"] & core.names["GSH_VERDICT_LEGACY"]) == legacy


def test_an_unknown_class_is_let_through_and_marked(judge: Filter) -> None:
    for number in (0xBEEF, 0xFFFFFFFF, 0x12345):
        verdict = judge.raw("class", number)
        assert action(judge.core, verdict) == "ALLOW"
        assert verdict["flags"] == judge.core.names["GSH_VERDICT_UNKNOWN"]


@pytest.mark.parametrize("number", [0x3E, 0x3F, 0x40, 0x4D, 0x4E, 0x4F])
def test_tools_and_keep_alives_of_managed_memory_are_refused(judge: Filter, number: int) -> None:
    assert judge("uvm", number) == ("DENY", NOSUP)


@pytest.mark.parametrize("number", [0x43, 0x45])
def test_everybodys_housekeeping_is_absorbed(judge: Filter, number: int) -> None:
    assert judge("uvm", number) == ("ABSORB", 0)


def test_external_mappings_are_tracked(judge: Filter) -> None:
    track = judge.core.names["GSH_VERDICT_TRACK"]
    for number in (0x21, 0x22, 0x42, 0x49):
        assert judge.raw("uvm", number)["flags"] & track


def test_the_control_table_is_sorted() -> None:
    """Binary search finds each row: through the verdicts of all numbers in the source."""
    numbers = headers.numbers("nvabi/numbers.h")
    text = headers.text("core/filter.c")
    table = text[text.index("static const struct control controls[]") :]
    table = table[: table.index("};")]
    cells = [
        line.split("(", 1)[1].split(",")[0].split(")")[0].strip()
        for line in table.splitlines()
        if line.startswith(("\tDENY(", "\tALLOW(", "\tCHECK(", "\tVIEW(", "\tABSORB("))
    ]
    commands = [numbers[cell] if cell in numbers else int(cell, 16) for cell in cells]
    assert len(commands) > 100
    assert commands == sorted(set(commands))


def test_flags_only_the_kernel_may_set_are_dropped(core: Core) -> None:
    assert core.call("gsh_filter_memory_flags", 0xFFFFFFFF) == 0xFFFFFFFF & ~0x18410000
    assert core.call("gsh_filter_memory_flags", 0x4000 | 0x10) == 0x4010
