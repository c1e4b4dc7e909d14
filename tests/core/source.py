# SPDX-License-Identifier: GPL-2.0-only
"""Facts of the interface, read out of a tree of open-gpu-kernel-modules.

Structs by the compiler (dwarf.py), tables by their text: each has one form from 535 to 595. A
table that is not where or not as expected is an error: an empty answer would read as "nothing
differs".
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tests.core.abi import Layout
from tests.core.dwarf import Types, compiled

SDK: Final = "src/common/sdk/nvidia/inc"
UNIX: Final = "src/nvidia/arch/nvalloc/unix"
RMAPI: Final = "src/nvidia/src/kernel/rmapi"
EMBEDDED: Final = f"{RMAPI}/embedded_param_copy.c"
DEPRECATED: Final = "src/nvidia/interface/deprecated/rmapi_deprecated_control.c"
RM_OPS: Final = f"{UNIX}/include/nv-kernel-rmapi-ops.h"
INCLUDES: Final = [
    SDK,
    "src/common/inc",
    f"{UNIX}/include",
    "src/nvidia/inc",
    "src/nvidia/interface",
    "src/nvidia/generated",
    "kernel-open/common/inc",
    "kernel-open/nvidia-uvm",
]
UNIX_HEADERS: Final = [
    "nv-ioctl.h",
    "nv-unix-nvos-params-wrappers.h",
    "nv_escape.h",
    "nv-kernel-rmapi-ops.h",
    "nv-ioctl-lockless-diag.h",  # from 550
    "nv-ioctl-numa.h",
    "nv-modeset-interface.h",
]
UVM_HEADERS: Final = ["uvm_ioctl.h", "uvm_linux_ioctl.h"]
# structs whose name got another end: 595.44.02
RENAMED: Final = {"nv_ioctl_query_device_intr": "nv_ioctl_query_device_intr_t"}
# numbers of the ioctls, as the driver names them
UVM_FILES: Final = [f"kernel-open/nvidia-uvm/{name}" for name in UVM_HEADERS]
ESCAPE_FILES: Final = [
    "kernel-open/common/inc/nv-ioctl-numbers.h",
    f"{UNIX}/include/nv_escape.h",
    "kernel-open/common/inc/nv-ioctl-numa.h",
]

STATUS: Final = re.compile(r"^NV_STATUS_CODE\((\w+),\s*(0x[0-9A-Fa-f]+)", re.MULTILINE)
COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DEFINE: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
LITERAL: Final = re.compile(r"^(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)[uUlL]*$")
BASED: Final = re.compile(r"^(?:NV_IOCTL_BASE\s*\+\s*|UVM_IOCTL_BASE\()(\d+)\)?$")
EXPORT: Final = re.compile(
    r"/\*flags=\*/\s*0x([0-9a-f]+)u,\s*/\*accessRight=\*/\s*0x[0-9a-f]+u,"
    r"\s*/\*methodId=\*/\s*0x([0-9a-f]+)u,\s*/\*paramSize=\*/\s*([^,]+?),"
)
SIZEOF: Final = re.compile(r"sizeof\(\s*(\w+)\s*\)")
CASE: Final = re.compile(r"\n\s*case (\w+):")
FIELD: Final = re.compile(r"(?:\(\((\w+)\s*\*\)pParams\)|pParams|userParams)->([\w.]+)")
IOCTL_ENTRY: Final = re.compile(r"_IOCTL_ENTRY\((NV_ESC_\w+),\s*(\w+)(?:,\s*(NV_TRUE|NV_FALSE))?\)")
IOCTL_BASE: Final = 200
COMPUTED: Final = -1


class NotAsExpected(Exception):
    """The tree does not look like one of open-gpu-kernel-modules, or its form has changed."""


@dataclass(frozen=True)
class Control:
    """One row of the tables that the driver generates. Who may call it: any, root, kernel."""

    bytes: int
    who: str


@dataclass(frozen=True)
class Class:
    """One row of resource_list.h: none, optional or required parameters; none, root, kernel."""

    name: str
    bytes: int
    params: str
    privilege: str


@dataclass(frozen=True)
class Pointer:
    """A pointer in a control's parameters; COMPUTED where the source works it out."""

    off: int
    count_off: int
    element_bytes: int
    direction: str  # in, out, inout
    converted_bytes: int  # of a control that the driver turns into another; else 0


@dataclass(frozen=True)
class Kernel:
    """The driver's kernel interface and its check for open cards."""

    op_bytes: int
    alloc_struct: str
    open_gpu_has_bool: bool
    presence_by_number: bool
    gpl_only: bool
    ioctls_are_listed: bool


def number(text: str) -> int | None:
    """0x12U, (NV_IOCTL_BASE + 3), UVM_IOCTL_BASE(34)."""
    bare = COMMENT.sub("", text).strip()
    while bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1].strip()
    if found := LITERAL.match(bare):
        octal = found[1].startswith("0") and found[1].isdigit()
        return int(found[1], 8 if octal else 0)
    if found := BASED.match(bare):
        return int(found[1]) + (IOCTL_BASE if bare.startswith("NV_") else 0)
    return None


def arguments(text: str, start: int) -> list[str]:
    """What stands between the bracket that opens at start and the one that closes it."""
    found: list[str] = []
    depth, current = 0, ""
    for letter in text[start:]:
        if letter in "([{":
            depth += 1
            if depth == 1:
                continue
        if letter in ")]}":
            depth -= 1
            if not depth:
                return [*found, current.strip()]
        if letter == "," and depth == 1:
            found.append(current.strip())
            current = ""
        else:
            current += letter
    raise NotAsExpected("a bracket does not close")


class Tree:
    """An unpacked tree. Everything is read when it is asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.control_structs: dict[int, str] = {}  # filled by controls
        if not (root / "version.mk").is_file():
            raise NotAsExpected(f"{root} is no tree of open-gpu-kernel-modules: no version.mk")

    def text(self, name: str) -> str:
        path = self.root / name
        if not path.is_file():
            raise NotAsExpected(f"{path} is missing")
        return path.read_text(encoding="utf-8", errors="replace")

    @cached_property
    def version(self) -> str:
        found = re.search(r"^NVIDIA_VERSION\s*=\s*(\S+)", self.text("version.mk"), re.MULTILINE)
        if found is None:
            raise NotAsExpected("version.mk names no version")
        return found[1]

    # ---- structs ----

    def _compiled(self, headers: list[str]) -> Types:
        folders = [self.root / folder for folder in INCLUDES]
        with tempfile.TemporaryDirectory() as place:
            source = Path(place) / "probe.c"
            lines = ["#include <stddef.h>", "#include <stdint.h>"]
            lines += [f'#include "{name}"' for name in headers]
            source.write_text("\n".join(lines) + "\nint probe;\n")
            return compiled(source, folders, ("NV_LINUX", "NVRM"))

    @cached_property
    def headers(self) -> list[Path]:
        """Of allocations, classes and controls."""
        sdk = self.root / SDK
        found = [path for name in ("alloc", "class", "ctrl") for path in (sdk / name).rglob("*.h")]
        if not found:
            raise NotAsExpected(f"{sdk} has no headers of classes and controls")
        return sorted(found)

    @cached_property
    def _types(self) -> list[Types]:
        sdk = self.root / SDK
        names = [str(path.relative_to(sdk)) for path in self.headers]
        places = [self.root / UNIX / "include", self.root / "kernel-open/common/inc"]
        names += [name for name in UNIX_HEADERS if any((at / name).is_file() for at in places)]
        rest = ["nvtypes.h", "nvos.h", "rs_access.h"]
        return [self._compiled([*rest, *names]), self._compiled(["nvtypes.h", *UVM_HEADERS])]

    def layout(self, struct: str) -> Layout | None:
        """None: this driver has no such struct."""
        for name in (struct, RENAMED.get(struct, struct)):
            for types in self._types:
                if (found := types.layout(name)) is not None:
                    return found
        return None

    def bytes(self, text: str) -> int:
        """`sizeof(X)`, a type's name, or a number. COMPUTED for anything else."""
        found = SIZEOF.fullmatch(text)
        value = number(text)
        if value is not None:
            return value
        layout = self.layout(found[1] if found else text)
        return layout.size if layout else COMPUTED

    # ---- numbers ----

    def _defined(self, text: str) -> dict[str, int]:
        """Macros that are one number, or the name of such a one."""
        words = dict(DEFINE.findall(text))
        found: dict[str, int] = {}
        for name in words:
            word = words[name]
            for _ in range(4):  # a name of a name
                word = words.get(COMMENT.sub("", word).strip(" ()"), word)
            value = number(word)
            if value is not None:
                found[name] = value
        return found

    @cached_property
    def macros(self) -> dict[str, int]:
        """Of the headers of classes, controls, allocations and calls; statuses, too."""
        sdk = self.root / SDK
        paths = [*self.headers, *sorted(sdk.glob("*.h"))]
        text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)
        text += self.text("src/nvidia/generated/g_allclasses.h")
        found = self._defined(text)
        return found | {name: int(value, 0) for name, value in STATUS.findall(text)}

    @cached_property
    def escapes(self) -> dict[str, int]:
        found = self._defined("\n".join(self.text(name) for name in ESCAPE_FILES))
        return {name: value for name, value in found.items() if name.startswith("NV_ESC_")}

    @cached_property
    def uvm(self) -> dict[str, int]:
        text = "\n".join(self.text(name) for name in UVM_FILES)
        commands = [name for name, _ in DEFINE.findall(text) if self.layout(f"{name}_PARAMS")]
        found = self._defined(text)
        return {name: found[name] for name in commands if name in found}

    # ---- tables ----

    @cached_property
    def _flags(self) -> dict[str, int]:
        """Bits of the exported tables: their places change from driver to driver."""
        found = self._defined(self.text("src/nvidia/inc/kernel/rmapi/control.h"))
        names = ("PRIVILEGED", "NON_PRIVILEGED", "INTERNAL")
        return {name: found[f"RMCTRL_FLAGS_{name}"] for name in names}

    def _who(self, flags: int) -> str:
        """A control that is internal is the driver's own, as kernel is."""
        if flags & self._flags["INTERNAL"]:
            return "kernel"
        if flags & self._flags["NON_PRIVILEGED"]:
            return "any"
        return "root" if flags & self._flags["PRIVILEGED"] else "kernel"

    @cached_property
    def controls(self) -> dict[int, Control]:
        """By number: what the generated tables export."""
        found: dict[int, Control] = {}
        for path in sorted((self.root / "src/nvidia/generated").glob("g_*_nvoc.c")):
            text = path.read_text(encoding="utf-8", errors="replace")
            for flags, method, size in EXPORT.findall(text):
                number = int(method, 16)
                found[number] = Control(self.bytes(size), self._who(int(flags, 16)))
                if struct := SIZEOF.fullmatch(size):
                    self.control_structs[number] = struct[1]
        if not found:
            raise NotAsExpected("src/nvidia/generated exports no control")
        return found

    @cached_property
    def control_names(self) -> dict[int, str]:
        named = {
            value: name
            for name, value in self.macros.items()
            if "_CTRL_CMD_" in name and value > 0xFF
        }
        return {number: named.get(number, "") for number in self.controls}

    @cached_property
    def classes(self) -> dict[int, Class]:
        text = self.text(f"{RMAPI}/resource_list.h")
        text = re.sub(r"#if[^\n]*DEBUG.*?#endif", "", text, flags=re.DOTALL)
        found: dict[int, Class] = {}
        for entry in re.finditer(r"^RS_ENTRY\(", COMMENT.sub("", text), re.MULTILINE):
            fields = arguments(COMMENT.sub("", text), entry.end() - 1)
            name, params, flags = fields[0], fields[4], fields[6]
            kind, _, struct = params.partition("(")
            struct = struct.rstrip(")").strip()
            privilege = "root" if "ALLOC_PRIVILEGED" in flags else "none"
            if "ALLOC_KERNEL_PRIVILEGED" in flags or "INTERNAL_ONLY" in flags:
                privilege = "kernel"
            if name not in self.macros:
                raise NotAsExpected(f"class {name} has no number")
            size = self.bytes(struct) if struct else 0
            found[self.macros[name]] = Class(
                name, size, kind.removeprefix("RS_").lower().strip(), privilege
            )
        if not found:
            raise NotAsExpected("resource_list.h has no class")
        return found

    @cached_property
    def listed_sizes(self) -> dict[int, tuple[int, bool]]:
        """From 595: what an ioctl's size is checked with before anything else; any multiple?"""
        names = ["kernel-open/nvidia/nv.c", f"{UNIX}/src/osapi.c", f"{UNIX}/src/escape.c"]
        found: dict[int, tuple[int, bool]] = {}
        for name in names:
            for escape, struct, many in IOCTL_ENTRY.findall(self.text(name)):
                found[self.escapes[escape]] = (self.bytes(struct), many == "NV_TRUE")
        return found

    # ---- pointers in parameters ----

    def _pointer(self, struct: str, body: str, call: re.Match[str]) -> Pointer | None:
        args = arguments(body, call.end() - 1)
        copy, first, count, element = args[0], args[1], args[3], args[4]
        where = FIELD.search(first)
        fields = (self.layout(struct) or Layout(0, {})).fields
        if where is None or where[2] not in fields:
            return None
        counted = FIELD.fullmatch(count)
        at = fields.get(counted[2], (COMPUTED, 0))[0] if counted else COMPUTED
        flags = set(re.findall(re.escape(copy) + r"\.flags \|= RMAPI_PARAM_COPY_FLAGS_(\w+)", body))
        direction = "out" if "SKIP_COPYIN" in flags else "inout"
        if "SKIP_COPYOUT" in flags:
            direction = "in"
        return Pointer(fields[where[2]][0], at, self.bytes(element), direction, 0)

    @cached_property
    def pointers(self) -> dict[int, list[Pointer]]:
        """By control: what embedded_param_copy.c copies in and out, but for display and I2C."""
        text = self.text(EMBEDDED).split("embeddedParamCopyOut", 1)[0]
        cases = list(CASE.finditer(text))
        found: dict[int, list[Pointer]] = {}
        for i, case in enumerate(cases):
            body = text[case.end() : cases[i + 1].start() if i + 1 < len(cases) else len(text)]
            struct = re.search(r"CHECK_PARAMS_OR_RETURN\(\w+,\s*(\w+)\)", body)
            calls = re.finditer(r"RMAPI_PARAM_COPY_INIT\(", body)
            if struct is None or case[1] not in self.macros:
                continue
            read = [self._pointer(struct[1], body, call) for call in calls]
            found[self.macros[case[1]]] = [one for one in read if one is not None]
        return found | self._converted

    @cached_property
    def _converted(self) -> dict[int, list[Pointer]]:
        """Controls that the driver turns into newer ones: their blocks have a size of its own."""
        text = COMMENT.sub("", self.text(DEPRECATED))
        found: dict[int, list[Pointer]] = {}
        for call in re.finditer(r"^ +CONVERT_TO_V2(?:_EX)?\(", text, re.MULTILINE):
            args = arguments(text, call.end() - 1)
            old, count, element = args[1], args[5], args[7]
            names = re.findall(r"V2_CONVERTER\(_(\w+)\)", text[: call.start()])
            layout = self.layout(old)
            if not names or layout is None or args[3] not in layout.fields:
                continue
            at, counted = layout.fields[args[3]][0], layout.fields[count][0]
            pointer = Pointer(at, counted, self.bytes(element), "inout", layout.size)
            found[self.macros[names[-1]]] = [pointer]
        return found

    @cached_property
    def commands_with_pointers(self) -> set[str]:
        """By name, also those whose body is not read."""
        embedded = self.text(EMBEDDED).split("embeddedParamCopyOut", 1)[0]
        table = re.findall(r"V2_CONVERTER\(_(\w+)\)", self.text(DEPRECATED))
        return {name for name in CASE.findall(embedded) if "_CTRL_" in name} | set(table)

    # ---- kernel interface ----

    @cached_property
    def kernel(self) -> Kernel:
        header = self.text("kernel-open/common/inc/nv-modeset-interface.h")
        export = self.text("kernel-open/nvidia/nv-modeset-interface.c")
        nv = self.text("kernel-open/nvidia/nv.c")
        alloc = re.search(r"(NVOS\d+_PARAMETERS)\s+alloc;", self.text(RM_OPS))
        opening = re.search(r"\(\*open_gpu\)\(([^)]*)\)", header)
        if alloc is None or opening is None:
            raise NotAsExpected("the kernel interface does not look as it did")
        return Kernel(
            op_bytes=self.bytes("nvidia_kernel_rmapi_ops_t"),
            alloc_struct=alloc[1],
            open_gpu_has_bool="NvBool" in opening[1],
            presence_by_number=not re.search(r"f_op\s*[!=]=\s*&", nv),
            gpl_only=bool(re.search(r"^NV_EXPORT_SYMBOL", export, re.MULTILINE)),
            ioctls_are_listed="nv_validate_ioctls" in nv,
        )
