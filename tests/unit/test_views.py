# SPDX-License-Identifier: GPL-2.0-only
"""The module's facts as the API shows them."""

from __future__ import annotations

from gpushared.kernel_types import KernelClient
from gpushared.netlink_abi import NodeKind
from gpushared.views import process_views


def file(pid: int, kind: NodeKind, size_bytes: int, card_uuid: str | None = None) -> KernelClient:
    return KernelClient(
        tenant="a",
        pid=pid,
        tgid=pid,
        comm="python3",
        kind=kind,
        files=1,
        clients=1,
        objects=2,
        bytes=size_bytes,
        card_uuid=card_uuid,
    )


def test_open_files_are_summed_up_by_process_kind_and_card() -> None:
    shown = process_views(
        [
            file(7, NodeKind.GPU, 5, "GPU-a"),
            file(3, NodeKind.CTL, 10),
            file(7, NodeKind.GPU, 6, "GPU-a"),
            file(7, NodeKind.GPU, 1, "GPU-b"),
        ]
    )
    assert [(one.pid, one.card_uuid, one.files, one.charged_bytes) for one in shown] == [
        (3, None, 1, 10),
        (7, "GPU-a", 2, 11),
        (7, "GPU-b", 1, 1),
    ]
    assert (shown[1].clients, shown[1].objects) == (2, 4)
