# SPDX-License-Identifier: GPL-2.0-only
"""What is read out of a tree is what stands there. The tree is a small one, made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import needed
from tests.core import facts, fields, versions
from tests.core.source import COMPUTED, Class, Control, Kernel, NotAsExpected, Pointer, Tree

SDK = "src/common/sdk/nvidia/inc"
UNIX = "src/nvidia/arch/nvalloc/unix"
RMAPI = "src/nvidia/src/kernel/rmapi"
FILES = {
    "version.mk": "NVIDIA_VERSION = 999.10.01\n",
    f"{SDK}/nvtypes.h": """
        #ifndef TYPES
        #define TYPES
        typedef unsigned char NvU8; typedef unsigned int NvU32; typedef unsigned long long NvU64;
        typedef NvU8 NvBool; typedef void *NvP64; typedef NvU32 NvHandle;
        #endif
    """,
    f"{SDK}/nvos.h": """
        #define ROOT_CLASS (0x00000041)
        #define OTHER_NAME_OF_IT ROOT_CLASS
        typedef struct { NvHandle hRoot; NvU32 status; } NVOS00_PARAMETERS;
        typedef struct { NvHandle hRoot; NvU64 fill[5]; } NVOS64_PARAMETERS;
    """,
    f"{SDK}/rs_access.h": "",
    f"{SDK}/alloc/alloc_thing.h": """
        typedef struct {
            NvU32 first;
            struct { NvU8 small; NvU64 large __attribute__((aligned(8))); } inner;
            union { NvU32 word; NvU8 bytes[4]; };
            const NvU8 list[3];
        } THING_PARAMS;
    """,
    f"{SDK}/class/clbeef.h": "#define THING_CLASS (0xbeefU) /* finn: as generated */\n",
    f"{SDK}/ctrl/ctrlbeef.h": """
        #define NVBEEF_CTRL_CMD_READ (0xbeef0101U)
        #define NVBEEF_CTRL_CMD_OLD_READ (0xbeef0102U)
        #define NVBEEF_CTRL_CMD_EMPTY (0xbeef0103U)
        typedef struct { NvU32 count; NvP64 list; } NVBEEF_CTRL_READ_PARAMS;
        typedef struct { NvU64 a, b; } NVBEEF_ITEM;
    """,
    f"{RMAPI}/resource_list.h": """
RS_ENTRY(
    /* External Class         */ ROOT_CLASS,
    /* Internal Class         */ Root,
    /* Multi-Instance         */ NV_FALSE,
    /* Parents                */ RS_ROOT_OBJECT,
    /* Alloc Param Info       */ RS_OPTIONAL(NvHandle),
    /* Resource Free Priority */ DEFAULT,
    /* Flags                  */ RS_FLAGS_ALLOC_NON_PRIVILEGED,
    /* Required Access Rights */ NONE
)
RS_ENTRY(
    /* External Class         */ THING_CLASS,
    /* Internal Class         */ Thing,
    /* Multi-Instance         */ NV_TRUE,
    /* Parents                */ RS_LIST(classId(Root), classId(Other)),
    /* Alloc Param Info       */ RS_REQUIRED(THING_PARAMS),
    /* Resource Free Priority */ DEFAULT,
    /* Flags                  */ RS_FLAGS_ALLOC_PRIVILEGED | RS_FLAGS_OTHER,
    /* Required Access Rights */ NONE
)
#if defined(DEBUG)
RS_ENTRY(
    /* External Class         */ NOT_THERE
)
#endif
    """,
    f"{RMAPI}/embedded_param_copy.c": """
embeddedParamCopyIn() {
    switch (cmd) {
        case NVBEEF_CTRL_CMD_READ:
        {
            CHECK_PARAMS_OR_RETURN(p, NVBEEF_CTRL_READ_PARAMS);
            RMAPI_PARAM_COPY_INIT(paramCopies[0],
                ((NVBEEF_CTRL_READ_PARAMS*)pParams)->list,
                ((NVBEEF_CTRL_READ_PARAMS*)pParams)->list,
                ((NVBEEF_CTRL_READ_PARAMS*)pParams)->count, sizeof(NVBEEF_ITEM));
            paramCopies[0].flags |= RMAPI_PARAM_COPY_FLAGS_SKIP_COPYIN;
            break;
        }
    }
}
embeddedParamCopyOut() { switch (cmd) { case NVBEEF_CTRL_CMD_EMPTY: break; } }
    """,
    "src/nvidia/interface/deprecated/rmapi_deprecated_control.c": """
static NV_STATUS V2_CONVERTER(_NVBEEF_CTRL_CMD_OLD_READ)(args)
{
    CONVERT_TO_V2(NVBEEF_CTRL_CMD_READ, // new
                  NVBEEF_CTRL_READ_PARAMS, NVBEEF_CTRL_READ_PARAMS, list, list, count,
                  NV_TRUE, NvU32, NV_TRUE, NV_TRUE);
}
    """,
    "src/nvidia/inc/kernel/rmapi/control.h": """
        #define RMCTRL_FLAGS_PRIVILEGED 0x10
        #define RMCTRL_FLAGS_NON_PRIVILEGED 0x20
        #define RMCTRL_FLAGS_INTERNAL 0x40
    """,
    "src/nvidia/generated/g_allclasses.h": "",
    "src/nvidia/generated/g_thing_nvoc.c": """
        /*flags=*/      0x120u,
        /*accessRight=*/0x0u,
        /*methodId=*/   0xbeef0101u,
        /*paramSize=*/  sizeof(NVBEEF_CTRL_READ_PARAMS),
        /*flags=*/      0x10u,
        /*accessRight=*/0x2u,
        /*methodId=*/   0xbeef0103u,
        /*paramSize=*/  0,
        /*flags=*/      0x60u,
        /*accessRight=*/0x0u,
        /*methodId=*/   0xbeef0104u,
        /*paramSize=*/  sizeof(NVBEEF_ITEM),
    """,
    f"{UNIX}/include/nv_escape.h": "#define NV_ESC_RM_FREE 0x29\n",
    f"{UNIX}/include/nv-ioctl.h": "typedef struct { NvU32 card; NvU32 more; } nv_ioctl_card_t;\n",
    f"{UNIX}/include/nv-kernel-rmapi-ops.h": """
        typedef struct {
            NvU32 op;
            union { NVOS00_PARAMETERS free; NVOS64_PARAMETERS alloc; } params;
        } nvidia_kernel_rmapi_ops_t;
    """,
    f"{UNIX}/src/osapi.c": "",
    f"{UNIX}/src/escape.c": "_RM_ESC_IOCTL_ENTRY(NV_ESC_RM_FREE, NVOS00_PARAMETERS),\n",
    "kernel-open/common/inc/nv-ioctl-numbers.h": """
        #define NV_IOCTL_BASE 200
        #define NV_ESC_CARD_INFO (NV_IOCTL_BASE + 0)
    """,
    "kernel-open/common/inc/nv-ioctl-numa.h": "",
    "kernel-open/common/inc/nv-modeset-interface.h": """
        typedef struct { int (*open_gpu)(NvU32 gpu_id, void *sp, NvBool aware); } ops_t;
    """,
    "kernel-open/nvidia/nv.c": """
        _NV_IOCTL_ENTRY(NV_ESC_CARD_INFO, nv_ioctl_card_t, NV_TRUE),
        nv_validate_ioctls(cmd); if (filp->f_op != &nvidia_fops) continue;
    """,
    "kernel-open/nvidia/nv-modeset-interface.c": "NV_EXPORT_SYMBOL(nvidia_get_rm_ops);\n",
    "kernel-open/nvidia-uvm/uvm_ioctl.h": """
        #define UVM_IOCTL_BASE(i) i
        #define UVM_FREE UVM_IOCTL_BASE(34)
        typedef struct { NvU64 base; NvU32 rmStatus; } UVM_FREE_PARAMS;
        #define UVM_NUMBER_WITHOUT_PARAMETERS UVM_IOCTL_BASE(35)
    """,
    "kernel-open/nvidia-uvm/uvm_linux_ioctl.h": """
        #define UVM_INITIALIZE 0x30000001
        typedef struct { NvU64 flags; NvU32 rmStatus; } UVM_INITIALIZE_PARAMS;
    """,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The tree; tests may change it before it is read."""
    needed("gcc")
    needed("readelf")
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


def test_structs_are_as_the_compiler_lays_them_out(root: Path) -> None:
    found = Tree(root).layout("THING_PARAMS")
    assert found is not None
    assert found.size == 32
    assert found.fields == {
        "first": (0, 4),
        "inner": (8, 16),
        "inner.small": (8, 1),
        "inner.large": (16, 8),
        "word": (24, 4),
        "bytes": (24, 4),
        "list": (28, 3),
    }
    assert Tree(root).layout("NO_SUCH_STRUCT") is None


def test_numbers_are_read_in_each_of_their_forms(root: Path) -> None:
    tree = Tree(root)
    assert tree.version == "999.10.01"
    assert tree.macros["THING_CLASS"] == 0xBEEF
    assert tree.macros["OTHER_NAME_OF_IT"] == 0x41
    assert tree.escapes == {"NV_ESC_RM_FREE": 0x29, "NV_ESC_CARD_INFO": 200}
    assert tree.uvm == {"UVM_FREE": 34, "UVM_INITIALIZE": 0x30000001}


def test_tables_are_read(root: Path) -> None:
    tree = Tree(root)
    assert tree.controls == {
        0xBEEF0101: Control(16, "any"),
        0xBEEF0103: Control(0, "root"),
        0xBEEF0104: Control(16, "kernel"),
    }
    assert tree.classes == {
        0x41: Class("ROOT_CLASS", 4, "optional", "none"),
        0xBEEF: Class("THING_CLASS", 32, "required", "root"),
    }
    assert tree.pointers == {
        0xBEEF0101: [Pointer(8, 0, 16, "out", 0)],
        0xBEEF0102: [Pointer(8, 0, 4, "inout", 16)],
    }
    assert tree.listed_sizes == {200: (8, True), 0x29: (8, False)}
    assert tree.kernel == Kernel(56, "NVOS64_PARAMETERS", True, False, True, True)


def test_a_count_that_is_worked_out_is_said_to_be(root: Path) -> None:
    path = root / RMAPI / "embedded_param_copy.c"
    path.write_text(path.read_text().replace("->count, sizeof", "->count * 2, sizeof"))
    assert Tree(root).pointers[0xBEEF0101] == [Pointer(8, COMPUTED, 16, "out", 0)]


@pytest.mark.parametrize(
    ("gone", "question"),
    [
        (f"{RMAPI}/resource_list.h", "classes"),
        (f"{RMAPI}/embedded_param_copy.c", "pointers"),
        ("src/nvidia/generated/g_thing_nvoc.c", "controls"),
        ("kernel-open/nvidia/nv.c", "kernel"),
    ],
)
def test_what_is_missing_is_an_error_and_no_empty_answer(
    root: Path, gone: str, question: str
) -> None:
    (root / gone).unlink()
    with pytest.raises(NotAsExpected):
        getattr(Tree(root), question)


def test_another_folder_is_no_tree(tmp_path: Path) -> None:
    with pytest.raises(NotAsExpected, match=r"no version\.mk"):
        Tree(tmp_path)


# ---- the record and the comparison ----


def test_the_record_gives_back_what_was_measured(root: Path, tmp_path: Path) -> None:
    found = facts.of_tree(Tree(root))
    path = tmp_path / "record.json"
    facts.save(facts.write([found, facts.of_record("535.261.03")]), path)
    assert facts.recorded_versions(path) == ["535.261.03", "999.10.01"]
    assert facts.of_record("999.10.01", path) == found
    assert facts.of_record("535.261.03", path) == facts.of_record("535.261.03")


def test_a_difference_is_told_with_the_edit_that_it_asks_for(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = root / "kernel-open/nvidia-uvm/uvm_ioctl.h"
    before = facts.of_tree(Tree(root))
    path.write_text(path.read_text().replace("NvU64 base;", "NvU64 base; NvU64 length;"))
    after = facts.of_tree(Tree(root))
    lines = list(versions.report(before, after))
    assert "    .uvm_free_bytes = 24, /* was 16 */" in lines
    assert "    .uvm_free_length_off = 8, /* was 0 */" in lines
    assert any(line.strip().startswith("UVM_FREE_PARAMS: 16 -> 24 bytes") for line in lines)
    assert "      + length: at 8, 8 bytes" in lines
    assert fields.row(after)["uvm_free_status_off"] == 16


def test_drivers_with_one_interface_need_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert versions.main(["570.86.15", "570.211.01"]) == 0
    told = capsys.readouterr().out
    assert 'no field differs: { .string = "570.211.01", NVABI_570_86_15 } is enough' in told


def test_the_known_differences_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert versions.main(["580.126.20", "595.45.04"]) == 0
    told = capsys.readouterr().out
    for line in (
        ".name_string_bytes = 68, /* was 132 */",
        ".p2p_alloc_bytes = 88, /* was 72 */",
        ".uvm_free_length_off = 0, /* was 8 */",
        ".checks_ioctl_sizes = 1, /* was 0 */",
        "- UVM_ENABLE_SYSTEM_WIDE_ATOMICS: was 0x36",
        "- 0x0042: was NV_MEMORY_EXTENDED_USER",
        "0x20800110: 132 bytes, any -> 68 bytes, any",
        "open_gpu_has_bool: False -> True",
    ):
        assert line in told


def test_a_version_that_is_not_recorded_says_where_to_get_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert versions.main(["535.261.03", "999.10.01"]) == 1
    assert "--source" in capsys.readouterr().err
    assert versions.main(["535.261.03", "999.10.02", "--source", str(root)]) == 1
    assert "is 999.10.01, not 999.10.02" in capsys.readouterr().err
    assert versions.main(["535.261.03", "999.10.01", "--source", str(root)]) == 0
    assert "535.261.03 -> 999.10.01" in capsys.readouterr().out
