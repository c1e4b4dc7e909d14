# SPDX-License-Identifier: GPL-2.0-only
"""The module's facts as the API shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from gpushare import models
from gpushared.kernel_types import (
    KernelClient,
    KernelInfo,
    KernelNode,
    KernelShare,
    KernelStats,
    KernelTenant,
)
from gpushared.netlink_abi import NodeKind
from gpushared.nvml_types import NvmlAnswer
from gpushared.placement import Card
from gpushared.reconcile import POLICY_NAMES

# compute is stored and shown; the module does not act on it yet
COMPUTE_ENFORCED: Final = False

_KINDS: Final = {NodeKind.CTL: "ctl", NodeKind.GPU: "gpu", NodeKind.UVM: "uvm"}


def tenant_view(tenant: KernelTenant, cards: Sequence[Card]) -> models.Tenant:
    indexes = {card.kernel.uuid: card.index for card in cards}
    return models.Tenant(
        name=tenant.name,
        uuid=tenant.uuid,
        owner_uid=tenant.owner_uid,
        owner_gid=tenant.owner_gid,
        mode=f"{tenant.mode:04o}",
        cgroup_id=tenant.cgroup_id,
        state=tenant.state,
        open_files=tenant.open_files,
        shares=[_share_view(share, indexes.get(share.card_uuid)) for share in tenant.share],
        nodes=[_node_view(node) for node in tenant.node],
    )


def card_view(card: Card) -> models.Card:
    kernel = card.kernel
    return models.Card(
        index=card.index,
        uuid=kernel.uuid,
        minor=kernel.minor,
        pci=kernel.pci,
        name=kernel.name or (card.nvml.name if card.nvml else ""),
        total_bytes=kernel.total_bytes,
        reserved_bytes=kernel.reserved_bytes,
        grantable_bytes=kernel.grantable_bytes,
        granted_bytes=kernel.granted_bytes,
        ungranted_bytes=kernel.ungranted_bytes,
        free_bytes=kernel.free_bytes,
        charged_bytes=kernel.charged_bytes,
        outside_bytes=kernel.outside_bytes,
        residue_bytes=kernel.residue_bytes,
        shares=kernel.shares,
        state=kernel.state,
        reason=kernel.reason,
        utilisation_percent=card.nvml.utilisation_percent if card.nvml else None,
    )


def process_views(clients: Sequence[KernelClient]) -> list[models.Process]:
    """The module tells of every open file; here they are summed up by process, kind and card."""
    groups: dict[tuple[int, NodeKind, str], list[KernelClient]] = {}
    for client in clients:
        key = (client.pid, client.kind, client.card_uuid or "")
        groups.setdefault(key, []).append(client)
    return [_process_view(groups[key]) for key in sorted(groups)]


def _process_view(files: Sequence[KernelClient]) -> models.Process:
    first = files[0]
    return models.Process(
        tenant=first.tenant,
        pid=first.pid,
        tgid=first.tgid,
        comm=first.comm,
        kind=_KINDS[first.kind],
        files=sum(client.files for client in files),
        clients=sum(client.clients for client in files),
        objects=sum(client.objects for client in files),
        charged_bytes=sum(client.bytes for client in files),
        card_uuid=first.card_uuid,
    )


def counters_view(stats: KernelStats) -> models.Counters:
    return models.Counters(
        ioctls=stats.ioctls,
        forwarded=stats.forwarded,
        refused_quota=stats.refused_quota,
        refused_denied=stats.refused_denied,
        refused_unknown=stats.refused_unknown,
        open_denied=stats.open_denied,
    )


def info_view(info: KernelInfo, nvml: NvmlAnswer, *, version: str) -> models.Info:
    return models.Info(
        version=version,
        module_version=info.module_version,
        abi_version=info.abi_version,
        driver_version=info.driver_version,
        driver_flavour=info.driver_flavour,
        driver_supported=info.driver_supported,
        supported_versions=list(info.supported_versions),
        cgroup_gate=info.cgroup_gate,
        compute_enforced=COMPUTE_ENFORCED,
        nvml=models.Nvml(available=nvml.reason is None, reason=nvml.reason),
    )


def _share_view(share: KernelShare, index: int | None) -> models.Share:
    return models.Share(
        card_uuid=share.card_uuid,
        card_index=index,
        card_minor=share.card_minor,
        quota_bytes=share.quota_bytes,
        charged_bytes=share.charged_bytes,
        object_bytes=share.object_bytes,
        managed_bytes=share.managed_bytes,
        overhead_bytes=share.overhead_bytes,
        lingering_bytes=share.lingering_bytes,
        free_bytes=share.free_bytes,
        peak_bytes=share.peak_bytes,
        refusals=share.refusals,
        over_quota=share.over_quota,
        compute=models.Compute(
            policy=POLICY_NAMES[share.policy],
            min_permille=share.compute_min_permille,
            max_permille=share.compute_max_permille,
            weight=share.weight,
            priority=share.priority,
            enforced=COMPUTE_ENFORCED,
        ),
    )


def _node_view(node: KernelNode) -> models.Node:
    return models.Node(
        path=node.path,
        name=PurePosixPath(node.path).name,
        kind=_KINDS[node.kind],
        major=node.major,
        minor=node.minor,
    )
