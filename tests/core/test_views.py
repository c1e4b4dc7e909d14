# SPDX-License-Identifier: GPL-2.0-only
"""Replies show the share as the card, and touch nothing else."""

from __future__ import annotations

import errno

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.abi import Abi
from tests.core.native import Buffer, Core, Own, Pid, Struct

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
U32, U64 = (1 << 32) - 1, (1 << 64) - 1
QUOTA, USED = 3072 * MIB, 500 * MIB
FREE = QUOTA - USED
TOTALS = (0x07, 0x08, 0x09, 0x20)
FREES = (0x12, 0x16, 0x34)
NOTHING = (0x10, 0x13, 0x15, 0x27)
AT_MOST_TOTAL = (0x0A, 0x33)
SIZES = {*TOTALS, *FREES, *NOTHING, *AT_MOST_TOTAL}
constant = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
values = st.integers(0, U32)
bytes64 = st.one_of(st.integers(0, U64), st.integers(0, 1 << 40))


@pytest.fixture
def view(core: Core) -> Struct:
    return make_view(core, QUOTA, USED, 70 * GIB)


def make_view(core: Core, quota: int, charged: int, card_free: int) -> Struct:
    return core.struct(
        "gsh_view", quota_bytes=quota, charged_bytes=charged, card_free_bytes=card_free
    )


def pairs(*items: tuple[int, int]) -> bytes:
    return b"".join(part.to_bytes(4, "little") for item in items for part in item)


def unpack(content: bytes) -> list[tuple[int, int]]:
    words = [int.from_bytes(content[i : i + 4], "little") for i in range(0, len(content), 4)]
    return list(zip(words[::2], words[1::2], strict=True))


def shown(core: Core, view: Struct, *items: tuple[int, int]) -> list[tuple[int, int]]:
    buffer = Buffer(pairs(*items))
    assert core.call("gsh_view_fb_info", view, buffer, len(items), buffer.size) == 0
    return unpack(buffer.bytes())


# ---- sizes of the card ----


def test_the_rewritten_items_are_the_recorded_ones(core: Core, abi: Abi) -> None:
    recorded = {
        abi.json["fb_info_index"][name]: rule for name, rule in abi.json["fb_info_rewrite"].items()
    }
    expected = {
        "quota": TOTALS,
        "min_quota": AT_MOST_TOTAL,
        "zero": NOTHING,
    }
    for index, rule in recorded.items():
        if rule in expected:
            assert index in expected[rule]
        else:
            assert index in FREES
    # beyond the record: where the largest free region begins
    assert set(recorded) == SIZES - {0x13}


@pytest.mark.case("VI-02")
def test_size_items_read_the_quota_in_kib(core: Core, view: Struct) -> None:
    big = 80 * GIB // KIB
    assert shown(core, view, *((index, big) for index in TOTALS)) == [
        (index, QUOTA // KIB) for index in TOTALS
    ]
    assert shown(core, view, *((index, big) for index in FREES)) == [
        (index, FREE // KIB) for index in FREES
    ]
    assert shown(core, view, (0x07, big)) == [(0x07, QUOTA // KIB)]


@pytest.mark.case("VI-02")
def test_the_same_item_three_times(core: Core, view: Struct) -> None:
    assert shown(core, view, *[(8, 1 << 26)] * 3) == [(8, QUOTA // KIB)] * 3


@pytest.mark.case("VI-02")
def test_unrelated_items_are_what_the_driver_gave(core: Core, view: Struct) -> None:
    given_pairs = [(0x1E, 0xDEADBEEF), (0x08, 1 << 26), (0x2A, 1), (0x05, 7), (0x1D, 3)]
    found = shown(core, view, *given_pairs)
    assert found == [(0x1E, 0xDEADBEEF), (8, QUOTA // KIB), (0x2A, 1), (0x05, 7), (0x1D, 3)]


@pytest.mark.case("VI-02")
def test_an_empty_list(core: Core, version: Struct, view: Struct) -> None:
    buffer = Buffer(b"\0" * 4 + b"\xaa" * (version["fb_info_v2_bytes"] - 4))
    before = buffer.bytes()
    assert core.call("gsh_view_fb_info_v2", version, view, buffer, buffer.size) == 0
    assert buffer.bytes() == before
    assert core.call("gsh_view_fb_info", view, None, 0, 0) == 0


@pytest.mark.case("VI-02")
def test_a_list_longer_than_the_format_stays_inside(
    core: Core, version: Struct, view: Struct
) -> None:
    entries = version["fb_info_v2_entries"]
    buffer = Buffer(U32.to_bytes(4, "little") + pairs(*[(8, 1)] * entries))
    assert buffer.size == version["fb_info_v2_bytes"]
    assert core.call("gsh_view_fb_info_v2", version, view, buffer, buffer.size) == 0
    assert buffer.u32(0) == U32
    assert unpack(buffer.bytes()[4:]) == [(8, QUOTA // KIB)] * entries
    by_pointer = Buffer(pairs((8, 1), (9, 1)))
    assert core.call("gsh_view_fb_info", view, by_pointer, 1000, 16) == 0


def test_a_short_block_is_left_alone(core: Core, version: Struct, view: Struct) -> None:
    buffer = Buffer(bytes(version["fb_info_v2_bytes"] - 1))
    assert core.call("gsh_view_fb_info_v2", version, view, buffer, buffer.size) == -errno.EINVAL
    assert buffer.bytes() == bytes(buffer.size)


@constant
@given(
    quota=bytes64,
    charged=bytes64,
    card_free=bytes64,
    heap=st.tuples(values, values, values).map(lambda three: sorted(three, reverse=True)),
)
def test_total_is_at_least_heap_and_heap_at_least_free(
    core: Core, quota: int, charged: int, card_free: int, heap: list[int]
) -> None:
    view = make_view(core, quota, charged, card_free)
    total, size, free = (
        value for _, value in shown(core, view, *zip((8, 9, 0x16), heap, strict=True))
    )
    assert total >= size >= free
    assert free <= heap[2], "never more than the card has"
    assert free * KIB <= card_free
    if charged >= quota:
        assert free == 0


@constant
@given(index=st.integers(0, U32), value=values, quota=bytes64)
def test_only_size_items_change(core: Core, index: int, value: int, quota: int) -> None:
    view = make_view(core, quota, 0, U64)
    found = shown(core, view, (index, value))[0]
    assert found[0] == index
    if index not in SIZES:
        assert found[1] == value


def test_a_quota_beyond_the_field_reads_full(core: Core) -> None:
    view = make_view(core, U64, 0, U64)
    assert shown(core, view, (8, 1), (0x16, U32)) == [(8, U32), (0x16, U32)]


# ---- regions ----


def region(version: Struct, base: int, limit: int, reserved: int, tail: int = 0x77) -> bytes:
    head = b"".join(value.to_bytes(8, "little") for value in (base, limit, reserved))
    return head + bytes([tail]) * (version["fb_region_entry_bytes"] - len(head))


def regions(version: Struct, *listed: bytes, count: int | None = None) -> bytes:
    content = (len(listed) if count is None else count).to_bytes(4, "little") + bytes(4)
    content += b"".join(listed)
    return content + bytes(version["fb_region_bytes"] - len(content))


def test_regions_sum_to_the_quota(core: Core, version: Struct, view: Struct) -> None:
    buffer = Buffer(
        regions(
            version,
            region(version, 0, GIB - 1, GIB),  # the driver's own
            region(version, GIB, 3 * GIB - 1, 0, tail=0x55),
            region(version, 3 * GIB, 80 * GIB - 1, 0),
            region(version, 80 * GIB, 81 * GIB - 1, 0),
        )
    )
    assert core.call("gsh_view_fb_regions", version, view, buffer, buffer.size) == 0
    stride = version["fb_region_entry_bytes"]
    assert buffer.u32(0) == 2
    first, second = (buffer.bytes()[8 + i * stride :][:stride] for i in range(2))
    assert first == region(version, GIB, 3 * GIB - 1, 0, tail=0x55)
    assert second == region(version, 3 * GIB, 4 * GIB - 1, 0)
    assert buffer.bytes()[8 + 2 * stride :] == bytes(version["fb_region_bytes"] - 8 - 2 * stride)


@constant
@given(
    data=st.data(),
    quota=st.integers(0, 1 << 42),
)
def test_regions_never_show_more_than_the_quota(
    core: Core, version: Struct, data: st.DataObject, quota: int
) -> None:
    triple = st.tuples(bytes64, bytes64, bytes64)
    listed = data.draw(st.lists(triple, max_size=version["fb_region_entries"]))
    count = data.draw(st.sampled_from([len(listed), U32]))
    buffer = Buffer(regions(version, *(region(version, *item) for item in listed), count=count))
    view = make_view(core, quota, 0, U64)
    assert core.call("gsh_view_fb_regions", version, view, buffer, buffer.size) == 0
    stride = version["fb_region_entry_bytes"]
    total = 0
    for i in range(buffer.u32(0)):
        base, limit = buffer.u64(8 + i * stride), buffer.u64(16 + i * stride)
        assert limit >= base
        assert buffer.u64(24 + i * stride) == 0
        total += limit - base + 1
    assert total <= quota


# ---- the older heap calls ----


def heap_reply(function: int, status: int = 0, total: int = 0, free: int = 0) -> bytearray:
    content = bytearray(b"\x11" * 184)
    for offset, size, value in (
        (8, 4, function),
        (20, 4, status),
        (24, 8, total),
        (32, 8, free),
    ):
        content[offset : offset + size] = value.to_bytes(size, "little")
    return content


def test_heap_info_shows_the_share(core: Core, view: Struct) -> None:
    content = heap_reply(5, total=80 * GIB, free=70 * GIB)
    content[48:72] = b"".join(v.to_bytes(8, "little") for v in (5 * GIB, 60 * GIB, MIB))
    buffer = Buffer(bytes(content))
    assert core.call("gsh_view_vidheap", view, buffer, 184) == 0
    assert (buffer.u64(24), buffer.u64(32)) == (QUOTA, FREE)
    assert (buffer.u64(48), buffer.u64(56), buffer.u64(64)) == (0, FREE, MIB)
    rest = bytes(content[:24]) + bytes(content[40:48]) + bytes(content[64:])
    after = buffer.bytes()
    assert after[:24] + after[40:48] + after[64:] == rest


@pytest.mark.parametrize("function", [2, 3, 6, 14, 18])
def test_heap_figures_the_driver_left_empty_stay_empty(
    core: Core, view: Struct, function: int
) -> None:
    content = bytes(heap_reply(function))
    buffer = Buffer(content)
    assert core.call("gsh_view_vidheap", view, buffer, 184) == 0
    assert buffer.bytes() == content
    filled = Buffer(bytes(heap_reply(function, total=80 * GIB, free=70 * GIB)))
    assert core.call("gsh_view_vidheap", view, filled, 184) == 0
    assert (filled.u64(24), filled.u64(32)) == (QUOTA, FREE)


def test_a_failed_heap_call_is_not_touched(core: Core, view: Struct) -> None:
    content = bytes(heap_reply(5, status=0x57, total=1, free=2))
    buffer = Buffer(content)
    assert core.call("gsh_view_vidheap", view, buffer, 184) == 0
    assert buffer.bytes() == content
    assert core.call("gsh_view_vidheap", view, Buffer(bytes(183)), 183) == -errno.EINVAL


def test_heap_limit_is_the_quotas_last_byte(core: Core, view: Struct) -> None:
    buffer = Buffer(bytes(32) + (80 * GIB - 1).to_bytes(8, "little") + bytes(16))
    assert core.call("gsh_view_heap_limit", view, buffer, 56) == 0
    assert buffer.u64(32) == QUOTA - 1
    assert core.call("gsh_view_heap_limit", view, buffer, 55) == -errno.EINVAL
    nothing = make_view(core, 0, 0, U64)
    assert core.call("gsh_view_heap_limit", nothing, buffer, 56) == 0
    assert buffer.u64(32) == 0


# ---- own cards ----

own = Own(lambda _, gpu_id: gpu_id in {0x1700, 0x4100})


def card(gpu_id: int, minor: int, valid: int = 1) -> bytes:
    content = bytearray(b"\x33" * 72)
    content[0] = valid
    content[16:20] = gpu_id.to_bytes(4, "little")
    content[56:60] = minor.to_bytes(4, "little")
    return bytes(content)


def test_other_cards_are_not_listed(core: Core) -> None:
    cards = card(0x100, 0) + card(0x1700, 1) + card(0x200, 2) + card(0x4100, 3) + bytes(72)
    buffer = Buffer(cards + b"\x99" * 5)
    assert core.call("gsh_view_card_info", buffer, buffer.size, own, None) == 0
    assert buffer.bytes() == card(0x1700, 1) + card(0x4100, 3) + bytes(3 * 72) + b"\x99" * 5


@pytest.mark.parametrize("size", [0, 1, 71])
def test_no_room_for_a_card_is_no_card(core: Core, size: int) -> None:
    buffer = Buffer(b"\x44" * size)
    assert core.call("gsh_view_card_info", buffer, size, own, None) == 0
    assert buffer.bytes() == b"\x44" * size


def ids(*listed: int) -> bytes:
    return b"".join(i.to_bytes(4, "little") for i in [*listed, *[U32] * (32 - len(listed))])


def test_other_cards_ids_are_not_told(core: Core, version: Struct) -> None:
    # from 580 on a flag for each of the first list stands behind both
    tail = (version["probed_ids_bytes"] - 256) // 4
    flags = b"".join(value.to_bytes(4, "little") for value in range(1, tail + 1))
    kept = b"".join(value.to_bytes(4, "little") for value in [2, 4] + [0] * 30)
    buffer = Buffer(ids(0x100, 0x1700, 0x200, 0x4100) + ids(0x300, 0x4100) + flags)
    assert core.call("gsh_view_probed_ids", version, buffer, buffer.size, own, None) == 0
    assert buffer.bytes() == ids(0x1700, 0x4100) + ids(0x4100) + kept[: 4 * tail]
    attached = Buffer(ids(0x100, 0x4100))
    assert core.call("gsh_view_attached_ids", attached, 128, own, None) == 0
    assert attached.bytes() == ids(0x4100)


def test_short_id_lists_are_refused(core: Core, version: Struct) -> None:
    short = Buffer(bytes(version["probed_ids_bytes"] - 1))
    args = (version, short, short.size, own, None)
    assert core.call("gsh_view_probed_ids", *args) == -errno.EINVAL
    assert core.call("gsh_view_attached_ids", short, 127, own, None) == -errno.EINVAL


# ---- own processes ----

# the kernel's id 1000 + n is the reader's n, for n of 1 to 9
to_reader = Pid(lambda _, pid: pid - 1000 if 1000 < pid < 1010 else 0)
to_kernel = Pid(lambda _, pid: pid + 1000 if 0 < pid < 10 else 0)


def pid_list(count: int, *listed: int) -> bytes:
    content = bytes(8) + count.to_bytes(4, "little")
    content += b"".join(pid.to_bytes(4, "little") for pid in listed)
    return content + b"\xee" * (3812 - len(content))


def test_other_processes_are_not_listed(core: Core) -> None:
    buffer = Buffer(pid_list(4, 1001, 77, 1003, 1234))
    assert core.call("gsh_view_pids", buffer, 3812, to_reader, None) == 0
    assert buffer.u32(8) == 2
    assert (buffer.u32(12), buffer.u32(16)) == (1, 3)
    assert buffer.bytes()[20:] == bytes(3812 - 20)


def test_more_processes_than_fit_stay_inside(core: Core) -> None:
    buffer = Buffer(pid_list(U32, *[1002] * 950))
    assert core.call("gsh_view_pids", buffer, 3812, to_reader, None) == 0
    assert buffer.u32(8) == 950
    assert core.call("gsh_view_pids", buffer, 3811, to_reader, None) == -errno.EINVAL


def pid_info(*entries: tuple[int, int], count: int | None = None) -> bytes:
    content = (len(entries) if count is None else count).to_bytes(4, "little") + bytes(4)
    for pid, fill in entries:
        content += pid.to_bytes(4, "little") + bytes(12) + bytes([fill]) * 56
    return content + bytes(14408 - len(content))


def test_process_figures_are_asked_under_the_kernels_ids(core: Core) -> None:
    request = pid_info((3, 0), (500, 0))
    asked = Buffer(request)
    assert core.call("gsh_view_pid_info_request", asked, 14408, to_kernel, None) == 0
    assert asked.u32(8) == 1003
    assert asked.u32(8 + 72) > 1 << 22, "an id no process can have"
    reply = Buffer(pid_info((1003, 0x21), (asked.u32(8 + 72), 0x22)))
    assert core.call("gsh_view_pid_info_reply", reply, Buffer(request), 14408) == 0
    assert reply.bytes() == pid_info((3, 0x21), (500, 0))


def test_more_figures_than_fit_stay_inside(core: Core) -> None:
    content = pid_info(*[(1, 1)] * 200, count=U32)
    assert len(content) == 14408
    buffer = Buffer(content)
    assert core.call("gsh_view_pid_info_request", buffer, 14408, to_kernel, None) == 0
    assert core.call("gsh_view_pid_info_reply", buffer, Buffer(content), 14408) == 0
    for function in ("request", "reply"):
        extra = (to_kernel, None) if function == "request" else ()
        args = (buffer, 14407, *extra) if extra else (buffer, buffer, 14407)
        assert core.call(f"gsh_view_pid_info_{function}", *args) == -errno.EINVAL


def engine(version: Struct, util: int, pid: int, fill: int) -> bytes:
    size = version["gpumon_engine_bytes"]
    head = b"".join(v.to_bytes(4, "little") for v in (util, 9, pid, 4))
    pointer = b"\xcc" * 8 if size >= 128 else b""
    body = head + bytes([fill]) * 100
    return body + bytes(size - len(body) - len(pointer)) + pointer


def sample(version: Struct, *engines: bytes) -> bytes:
    empty = bytes(version["gpumon_engine_bytes"])
    listed = [*engines, *[empty] * (version["gpumon_engines"] - len(engines))]
    return b"\x0f" * 8 + b"".join(listed)


def test_other_processes_load_reads_as_none(core: Core, version: Struct) -> None:
    mine, idle = engine(version, 40, 1005, 1), engine(version, 0, U32, 2)
    foreign = engine(version, 60, 4321, 3)
    header = b"\x01" * 16
    content = header + sample(version, mine, foreign, idle)
    content += bytes(version["gpumon_bytes"] - len(content))
    buffer = Buffer(content)
    assert core.call("gsh_view_gpumon", version, buffer, buffer.size, to_reader, None) == 0
    size = version["gpumon_engine_bytes"]
    after = buffer.bytes()
    shown_engines = [after[24 + i * size :][:size] for i in range(3)]
    no_pointer = slice(0, 116)
    assert shown_engines[0][no_pointer] == engine(version, 40, 5, 1)[no_pointer]
    assert shown_engines[2][no_pointer] == idle[no_pointer]
    util, scale, pid, sub = (
        int.from_bytes(shown_engines[1][4 * i :][:4], "little") for i in range(4)
    )
    assert (util, scale, pid, sub) == (0, 9, U32, U32)
    assert shown_engines[1][16:116] == bytes(100)
    assert b"\xcc" not in after, "a kernel address"
    assert after[:16] == header
    rest = 16 + version["gpumon_stride"]
    assert after[rest:] == content[rest:], "slots never filled stay so"
    args = (version, buffer, buffer.size - 1, to_reader, None)
    assert core.call("gsh_view_gpumon", *args) == -errno.EINVAL
