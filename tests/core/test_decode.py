# SPDX-License-Identifier: GPL-2.0-only
"""Every call becomes the request it is; nothing is read beyond what was copied."""

from __future__ import annotations

import errno

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core import facts
from tests.core.abi import Abi
from tests.core.native import Buffer, Core, Struct

U32 = (1 << 32) - 1
NONE = 0xFFFF
CTL, GPU = 0, 1
MIB = 1 << 20
constant = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def block(size: int, /, **fields: tuple[int, int, int]) -> bytes:
    """A struct of zeros with some fields: name=(offset, size, value)."""
    content = bytearray(size)
    for offset, width, value in fields.values():
        content[offset : offset + width] = value.to_bytes(width, "little")
    return bytes(content)


class Decoded:
    """One request, or the refusal."""

    def __init__(self, core: Core, version: Struct, nr: int, content: bytes, node: int) -> None:
        self.core, self.version = core, version
        self.arg = Buffer(content)
        self.request = core.struct("gsh_request")
        self.err = core.call("gsh_decode", version, nr, node, self.arg, len(content), self.request)

    def __getitem__(self, name: str) -> int:
        assert self.err == 0
        return self.request[name]

    @property
    def kind(self) -> str:
        kinds = {v: k for k, v in self.core.names.items() if k.startswith("GSH_REQ_")}
        return kinds[self["kind"]].removeprefix("GSH_REQ_")

    def params(self, content: bytes) -> int:
        return self.core.call(
            "gsh_decode_alloc_params",
            self.version,
            self.request,
            Buffer(content),
            len(content),
        )


def decode(core: Core, version: Struct, nr: int, content: bytes, node: int = CTL) -> Decoded:
    return Decoded(core, version, nr, content, node)


# ---- which numbers, sizes and nodes ----

# what the record has as a struct of one size for all drivers
NODES = {"ctl": [CTL], "gpu": [GPU], "both": [CTL, GPU]}
ANY_SIZE = {"NV_ESC_CARD_INFO", "NV_ESC_RM_LOCKLESS_DIAGNOSTIC", "NV_ESC_SET_NUMA_STATUS"}


def recorded_of(version: Struct) -> facts.Facts:
    return facts.of_record(version.text("string"))


def sizes_of(name: str, version: Struct, abi: Abi) -> list[int]:
    if name == "NV_ESC_RM_ALLOC":
        return [32, 48]
    if name == "NV_ESC_ATTACH_GPUS_TO_FD":
        return [4, 8, 128]
    if name == "NV_ESC_RM_I2C_ACCESS":
        return [recorded_of(version).structs["NVOS_I2C_ACCESS_PARAMS"].size]
    if name == "NV_ESC_CARD_INFO":
        return [72, 144, 2304] + ([] if version["checks_ioctl_sizes"] else [0, 1, 2560])
    if name == "NV_ESC_SET_NUMA_STATUS" and version["checks_ioctl_sizes"]:
        return [4]
    if name in ANY_SIZE:
        return [0, 1, 72, 144, 2304]
    layout = recorded_of(version).structs.get(abi.json["frontend_ioctls"][name]["struct"])
    return [layout.size] if layout else []


def test_every_recorded_call_is_known_by_number_size_and_node(
    core: Core, version: Struct, abi: Abi
) -> None:
    unwrapped = {"NV_ESC_IOCTL_XFER_CMD", "NV_ESC_RM_ADD_VBLANK_CALLBACK"}
    for name, entry in abi.json["frontend_ioctls"].items():
        if name in unwrapped:
            continue
        sizes = sizes_of(name, version, abi)
        for size in sizes:
            for node in NODES[entry["node"]]:
                assert decode(core, version, entry["nr"], bytes(size), node).err == 0, name
        if name in ANY_SIZE or name == "NV_ESC_ATTACH_GPUS_TO_FD":
            continue
        for size in {0, 1, 7, 4096, *(s + 1 for s in sizes), *(s - 1 for s in sizes)}:
            exact = name != "NV_ESC_QUERY_DEVICE_INTR" or version["checks_ioctl_sizes"]
            if size < 8 or exact:
                refused = decode(core, version, entry["nr"], bytes(size), NODES[entry["node"]][0])
                assert refused.err == -errno.EINVAL, (name, size)


def test_the_wrong_node_is_refused(core: Core, v535: Struct, abi: Abi) -> None:
    for name, entry in abi.json["frontend_ioctls"].items():
        wrong = {"ctl": GPU, "gpu": CTL}.get(entry["node"])
        if wrong is None or name in {"NV_ESC_SET_NUMA_STATUS", "NV_ESC_RM_ALLOC"}:
            continue
        for size in sizes_of(name, v535, abi):
            assert decode(core, v535, entry["nr"], bytes(size), wrong).err == -errno.EINVAL, name


def test_unknown_numbers_are_refused(core: Core, version: Struct, abi: Abi) -> None:
    known = {entry["nr"] for entry in abi.json["frontend_ioctls"].values()} - {211, 86}
    for nr in {*range(256), 256, 257, U32} - known:
        for size in (0, 4, 16, 32, 48, 56, 184):
            assert decode(core, version, nr, bytes(size)).err == -errno.EINVAL, nr


def test_the_transfer_call_is_the_callers_to_unwrap(core: Core, v535: Struct) -> None:
    assert decode(core, v535, 211, bytes(16)).err == -errno.EINVAL


def test_card_ids_come_in_whole_words(core: Core, v535: Struct) -> None:
    for size in (0, 1, 3, 5, 130):
        assert decode(core, v535, 212, bytes(size)).err == -errno.EINVAL
    assert decode(core, v535, 212, bytes(8)).kind == "ATTACH_GPUS"


@constant
@given(nr=st.integers(0, 255), node=st.sampled_from([CTL, GPU]), content=st.binary(max_size=256))
def test_no_content_reads_beyond_its_end(
    core: Core, version: Struct, nr: int, node: int, content: bytes
) -> None:
    decode(core, version, nr, content, node)


@constant
@given(content=st.binary(min_size=56, max_size=56), data=st.data())
def test_right_sizes_with_any_content_decode(
    core: Core, version: Struct, content: bytes, data: st.DataObject
) -> None:
    nr, size = data.draw(
        st.sampled_from([(0x27, 56), (0x28, 20), (0x29, 16), (0x2A, 32), (0x2B, 32), (0x2B, 48)])
    )
    node = GPU if nr == 0x27 else CTL
    assert decode(core, version, nr, content[:size], node).err == 0


# ---- RM_ALLOC ----


def rm_alloc(size: int, class_id: int, **extra: tuple[int, int, int]) -> bytes:
    return block(
        size,
        root=(0, 4, 0xC1D00001),
        parent=(4, 4, 0x5C000002),
        new=(8, 4, 0x5C000003),
        cls=(12, 4, class_id),
        params=(16, 8, 0x7F0000001000),
        **extra,
    )


@pytest.mark.case("MB-03")
@pytest.mark.parametrize("size", [32, 48])
def test_both_forms_of_rm_alloc_name_the_same_memory(
    core: Core, version: Struct, size: int
) -> None:
    found = decode(core, version, 0x2B, rm_alloc(size, 0x40))
    assert found.kind == "ALLOC_VIDMEM"
    assert found["h_client"] == 0xC1D00001
    assert found["h_parent"] == 0x5C000002
    assert found["h_object"] == 0x5C000003
    assert found["params_ptr"] == 0x7F0000001000
    assert found["params_bytes"] == version["memory_alloc_bytes"]
    assert found["status_off"] == (28 if size == 32 else 40)
    params = block(
        version["memory_alloc_bytes"],
        size=(64, 8, 300 * MIB),
        attr=(24, 4, 3 << 23),
        attr2=(28, 4, 1 << 20),
        flags=(8, 4, 0x4000),
        vaspace=(108, 4, 7),
    )
    assert found.params(params) == 0
    assert found["memory.valid"] == found["memory.video"] == found["memory.in_params"] == 1
    assert found["memory.size_bytes"] == 300 * MIB
    assert (found["memory.attr"], found["memory.attr2"]) == (3 << 23, 1 << 20)
    assert found["memory.flags"] == 0x4000
    assert found["memory.size_off"] == 64
    assert found["memory.h_vaspace"] == 7


@pytest.mark.case("MB-03")
@pytest.mark.parametrize(
    ("function", "attr_off", "size_off"), [(2, 56, 88), (14, 56, 80), (6, 64, None)]
)
def test_every_heap_function_that_takes_card_memory_is_seen(
    core: Core, version: Struct, function: int, attr_off: int, size_off: int | None
) -> None:
    size = (
        {"size": (size_off, 8, 300 * MIB)}
        if size_off
        else {
            "height": (56, 4, 300),
            "pitch": (60, 4, MIB),
        }
    )
    content = block(184, fn=(8, 4, function), flags=(52, 4, 0x4000), new=(44, 4, 9), **size)
    found = decode(core, version, 0x4A, content)
    assert found.kind == "VIDHEAP_ALLOC_VIDMEM"
    assert found["memory.size_bytes"] == 300 * MIB
    assert found["memory.attr_off"] == attr_off
    assert found["h_class"] == 0x40
    assert found["h_object"] == 9
    assert found["status_off"] == 20


@pytest.mark.parametrize(
    ("attr", "flags", "kind", "class_id"),
    [
        (0, 0, "VIDHEAP_ALLOC_VIDMEM", 0x40),
        (1 << 25, 0, "VIDHEAP_ALLOC_OTHER", 0x3E),
        (3 << 25, 0, "VIDHEAP_ALLOC_OTHER", 0x3E),
        (0, 0x80000, "VIDHEAP_ALLOC_OTHER", 0x50A0),
        (1 << 25, 0x80000, "VIDHEAP_ALLOC_OTHER", 0x50A0),
    ],
)
def test_location_and_virtual_flag_decide_what_the_heap_gives(
    core: Core, v535: Struct, attr: int, flags: int, kind: str, class_id: int
) -> None:
    content = block(184, fn=(8, 4, 2), attr=(56, 4, attr), flags=(52, 4, flags))
    found = decode(core, v535, 0x4A, content)
    assert (found.kind, found["h_class"]) == (kind, class_id)
    assert found["h_object"] == 0, "no handle was given"


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (3, "VIDHEAP_FREE"),
        (5, "VIDHEAP_INFO"),
        (11, "VIDHEAP_OTHER"),
        (27, "VIDHEAP_ALLOC_OS_DESC"),
        (0, "VIDHEAP_OTHER"),
        (0xFFFFFF02, "VIDHEAP_OTHER"),
    ],
)
def test_other_heap_functions(core: Core, v535: Struct, function: int, kind: str) -> None:
    found = decode(core, v535, 0x4A, block(184, fn=(8, 4, function), memory=(44, 4, 5)))
    assert found.kind == kind
    assert found["memory.valid"] == 0
    assert found["h_object"] == (5 if kind == "VIDHEAP_FREE" else 0)


def test_a_tile_larger_than_memory_does_not_wrap(core: Core, v535: Struct) -> None:
    content = block(184, fn=(8, 4, 6), height=(56, 4, U32), pitch=(60, 4, U32))
    assert decode(core, v535, 0x4A, content)["memory.size_bytes"] == U32 * U32


@pytest.mark.parametrize("class_id", [0, 1, 0x41])
def test_clients_are_told_from_objects(core: Core, version: Struct, class_id: int) -> None:
    found = decode(core, version, 0x2B, rm_alloc(32, class_id))
    assert found.kind == "ROOT_ALLOC"
    assert found["params_bytes"] == 4
    by_object = decode(core, version, 0x28, block(20, cls=(12, 4, class_id)))
    assert by_object.kind == "ROOT_ALLOC"


@pytest.mark.parametrize("class_id", [5, 0x78, 0x79, 0x7E])
def test_only_events_are_made_on_a_gpu_node(core: Core, v535: Struct, class_id: int) -> None:
    assert decode(core, v535, 0x2B, rm_alloc(32, class_id), GPU).kind == "ALLOC"
    for other in (0, 0x41, 0x40, 0x80, 0xBEEF):
        assert decode(core, v535, 0x2B, rm_alloc(32, other), GPU).err == -errno.EINVAL


def test_the_class_decides_the_size_of_its_parameters(core: Core, version: Struct) -> None:
    for given_size in (0, 1, 4096, U32):
        found = decode(core, version, 0x2B, rm_alloc(32, 0xC56F, given=(24, 4, given_size)))
        assert found["params_bytes"] == version["channel_alloc_bytes"]
        assert found["params_given"] == given_size


def test_an_unknown_class_has_the_parameters_its_caller_states(core: Core, version: Struct) -> None:
    for size, at in ((32, 24), (48, 32)):
        for stated, copied in ((0, 0), (24, 24), (MIB, MIB), (MIB + 1, 0), (U32, 0)):
            found = decode(core, version, 0x2B, rm_alloc(size, 0xBEEF, stated=(at, 4, stated)))
            assert found.kind == "ALLOC"
            assert found["params_bytes"] == copied
            assert found["params_refused"] == (stated > MIB)


def test_missing_parameters_are_refused_where_the_class_wants_them(
    core: Core, v535: Struct
) -> None:
    without = block(32, cls=(12, 4, 0x40))
    assert decode(core, v535, 0x2B, without)["params_refused"] == 1
    optional = block(32, cls=(12, 4, 0x2080))
    assert decode(core, v535, 0x2B, optional)["params_refused"] == 0


def test_rights_are_found_in_the_long_form_only(core: Core, v535: Struct) -> None:
    found = decode(core, v535, 0x2B, rm_alloc(48, 0x80, rights=(24, 8, 0x7FFF0000)))
    assert (found["rights_ptr"], found["rights_ptr_off"]) == (0x7FFF0000, 24)
    short = decode(core, v535, 0x2B, rm_alloc(32, 0x80))
    assert (short["rights_ptr"], short["rights_ptr_off"]) == (0, NONE)


# ---- blocks of more than one size ----


@pytest.mark.case("DC-05")
@pytest.mark.parametrize("size", [0, 8, 16, 31, 33, 40, 47, 49, 64, 4096])
@pytest.mark.parametrize("node", [CTL, GPU])
def test_an_allocation_of_unknown_size_is_refused_as_the_driver_does(
    core: Core, version: Struct, size: int, node: int
) -> None:
    content = rm_alloc(size, 0x40) if size >= 24 else bytes(size)
    assert decode(core, version, 0x2B, content, node).err == -errno.EINVAL


@pytest.mark.case("DC-05")
@pytest.mark.parametrize("size", [32, 48])
@pytest.mark.parametrize("stated", [-8, 0, 8])
def test_the_drivers_own_size_counts_whatever_the_caller_states(
    core: Core, version: Struct, size: int, stated: int
) -> None:
    """The driver copies what the class has, so that is copied in, and not the caller's word."""
    known = version["memory_alloc_bytes"]
    at = 24 if size == 32 else 32
    found = decode(core, version, 0x2B, rm_alloc(size, 0x40, given=(at, 4, known + stated)))
    assert (found["params_given"], found["params_bytes"]) == (known + stated, known)
    params = block(known, size=(64, 8, 300 * MIB), vaspace=(108, 4, 7))
    assert found.params(params) == 0
    assert found["memory.size_bytes"] == 300 * MIB


@pytest.mark.case("DC-05")
def test_a_longer_block_is_read_as_far_as_it_is_known(core: Core, version: Struct) -> None:
    known = version["memory_alloc_bytes"]
    found = decode(core, version, 0x2B, rm_alloc(48, 0x40))
    assert found.params(block(known, size=(64, 8, 5 * MIB)) + b"\xff" * 8) == 0
    assert found["memory.size_bytes"] == 5 * MIB


@pytest.mark.case("DC-05")
def test_a_shorter_block_is_not_read(core: Core, version: Struct) -> None:
    """Its last byte is the last of its memory: one beyond is an error under AddressSanitizer."""
    known = version["memory_alloc_bytes"]
    for size in (0, 8, 64, 72, known - 8, known - 1):
        found = decode(core, version, 0x2B, rm_alloc(48, 0x40))
        assert found.params(b"\xff" * size) == -errno.EINVAL
        assert found["memory.valid"] == 0


# ---- second stage ----


def test_class_parameters_are_read(core: Core, version: Struct) -> None:
    device = decode(core, version, 0x2B, rm_alloc(32, 0x80))
    fields = {"id": (0, 4, 3), "share": (4, 4, 11), "client": (8, 4, 12), "dev": (12, 4, 13)}
    assert device.params(block(56, **fields)) == 0
    assert device["device_instance"] == 3
    assert device["h_client_share"] == 11
    assert (device["h_target_client"], device["h_target_device"]) == (12, 13)

    group = decode(core, version, 0x2B, rm_alloc(32, 0xA06C))
    assert group.params(block(20, err=(0, 4, 4), va=(8, 4, 5), engine=(12, 4, 1))) == 0
    assert (group["h_error"], group["h_vaspace"], group["engine_type"]) == (4, 5, 1)

    channel = decode(core, version, 0x2B, rm_alloc(32, 0xC56F))
    fields = {"share": (24, 4, 6), "va": (28, 4, 7), "engine": (128, 4, 9)}
    assert channel.params(block(version["channel_alloc_bytes"], **fields)) == 0
    assert channel["h_ctxshare"] == 6
    assert (channel["h_vaspace"], channel["engine_type"]) == (7, 9)

    debugger = decode(core, version, 0x2B, rm_alloc(32, 0x83DE))
    assert debugger.params(block(12, client=(4, 4, 21), obj=(8, 4, 22))) == 0
    assert (debugger["h_other_client"], debugger["h_other_object"]) == (21, 22)


def test_an_events_descriptor_is_a_label(core: Core, version: Struct) -> None:
    event = decode(core, version, 0x2B, rm_alloc(32, 0x79))
    assert event.params(block(24, parent=(0, 4, 1), src=(4, 4, 2), fd=(16, 8, 33))) == 0
    assert event["fd_kind"] == core.names["NVABI_FD_LABEL"]
    assert (event["fd"], event["fd_off"], event["fd_width"]) == (33, 16, 8)
    assert event["fd_in_params"] == 1
    assert (event["h_other_client"], event["h_other_object"]) == (1, 2)


def test_short_parameters_are_refused(core: Core, version: Struct) -> None:
    for row in core.rows("shim_classes", "nvabi_class"):
        size = core.call("shim_class_bytes", version, row["id"])
        found = decode(core, version, 0x2B, rm_alloc(32, row["id"]))
        assert found["params_bytes"] == size
        assert found.params(bytes(size)) == 0, hex(row["id"])
        if size:
            again = decode(core, version, 0x2B, rm_alloc(32, row["id"]))
            assert again.params(bytes(size - 1)) == -errno.EINVAL, hex(row["id"])


def test_an_unknown_class_is_not_looked_into(core: Core, version: Struct) -> None:
    found = decode(core, version, 0x2B, rm_alloc(32, 0xBEEF))
    assert found.params(b"") == 0
    assert found["memory.valid"] == 0


# ---- RM_CONTROL ----


def control(cmd: int, params: int = 0x1000, size: int = 64, flags: int = 0) -> bytes:
    return block(
        32,
        client=(0, 4, 1),
        obj=(4, 4, 2),
        cmd=(8, 4, cmd),
        flags=(12, 4, flags),
        params=(16, 8, params),
        size=(24, 4, size),
    )


def test_a_control_is_read(core: Core, version: Struct) -> None:
    found = decode(core, version, 0x2A, control(0x20801303, size=436, flags=4))
    assert found.kind == "CONTROL"
    assert (found["h_client"], found["h_object"], found["cmd"]) == (1, 2, 0x20801303)
    assert (found["params_ptr"], found["params_bytes"]) == (0x1000, 436)
    assert found["flags"] == 4
    assert (found["params_ptr_off"], found["params_bytes_off"], found["status_off"]) == (
        16,
        24,
        28,
    )


def test_pointer_and_size_must_agree(core: Core, v535: Struct) -> None:
    for params, size in ((0, 8), (0x1000, 0), (0x1000, MIB + 1)):
        found = decode(core, v535, 0x2A, control(0x20800110, params, size))
        assert (found["params_refused"], found["params_bytes"]) == (1, 0)
    nothing = decode(core, v535, 0x2A, control(0x20800110, 0, 0))
    assert (nothing["params_refused"], nothing["params_bytes"]) == (0, 0)


def test_null_controls_have_no_parameters(core: Core, v535: Struct) -> None:
    for cmd in (0, 0x20800000, 0xA06C0000):
        found = decode(core, v535, 0x2A, control(cmd, 0x1000, 64))
        assert (found["params_refused"], found["params_bytes"]) == (0, 0)


def test_converted_controls_have_their_own_size(core: Core, version: Struct) -> None:
    for given_size in (0, 8, 40, U32):
        found = decode(core, version, 0x2A, control(0x101, size=given_size))
        assert found["params_bytes"] == 40
    by_pairs = decode(core, version, 0x2A, control(0x20801301, size=24))
    assert by_pairs["params_bytes"] == (16 if version["converts_fb_get_info"] else 24)


@pytest.mark.parametrize(
    ("cmd", "offset", "width"), [(0x3D05, 16, 4), (0x3D06, 0, 4), (0x3D0A, 72, 4), (0xFD0104, 8, 8)]
)
def test_descriptors_in_controls_are_found(
    core: Core, version: Struct, cmd: int, offset: int, width: int
) -> None:
    found = decode(core, version, 0x2A, control(cmd))
    content = block(offset + width, fd=(offset, width, 17))
    args = (version, found.request, Buffer(content), len(content))
    assert core.call("gsh_decode_control_params", *args) == 0
    assert found["fd"] == 17
    assert found["fd_kind"] == core.names["NVABI_FD_NVIDIA_FILE"]
    assert (found["fd_off"], found["fd_width"], found["fd_in_params"]) == (offset, width, 1)
    short = Buffer(content[:-1])
    again = decode(core, version, 0x2A, control(cmd))
    assert (
        core.call("gsh_decode_control_params", version, again.request, short, short.size)
        == -errno.EINVAL
    )


# ---- embedded pointers ----


def embedded(core: Core, row: Struct, params: bytes) -> tuple[int, int, int]:
    pointer, size = Buffer(bytes(8)), Buffer(bytes(4))
    err = core.call("gsh_embedded_bytes", row, Buffer(params), len(params), pointer, size)
    return err, pointer.u64(0), size.u32(0)


def test_length_of_an_embedded_list_is_count_times_element(core: Core) -> None:
    for row in core.rows("shim_embedded", "nvabi_embedded"):
        size = max(row["pointer_off"] + 8, row["count_off"] + 4)
        content = bytearray(block(size, pointer=(row["pointer_off"], 8, 0x5000)))
        if row["count"] != core.names["NVABI_COUNT_ONE"]:
            content[row["count_off"] : row["count_off"] + 2] = (3).to_bytes(2, "little")
        count = {
            core.names["NVABI_COUNT_SQUARE"]: 9,
            core.names["NVABI_COUNT_ONE"]: 1,
        }.get(row["count"], 3)
        found = embedded(core, row, bytes(content))
        assert found == (0, 0x5000, count * row["element_bytes"]), hex(row["cmd"])


def test_a_null_pointer_has_no_bytes(core: Core) -> None:
    for row in core.rows("shim_embedded", "nvabi_embedded"):
        size = max(row["pointer_off"] + 8, row["count_off"] + 4)
        content = bytearray(b"\xff" * size)
        content[row["pointer_off"] : row["pointer_off"] + 8] = bytes(8)
        assert embedded(core, row, bytes(content)) == (0, 0, 0)


@constant
@given(data=st.data())
def test_no_count_passes_the_limit_or_the_block(core: Core, data: st.DataObject) -> None:
    rows = list(core.rows("shim_embedded", "nvabi_embedded"))
    row = data.draw(st.sampled_from(rows))
    err, _, size = embedded(core, row, data.draw(st.binary(max_size=1100)))
    assert err in {0, -errno.EINVAL, -errno.E2BIG}
    assert size <= MIB


def test_counts_that_overflow_are_refused(core: Core) -> None:
    for row in core.rows("shim_embedded", "nvabi_embedded"):
        if row["count"] not in {core.names["NVABI_COUNT_U32"], core.names["NVABI_COUNT_SQUARE"]}:
            continue
        size = max(row["pointer_off"] + 8, row["count_off"] + 4)
        content = bytearray(size)
        content[row["pointer_off"]] = 1
        content[row["count_off"] : row["count_off"] + 4] = b"\xff" * 4
        assert embedded(core, row, bytes(content))[0] == -errno.E2BIG, hex(row["cmd"])


# ---- other calls ----


def test_mapping_calls_name_memory_and_descriptor(core: Core, version: Struct) -> None:
    fields = {"c": (0, 4, 1), "d": (4, 4, 2), "m": (8, 4, 3), "off": (16, 8, 4), "len": (24, 8, 5)}
    found = decode(core, version, 0x4E, block(56, **fields, fd=(48, 4, U32)))
    assert found.kind == "MAP_MEMORY"
    assert (found["h_client"], found["h_parent"], found["h_object"]) == (1, 2, 3)
    assert (found["offset"], found["length"]) == (4, 5)
    assert found["fd"] == U32, "-1 as its 32 bits"
    assert found["fd_want"] == core.names["NVABI_WANT_EITHER"]
    unmap = decode(core, version, 0x4F, block(32, **{"c": (0, 4, 1), "m": (8, 4, 3)}))
    assert (unmap.kind, unmap["h_object"]) == ("UNMAP_MEMORY", 3)


def test_dma_mappings_follow_the_version(core: Core, version: Struct) -> None:
    content = block(version["map_dma_bytes"], dma=(8, 4, 8), memory=(12, 4, 9))
    found = decode(core, version, 0x57, content)
    assert (found.kind, found["h_dma"], found["h_object"]) == ("MAP_DMA", 8, 9)
    assert found["status_off"] == version["map_dma_status_off"]
    unmap = decode(core, version, 0x58, bytes(version["unmap_dma_bytes"]))
    assert unmap["status_off"] == version["unmap_dma_status_off"]


def test_freeing_and_duplicating_name_their_objects(core: Core, v535: Struct) -> None:
    free = decode(core, v535, 0x29, block(16, c=(0, 4, 1), p=(4, 4, 2), o=(8, 4, 3)))
    assert (free.kind, free["h_client"], free["h_object"]) == ("FREE", 1, 3)
    fields = {"c": (0, 4, 1), "p": (4, 4, 2), "o": (8, 4, 3), "sc": (12, 4, 4), "so": (16, 4, 5)}
    dup = decode(core, v535, 0x34, block(28, **fields))
    assert dup.kind == "DUP"
    assert (dup["h_src_client"], dup["h_src_object"]) == (4, 5)
    assert dup["h_object_off"] == 8


@pytest.mark.parametrize(("class_id", "looked_up"), [(0x3E, True), (0x71, False), (0x40, False)])
def test_the_descriptor_of_alloc_memory_counts_for_one_class(
    core: Core, v535: Struct, class_id: int, looked_up: bool
) -> None:
    content = block(
        56, cls=(12, 4, class_id), address=(24, 8, 0x7000), limit=(32, 8, MIB - 1), fd=(48, 4, 6)
    )
    found = decode(core, v535, 0x27, content, GPU)
    assert found.kind == "ALLOC_MEMORY"
    assert (found["fd_kind"] != 0) == looked_up
    assert (found["address"], found["length"], found["limit_off"]) == (0x7000, MIB, 32)


def test_a_list_of_channels_is_told_from_one_channel(core: Core, v535: Struct) -> None:
    many = decode(core, v535, 0x41, block(56, n=(12, 4, 5)))
    assert (many.kind, many["num_channels"]) == ("IDLE_CHANNELS", 5)
    one = decode(core, v535, 0x41, block(56, n=(12, 4, 5), flags=(40, 4, 1 << 4)))
    assert one["num_channels"] == 0


def test_event_data_goes_through_a_pointer(core: Core, v535: Struct) -> None:
    found = decode(core, v535, 0x52, block(16, ptr=(0, 8, 0x4000)), GPU)
    assert (found.kind, found["params_ptr"], found["params_bytes"]) == (
        "GET_EVENT_DATA",
        0x4000,
        16,
    )


# ---- managed memory ----

UVM_FIELDS = {
    0x21: {"base": "base", "length": "length", "offset": "offset", "h_client": "hClient"},
    0x22: {"base": "base", "length": "length"},
    0x1B: {"base": "base", "length": "length", "h_client": "hClient", "h_object": "hChannel"},
    0x1C: {"h_client": "hClient", "h_object": "hChannel"},
    0x19: {"h_client": "hClient", "h_object": "hVaSpace"},
    0x25: {"h_client": "hClient"},
    0x42: {"base": "base", "length": "length"},
    0x44: {"base": "base", "length": "length"},
    0x49: {"base": "base", "length": "length"},
    0x4B: {"fd": "uvmFd"},
    0x30000001: {"flags": "flags"},
    0x4E: {"base": "base", "length": "length", "h_client": "hClient", "h_object": "hMemory"},
}


def test_uvm_commands_have_the_recorded_size_and_status(
    core: Core, version: Struct, abi: Abi
) -> None:
    for name, entry in abi.json["uvm_ioctls"].items():
        size = Buffer(bytes(4))
        err = core.call("gsh_uvm_bytes", version, entry["cmd"], size)
        struct = entry["struct"]
        recorded = recorded_of(version).structs.get(struct) if struct else None
        if name == "UVM_DEINITIALIZE":
            assert (err, size.u32(0)) == (0, 0)
        elif recorded is None or (
            name.endswith("_V2") and not version["uvm_has_processor_table_v2"]
        ):
            assert err == -errno.EINVAL, name
        else:
            assert (err, size.u32(0)) == (0, recorded.size), name
            request = core.struct("gsh_uvm_request")
            arg = Buffer(bytes(recorded.size))
            args = (version, entry["cmd"], arg, recorded.size, request)
            assert core.call("gsh_decode_uvm", *args) == 0
            assert request["status_off"] == recorded.fields["rmStatus"][0], name
            short = Buffer(bytes(recorded.size - 1))
            args = (version, entry["cmd"], short, short.size, request)
            assert core.call("gsh_decode_uvm", *args) == -errno.EINVAL


def test_uvm_fields_are_where_recorded(core: Core, version: Struct, abi: Abi) -> None:
    by_cmd = {entry["cmd"]: entry["struct"] for entry in abi.json["uvm_ioctls"].values()}
    for cmd, fields in UVM_FIELDS.items():
        recorded = recorded_of(version).structs.get(by_cmd[cmd] or "")
        if recorded is None:
            continue
        content = bytearray(recorded.size)
        fields = {ours: theirs for ours, theirs in fields.items() if theirs in recorded.fields}
        for value, theirs in enumerate(fields.values(), start=1):
            offset, size = recorded.fields[theirs]
            content[offset : offset + size] = (value * 0x01010101).to_bytes(size, "little")
        request = core.struct("gsh_uvm_request")
        args = (version, cmd, Buffer(bytes(content)), recorded.size, request)
        assert core.call("gsh_decode_uvm", *args) == 0
        for value, ours in enumerate(fields, start=1):
            assert request[ours] == value * 0x01010101, (hex(cmd), ours)


def test_unknown_uvm_commands_are_refused(core: Core, version: Struct, abi: Abi) -> None:
    known = {entry["cmd"] for entry in abi.json["uvm_ioctls"].values()}
    request, size = core.struct("gsh_uvm_request"), Buffer(bytes(4))
    for cmd in {*range(0x100), 0x30000000, 0x30000003, 200, U32} - known:
        assert core.call("gsh_uvm_bytes", version, cmd, size) == -errno.EINVAL
        args = (version, cmd, Buffer(bytes(64)), 64, request)
        assert core.call("gsh_decode_uvm", *args) == -errno.EINVAL


@constant
@given(cmd=st.one_of(st.integers(0, 0x60), st.sampled_from([0x30000001])), data=st.data())
def test_no_uvm_content_reads_beyond_its_end(
    core: Core, version: Struct, cmd: int, data: st.DataObject
) -> None:
    content = data.draw(st.binary(max_size=300))
    request = core.struct("gsh_uvm_request")
    core.call("gsh_decode_uvm", version, cmd, Buffer(content), len(content), request)
