# SPDX-License-Identifier: GPL-2.0-only
"""The netlink interface: one source, and what the library says of it agrees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pydantic import BaseModel

from gpushare import compute, models, names
from gpushared import netlink_abi
from gpushared.kernel_types import (
    KernelCard,
    KernelClient,
    KernelEvent,
    KernelInfo,
    KernelNode,
    KernelShare,
    KernelStats,
    KernelTenant,
)
from tests.conftest import needed

FACTS: dict[str, type[BaseModel]] = {
    "info": KernelInfo,
    "card": KernelCard,
    "share": KernelShare,
    "node": KernelNode,
    "tenant": KernelTenant,
    "client": KernelClient,
    "stats": KernelStats,
    "event": KernelEvent,
}
REQUEST_ONLY = {"unbind", "force"}


def test_generated_files_are_current(root: Path) -> None:
    script = root / "kmod" / "uapi" / "generate.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_attribute_has_a_field_of_its_name() -> None:
    for set_name, attributes in netlink_abi.ATTRIBUTE_SETS.items():
        wanted = {
            attribute.name.replace("-", "_")
            for attribute in attributes
            if attribute.kind != "pad" and attribute.name not in REQUEST_ONLY
        }
        assert set(FACTS[set_name].model_fields) == wanted


def test_limits_of_library_and_kernel_are_the_same() -> None:
    assert names.NAME_MAX_BYTES == netlink_abi.NAME_MAX
    assert models.SHARES_MAX == netlink_abi.SHARES_MAX
    assert compute.PERMILLE_MAX == netlink_abi.PERMILLE_MAX
    assert compute.WEIGHT_MAX == netlink_abi.WEIGHT_MAX
    assert compute.WEIGHT_DEFAULT == netlink_abi.WEIGHT_DEFAULT
    assert compute.PRIORITY_MAX == netlink_abi.PRIORITY_MAX


def test_the_header_compiles_by_itself(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "uses.c"
    source.write_text(
        "#include <gpushare.h>\n"
        f'_Static_assert(GPUSHARE_CMD_EVENT == {netlink_abi.Command.EVENT.value}, "");\n'
        f"_Static_assert(GPUSHARE_A_SHARE_POLICY == "
        f'{_number("share", "policy")}, "");\n'
        f'_Static_assert(GPUSHARE_MODE_DEFAULT == {netlink_abi.MODE_DEFAULT}, "");\n',
        encoding="utf-8",
    )
    include = root / "kmod" / "uapi"
    subprocess.run(
        [needed("gcc"), "-std=c11", "-Wall", "-Werror", "-fsyntax-only", f"-I{include}", source],
        check=True,
    )


def _number(set_name: str, name: str) -> int:
    found = [one.number for one in netlink_abi.ATTRIBUTE_SETS[set_name] if one.name == name]
    return found[0]
