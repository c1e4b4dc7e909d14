# SPDX-License-Identifier: GPL-2.0-only
"""The pure C as a library: built here, called through ctypes, structs by the compiler's offsets."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.core import headers

HERE = Path(__file__).resolve().parent
SOURCES = [*sorted((headers.KMOD / "core").glob("*.c")), HERE / "shim.c"]
# Shared with the tests that run in a kernel.
SOURCES += [headers.KMOD / "kunit/books_soak.c"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wmissing-prototypes"]
UNDEFINED = "-fsanitize=undefined,bounds,signed-integer-overflow,shift,alignment"

# set for the run that has libasan loaded before the interpreter
ADDRESS = os.environ.get("GPUSHARE_CORE_ADDRESS") == "1"


def build(folder: Path, compiler: str) -> Path:
    """Compiles kmod/core with the sanitizers of this run."""
    fields = "".join(f"F(nvabi_version, {name}),\n" for name in headers.version_fields())
    (folder / "version_fields.h").write_text("WHOLE(nvabi_version),\n" + fields)
    out = folder / "libcore.so"
    sanitizers = [UNDEFINED, "-fno-sanitize-recover=all"]
    if ADDRESS:
        sanitizers.append("-fsanitize=address")
    subprocess.run(
        [compiler, "-std=gnu11", "-O1", "-g", "-fPIC", "-shared", *WARNINGS]
        # shim has no header: nothing but this file calls it
        + ["-Wno-missing-prototypes", *sanitizers, f"-I{headers.KMOD}", f"-I{folder}"]
        + [str(path) for path in SOURCES]
        + ["-o", str(out)],
        check=True,
    )
    return out


class _Field(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("offset", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
    )


libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class Buffer:
    """Exactly so many bytes of C memory: one byte beyond is an error under ASan."""

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self.address: int = libc.malloc(self.size) if self.size else 0
        assert self.address or not self.size
        if self.size:
            ctypes.memmove(self.address, content, self.size)

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            libc.free(self.address)

    def bytes(self) -> bytes:
        return ctypes.string_at(self.address, self.size) if self.size else b""

    def u32(self, offset: int) -> int:
        return int.from_bytes(self.bytes()[offset : offset + 4], "little")

    def u64(self, offset: int) -> int:
        return int.from_bytes(self.bytes()[offset : offset + 8], "little")


class Struct:
    """One of our structs: fields by item, values as unsigned numbers."""

    def __init__(self, core: Core, type_name: str, address: int | None = None) -> None:
        self._fields = core.fields[type_name]
        size = self._fields[""][1]
        self._memory = Buffer(bytes(size)) if address is None else None
        self.address: int = self._memory.address if self._memory else (address or 0)

    def __getitem__(self, name: str) -> int:
        offset, size = self._fields[name]
        return int.from_bytes(ctypes.string_at(self.address + offset, size), "little")

    def __setitem__(self, name: str, value: int) -> None:
        offset, size = self._fields[name]
        ctypes.memmove(self.address + offset, value.to_bytes(size, "little"), size)

    def text(self, name: str) -> str:
        """A field that points to a string."""
        return ctypes.string_at(self[name]).decode()

    def values(self) -> dict[str, int]:
        return {name: self[name] for name in self._fields if name}


Own = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32)
Pid = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)

U32, U64, PTR = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
# function: result, arguments
SIGNATURES: dict[str, tuple[type | None, list[type]]] = {
    "shim_version": (PTR, [ctypes.c_char_p]),
    "shim_versions": (PTR, [PTR]),
    "shim_version_nearest": (None, [ctypes.c_char_p, PTR, U32]),
    "shim_version_parse": (ctypes.c_bool, [ctypes.c_char_p, PTR]),
    "shim_version_compare": (ctypes.c_int, [PTR, PTR]),
    "shim_classes": (PTR, [PTR]),
    "shim_class_bytes": (U32, [PTR, U32]),
    "shim_embedded": (PTR, [PTR]),
    "shim_embedded_find": (U32, [PTR, U32, PTR]),
    "shim_control_fd": (PTR, [U32]),
    "shim_class_fd": (PTR, [U32]),
    "shim_filter_escape": (None, [PTR, U32, PTR]),
    "shim_filter_class": (None, [PTR, U32, PTR]),
    "shim_filter_control": (None, [PTR, U32, U32, PTR]),
    "shim_filter_uvm": (None, [PTR, U32, PTR]),
    "gsh_books_soak": (U64, [U64, U64]),
    "gsh_account_init": (None, [PTR, U64]),
    "gsh_account_reserve": (ctypes.c_int, [PTR, U64]),
    "gsh_account_fits": (ctypes.c_bool, [PTR, U64]),
    "gsh_account_unreserve": (None, [PTR, U64]),
    "gsh_account_settle": (ctypes.c_bool, [PTR, ctypes.c_int, U64, U64]),
    "gsh_account_charge": (None, [PTR, ctypes.c_int, U64]),
    "gsh_account_release": (U64, [PTR, ctypes.c_int, U64]),
    "gsh_account_move": (U64, [PTR, ctypes.c_int, ctypes.c_int, U64]),
    "gsh_account_set_kind": (ctypes.c_bool, [PTR, ctypes.c_int, U64]),
    "gsh_account_set_quota": (None, [PTR, U64]),
    "gsh_account_peak_reset": (None, [PTR]),
    "gsh_account_over": (ctypes.c_bool, [PTR]),
    "gsh_account_free_bytes": (U64, [PTR, U64]),
    "gsh_card_books_init": (None, [PTR, U64, U64, U32]),
    "gsh_card_grantable_bytes": (U64, [PTR]),
    "gsh_card_ungranted_bytes": (U64, [PTR]),
    "gsh_card_grant_change": (ctypes.c_int, [PTR, U64, U64]),
    "gsh_memory_bounds": (None, [U64, U32, U32, PTR, PTR]),
    "gsh_filter_memory_flags": (U32, [U32]),
    "gsh_decode": (ctypes.c_int, [PTR, U32, ctypes.c_int, PTR, U32, PTR]),
    "gsh_decode_alloc_params": (ctypes.c_int, [PTR, PTR, PTR, U32]),
    "gsh_decode_control_params": (ctypes.c_int, [PTR, PTR, PTR, U32]),
    "gsh_embedded_bytes": (ctypes.c_int, [PTR, PTR, U32, PTR, PTR]),
    "gsh_uvm_bytes": (ctypes.c_int, [PTR, U32, PTR]),
    "gsh_decode_uvm": (ctypes.c_int, [PTR, U32, PTR, U32, PTR]),
    "gsh_view_free_bytes": (U64, [PTR]),
    "gsh_view_fb_value": (U32, [PTR, U32, U32]),
    "gsh_view_fb_info": (ctypes.c_int, [PTR, PTR, U32, U32]),
    "gsh_view_fb_info_v2": (ctypes.c_int, [PTR, PTR, PTR, U32]),
    "gsh_view_fb_regions": (ctypes.c_int, [PTR, PTR, PTR, U32]),
    "gsh_view_vidheap": (ctypes.c_int, [PTR, PTR, U32]),
    "gsh_view_heap_limit": (ctypes.c_int, [PTR, PTR, U32]),
    "gsh_view_card_info": (ctypes.c_int, [PTR, U32, Own, PTR]),
    "gsh_view_probed_ids": (ctypes.c_int, [PTR, PTR, U32, Own, PTR]),
    "gsh_view_attached_ids": (ctypes.c_int, [PTR, U32, Own, PTR]),
    "gsh_view_pids": (ctypes.c_int, [PTR, U32, Pid, PTR]),
    "gsh_view_pid_info_request": (ctypes.c_int, [PTR, U32, Pid, PTR]),
    "gsh_view_pid_info_reply": (ctypes.c_int, [PTR, PTR, U32]),
    "gsh_view_gpumon": (ctypes.c_int, [PTR, PTR, U32, Pid, PTR]),
}

Argument = int | Buffer | Struct | bytes | None | Callable[..., object]


class Core:
    """The library. call("gsh_…", …) takes numbers, buffers, structs and callbacks."""

    def __init__(self, path: Path) -> None:
        self._lib = ctypes.CDLL(str(path))
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments
        self.fields = self._read_fields()
        self.names: dict[str, int] = {}
        for header in ("nvabi/numbers.h", "nvabi/classes.h", "nvabi/embedded.h", "core/filter.h"):
            self.names |= headers.numbers(header) | headers.enums(header)
        for header in ("core/decode.h", "core/books.h", "nvabi/versions.h"):
            self.names |= headers.enums(header)

    def _read_fields(self) -> dict[str, dict[str, tuple[int, int]]]:
        table = ctypes.POINTER(_Field)()
        self._lib.shim_fields.restype = U32
        count = self._lib.shim_fields(ctypes.byref(table))
        fields: dict[str, dict[str, tuple[int, int]]] = {}
        for entry in (table[i] for i in range(count)):
            of_type = fields.setdefault(entry.type.decode(), {})
            of_type[entry.name.decode()] = (entry.offset, entry.bytes)
        return fields

    def call(self, name: str, *arguments: Argument) -> int:
        plain = [
            argument.address if isinstance(argument, (Buffer, Struct)) else argument
            for argument in arguments
        ]
        result = getattr(self._lib, name)(*plain)
        return 0 if result is None else int(result)

    def struct(self, type_name: str, **values: int) -> Struct:
        made = Struct(self, type_name)
        for name, value in values.items():
            made[name] = value
        return made

    def version(self, string: str) -> Struct:
        address = self.call("shim_version", string.encode())
        assert address, string
        return Struct(self, "nvabi_version", address)

    def rows(self, function: str, type_name: str) -> Iterator[Struct]:
        """A table of a header, row by row."""
        count = Buffer(bytes(4))
        first = self.call(function, count)
        for i in range(count.u32(0)):
            yield Struct(self, type_name, first + i * self.fields[type_name][""][1])

    def verdict(self, function: str, *arguments: Argument) -> dict[str, int]:
        out = self.struct("gsh_verdict")
        self.call(f"shim_filter_{function}", *arguments, out)
        return out.values()
