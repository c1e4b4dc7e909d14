# SPDX-License-Identifier: GPL-2.0-only
"""What the module says and takes, in plain values, and the protocol to talk to it.

Field names are those of kmod/uapi/gpushare.yaml with underscores. None is an
attribute that is absent. Unknown attributes of a newer module are ignored.
"""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from gpushared.netlink_abi import EventType, NodeKind, Policy


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class KernelInfo(_Fact):
    abi_version: int
    module_version: str
    driver_version: str | None = None
    driver_supported: bool = False
    supported_versions: tuple[str, ...] = ()
    cgroup_gate: bool = False
    driver_flavour: str | None = None


class KernelCard(_Fact):
    uuid: str
    minor: int
    gpu_id: int = 0
    pci: str
    name: str = ""
    total_bytes: int
    reserved_bytes: int = 0
    grantable_bytes: int
    granted_bytes: int = 0
    free_bytes: int = 0
    charged_bytes: int = 0
    outside_bytes: int = 0
    residue_bytes: int = 0
    shares: int = 0
    state: str = "ok"
    reason: str | None = None

    @property
    def ungranted_bytes(self) -> int:
        return max(0, self.grantable_bytes - self.granted_bytes)


class KernelShare(_Fact):
    card_uuid: str
    quota_bytes: int
    compute_min_permille: int
    compute_max_permille: int
    weight: int
    priority: int
    policy: Policy
    card_minor: int
    charged_bytes: int = 0
    object_bytes: int = 0
    managed_bytes: int = 0
    overhead_bytes: int = 0
    lingering_bytes: int = 0
    free_bytes: int = 0
    peak_bytes: int = 0
    refusals: int = 0
    over_quota: bool = False


class KernelNode(_Fact):
    path: str
    major: int
    minor: int
    kind: NodeKind


class KernelTenant(_Fact):
    name: str
    uuid: str
    owner_uid: int
    owner_gid: int
    mode: int
    cgroup_id: int | None = None
    state: str = "ok"
    open_files: int = 0
    share: tuple[KernelShare, ...] = ()
    node: tuple[KernelNode, ...] = ()

    def share_on(self, card_uuid: str) -> KernelShare | None:
        return next((share for share in self.share if share.card_uuid == card_uuid), None)


class KernelClient(_Fact):
    tenant: str
    pid: int
    tgid: int
    comm: str = ""
    kind: NodeKind
    files: int = 0
    clients: int = 0
    objects: int = 0
    bytes: int = 0
    card_uuid: str | None = None


class KernelStats(_Fact):
    name: str
    ioctls: int = 0
    forwarded: int = 0
    refused_quota: int = 0
    refused_denied: int = 0
    refused_unknown: int = 0
    open_denied: int = 0


class KernelEvent(_Fact):
    type: EventType
    tenant: str | None = None
    card_uuid: str | None = None
    pid: int | None = None
    bytes: int | None = None
    detail: str | None = None
    time_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class ShareRequest:
    """A share to make or to change; None leaves the value as it is."""

    card_uuid: str
    quota_bytes: int | None = None
    compute_min_permille: int | None = None
    compute_max_permille: int | None = None
    weight: int | None = None
    priority: int | None = None
    policy: Policy | None = None


@dataclass(frozen=True, kw_only=True)
class NewTenant:
    """A tenant to make."""

    name: str
    uuid: str
    owner_uid: int
    owner_gid: int
    mode: int
    share: tuple[ShareRequest, ...]


@dataclass(frozen=True, kw_only=True)
class TenantUpdate:
    """A tenant to change; None leaves the value as it is."""

    name: str
    owner_uid: int | None = None
    owner_gid: int | None = None
    mode: int | None = None
    cgroup_id: int | None = None
    unbind: bool = field(default=False)


class KernelRefusal(Exception):
    """The module refused a request: its errno, and its extack text if it sent one."""

    def __init__(self, number: int, text: str | None = None) -> None:
        self.number = number
        self.text = text or os.strerror(number)
        super().__init__(number, self.text)

    def __str__(self) -> str:
        return f"{self.text} ({errno.errorcode.get(self.number, self.number)})"


class KernelMissing(Exception):
    """The family is not there: the module is not loaded."""


class EventsLost(Exception):
    """Events came faster than they were read: look at the present state instead."""


class Kernel(Protocol):
    """The operations of the module. All raise KernelRefusal or KernelMissing."""

    async def info(self) -> KernelInfo: ...

    async def cards(self) -> tuple[KernelCard, ...]: ...

    async def tenants(self) -> tuple[KernelTenant, ...]: ...

    async def tenant(self, name: str) -> KernelTenant: ...

    async def tenant_new(self, request: NewTenant) -> KernelTenant: ...

    async def tenant_set(self, request: TenantUpdate) -> None: ...

    async def tenant_del(self, name: str, *, force: bool) -> None: ...

    async def share_set(self, name: str, share: ShareRequest) -> None: ...

    async def clients(self, tenant: str | None = None) -> tuple[KernelClient, ...]: ...

    async def stats(self) -> tuple[KernelStats, ...]: ...

    def events(self) -> AsyncIterator[KernelEvent]:
        """Events from now on; raises EventsLost when some could not be kept."""
        ...

    async def close(self) -> None: ...
