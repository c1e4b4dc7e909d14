# SPDX-License-Identifier: GPL-2.0-only
"""A kernel without a kernel: keeps tenants and refuses as the module does.

Rules it shares with kmod/gpushare: names; one share a card; the sum of quotas a
card can grant; zero refused; a quota below the charge accepted; EBUSY while files
are open unless forced; all or nothing. Tests play the programs with open_file(),
charge() and release().
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field

from gpushared.kernel_types import (
    EventsLost,
    KernelCard,
    KernelClient,
    KernelEvent,
    KernelInfo,
    KernelMissing,
    KernelNode,
    KernelRefusal,
    KernelShare,
    KernelStats,
    KernelTenant,
    NewTenant,
    ShareRequest,
    TenantUpdate,
)
from gpushared.netlink_abi import (
    ABI_VERSION,
    NAME_MAX,
    PERMILLE_MAX,
    SHARES_MAX,
    TENANTS_MAX,
    EventType,
    NodeKind,
    Policy,
)

MIB = 1 << 20
GIB = 1 << 30
MAJOR = 240
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def card(
    number: int = 0, *, total_bytes: int = 16 * GIB, reserved_bytes: int = 512 * MIB
) -> KernelCard:
    """A card; number makes it differ from others."""
    return KernelCard(
        uuid=f"GPU-{number:08x}-0000-4000-8000-00000000000{number}",
        minor=number,
        gpu_id=0x100 * (number + 1),
        pci=f"0000:{number + 1:02x}:00.0",
        name="nvsim A10",
        total_bytes=total_bytes,
        reserved_bytes=reserved_bytes,
        grantable_bytes=total_bytes - reserved_bytes,
        free_bytes=total_bytes - reserved_bytes,
    )


@dataclass
class _Share:
    card_uuid: str
    quota_bytes: int
    compute_min_permille: int
    compute_max_permille: int
    weight: int
    priority: int
    policy: Policy
    charged_bytes: int = 0
    peak_bytes: int = 0
    refusals: int = 0


@dataclass
class _Tenant:
    name: str
    uuid: str
    owner_uid: int
    owner_gid: int
    mode: int
    number: int
    shares: dict[str, _Share]
    cgroup_id: int | None = None
    open_files: dict[int, str] = field(default_factory=dict)
    ioctls: int = 0


class FakeKernel:
    """kernel_types.Kernel with state. loaded, driver_supported and before_change are knobs."""

    def __init__(self, cards: Iterable[KernelCard] | None = None) -> None:
        self._cards = {one.uuid: one for one in ([card()] if cards is None else cards)}
        self._tenants: dict[str, _Tenant] = {}
        self._numbers = 0
        self._listeners: set[asyncio.Queue[KernelEvent | None]] = set()
        self.loaded = True
        self.driver_supported = True
        # called before each change; raise KernelRefusal in it to make a step fail
        self.before_change: Callable[[str, object], None] = lambda call, request: None
        self.changes = 0
        # set once somebody waits for events
        self.listened = asyncio.Event()

    # what programs do

    def open_file(self, tenant: str, *, pid: int, comm: str = "python3") -> None:
        self._found(tenant).open_files[pid] = comm

    def close_files(self, tenant: str) -> None:
        self._found(tenant).open_files.clear()

    def charge(self, tenant: str, card_uuid: str, size_bytes: int) -> bool:
        """Whether an allocation of that size is granted."""
        share = self._found(tenant).shares[card_uuid]
        if share.charged_bytes + size_bytes > share.quota_bytes:
            share.refusals += 1
            self._tell(EventType.QUOTA_REFUSED, tenant, bytes=size_bytes, card_uuid=card_uuid)
            return False
        share.charged_bytes += size_bytes
        share.peak_bytes = max(share.peak_bytes, share.charged_bytes)
        return True

    def release(self, tenant: str, card_uuid: str, size_bytes: int) -> None:
        self._found(tenant).shares[card_uuid].charged_bytes -= size_bytes

    def lose_events(self) -> None:
        """The next read of every listener finds that events are missing."""
        for listener in self._listeners:
            listener.put_nowait(None)

    # kernel_types.Kernel

    async def info(self) -> KernelInfo:
        self._check_loaded()
        return KernelInfo(
            abi_version=ABI_VERSION,
            module_version="0.1.0",
            driver_version="535.261.03",
            driver_supported=self.driver_supported,
            supported_versions=("535.261.03",),
            cgroup_gate=True,
            driver_flavour="nvsim",
        )

    async def cards(self) -> tuple[KernelCard, ...]:
        self._check_loaded()
        return tuple(self._card_now(one) for one in self._cards.values())

    async def tenants(self) -> tuple[KernelTenant, ...]:
        self._check_loaded()
        return tuple(self._tenant_now(one) for one in self._tenants.values())

    async def tenant(self, name: str) -> KernelTenant:
        self._check_loaded()
        return self._tenant_now(self._found(name))

    async def tenant_new(self, request: NewTenant) -> KernelTenant:
        self._check_change("tenant_new", request)
        if not self.driver_supported:
            raise KernelRefusal(errno.EOPNOTSUPP, "driver 535.99 is not supported, 535.261.03 is")
        if len(request.name) > NAME_MAX or not _NAME.fullmatch(request.name):
            raise KernelRefusal(errno.EINVAL, "tenant name is not [a-z0-9][a-z0-9._-]*")
        if request.name in self._tenants:
            raise KernelRefusal(errno.EEXIST, f"tenant {request.name} exists")
        if len(self._tenants) >= TENANTS_MAX:
            raise KernelRefusal(errno.ENOSPC, f"{TENANTS_MAX} tenants exist already")
        if not 1 <= len(request.share) <= SHARES_MAX:
            raise KernelRefusal(errno.EINVAL, "a tenant has 1 to 32 shares")
        shares: dict[str, _Share] = {}
        for want in request.share:
            if want.card_uuid in shares:
                raise KernelRefusal(errno.EINVAL, "two shares on one card")
            shares[want.card_uuid] = self._new_share(want)
        self._numbers += 1
        tenant = _Tenant(
            name=request.name,
            uuid=request.uuid,
            owner_uid=request.owner_uid,
            owner_gid=request.owner_gid,
            mode=request.mode,
            number=self._numbers,
            shares=shares,
        )
        self._tenants[request.name] = tenant
        self.changes += 1
        self._tell(EventType.TENANT_NEW, request.name)
        return self._tenant_now(tenant)

    async def tenant_set(self, request: TenantUpdate) -> None:
        self._check_change("tenant_set", request)
        tenant = self._found(request.name)
        if request.unbind and request.cgroup_id is not None:
            raise KernelRefusal(errno.EINVAL, "bind and unbind in one request")
        for key in ("owner_uid", "owner_gid", "mode", "cgroup_id"):
            value = getattr(request, key)
            if value is not None:
                setattr(tenant, key, value)
        if request.unbind:
            tenant.cgroup_id = None
        self.changes += 1
        self._tell(EventType.TENANT_CHANGED, request.name)

    async def tenant_del(self, name: str, *, force: bool) -> None:
        self._check_change("tenant_del", name)
        tenant = self._found(name)
        if tenant.open_files and not force:
            raise KernelRefusal(
                errno.EBUSY, f"tenant {name} has {len(tenant.open_files)} open files"
            )
        del self._tenants[name]
        self.changes += 1
        self._tell(EventType.TENANT_DEL, name)

    async def share_set(self, name: str, share: ShareRequest) -> None:
        self._check_change("share_set", share)
        now = self._found(name).shares.get(share.card_uuid)
        if now is None:
            raise KernelRefusal(errno.ENOENT, f"tenant {name} has no share on that card")
        if share.quota_bytes is not None:
            self._admit(share.card_uuid, share.quota_bytes, instead_of_bytes=now.quota_bytes)
        low = _either(share.compute_min_permille, now.compute_min_permille)
        high = _either(share.compute_max_permille, now.compute_max_permille)
        _check_compute(low, high)
        now.quota_bytes = _either(share.quota_bytes, now.quota_bytes)
        now.compute_min_permille, now.compute_max_permille = low, high
        now.weight = _either(share.weight, now.weight)
        now.priority = _either(share.priority, now.priority)
        now.policy = now.policy if share.policy is None else share.policy
        self.changes += 1
        self._tell(EventType.TENANT_CHANGED, name)

    async def clients(self, tenant: str | None = None) -> tuple[KernelClient, ...]:
        self._check_loaded()
        return tuple(
            KernelClient(
                tenant=one.name,
                pid=pid,
                tgid=pid,
                comm=comm,
                kind=NodeKind.GPU,
                files=1,
                clients=1,
                objects=1,
                bytes=sum(share.charged_bytes for share in one.shares.values()),
                card_uuid=next(iter(one.shares)),
            )
            for one in self._tenants.values()
            if tenant in (None, one.name)
            for pid, comm in one.open_files.items()
        )

    async def stats(self) -> tuple[KernelStats, ...]:
        self._check_loaded()
        return tuple(
            KernelStats(
                name=one.name,
                ioctls=one.ioctls,
                forwarded=one.ioctls,
                refused_quota=sum(share.refusals for share in one.shares.values()),
            )
            for one in self._tenants.values()
        )

    async def events(self) -> AsyncIterator[KernelEvent]:
        self._check_loaded()
        queue: asyncio.Queue[KernelEvent | None] = asyncio.Queue()
        self._listeners.add(queue)
        self.listened.set()
        try:
            while True:
                event = await queue.get()
                if event is None:
                    raise EventsLost
                yield event
        finally:
            self._listeners.discard(queue)

    async def close(self) -> None:
        pass

    # rules

    def _check_loaded(self) -> None:
        if not self.loaded:
            raise KernelMissing

    def _check_change(self, call: str, request: object) -> None:
        self._check_loaded()
        self.before_change(call, request)

    def _found(self, name: str) -> _Tenant:
        if name not in self._tenants:
            raise KernelRefusal(errno.ENOENT, f"no tenant {name}")
        return self._tenants[name]

    def _granted_bytes(self, card_uuid: str) -> int:
        return sum(
            one.shares[card_uuid].quota_bytes
            for one in self._tenants.values()
            if card_uuid in one.shares
        )

    def _admit(self, card_uuid: str, quota_bytes: int, *, instead_of_bytes: int = 0) -> None:
        if card_uuid not in self._cards:
            raise KernelRefusal(errno.ENODEV, "no such card")
        if quota_bytes <= 0:
            raise KernelRefusal(errno.ERANGE, "integer out of range")
        grantable_bytes = self._cards[card_uuid].grantable_bytes
        granted_bytes = self._granted_bytes(card_uuid) - instead_of_bytes
        if granted_bytes + quota_bytes > grantable_bytes:
            raise KernelRefusal(
                errno.ENOSPC,
                f"quotas would sum to {granted_bytes + quota_bytes} of {grantable_bytes} bytes",
            )

    def _new_share(self, want: ShareRequest) -> _Share:
        if want.quota_bytes is None:
            raise KernelRefusal(errno.EINVAL, "a share needs a quota")
        self._admit(want.card_uuid, want.quota_bytes)
        low = _either(want.compute_min_permille, 0)
        high = _either(want.compute_max_permille, PERMILLE_MAX)
        _check_compute(low, high)
        return _Share(
            card_uuid=want.card_uuid,
            quota_bytes=want.quota_bytes,
            compute_min_permille=low,
            compute_max_permille=high,
            weight=_either(want.weight, 100),
            priority=_either(want.priority, 0),
            policy=Policy.BEST_EFFORT if want.policy is None else want.policy,
        )

    def _tell(
        self,
        kind: EventType,
        tenant: str,
        *,
        bytes: int | None = None,
        card_uuid: str | None = None,
    ) -> None:
        event = KernelEvent(type=kind, tenant=tenant, bytes=bytes, card_uuid=card_uuid)
        for listener in self._listeners:
            listener.put_nowait(event)

    # what is shown

    def _card_now(self, one: KernelCard) -> KernelCard:
        shares = [
            tenant.shares[one.uuid]
            for tenant in self._tenants.values()
            if one.uuid in tenant.shares
        ]
        charged_bytes = sum(share.charged_bytes for share in shares)
        return one.model_copy(
            update={
                "granted_bytes": self._granted_bytes(one.uuid),
                "charged_bytes": charged_bytes,
                "free_bytes": one.free_bytes - charged_bytes,
                "shares": len(shares),
            }
        )

    def _tenant_now(self, tenant: _Tenant) -> KernelTenant:
        shares = tuple(self._share_now(share) for share in tenant.shares.values())
        return KernelTenant(
            name=tenant.name,
            uuid=tenant.uuid,
            owner_uid=tenant.owner_uid,
            owner_gid=tenant.owner_gid,
            mode=tenant.mode,
            cgroup_id=tenant.cgroup_id,
            state="over-quota" if any(share.over_quota for share in shares) else "ok",
            open_files=len(tenant.open_files),
            share=shares,
            node=self._nodes(tenant),
        )

    def _share_now(self, share: _Share) -> KernelShare:
        one = self._card_now(self._cards[share.card_uuid])
        left_bytes = max(0, share.quota_bytes - share.charged_bytes)
        return KernelShare(
            card_uuid=share.card_uuid,
            quota_bytes=share.quota_bytes,
            compute_min_permille=share.compute_min_permille,
            compute_max_permille=share.compute_max_permille,
            weight=share.weight,
            priority=share.priority,
            policy=share.policy,
            card_minor=one.minor,
            charged_bytes=share.charged_bytes,
            object_bytes=share.charged_bytes,
            free_bytes=min(left_bytes, one.free_bytes),
            peak_bytes=share.peak_bytes,
            refusals=share.refusals,
            over_quota=share.charged_bytes > share.quota_bytes,
        )

    def _nodes(self, tenant: _Tenant) -> tuple[KernelNode, ...]:
        minors = sorted(self._cards[uuid].minor for uuid in tenant.shares)
        names = [("nvidiactl", NodeKind.CTL), ("nvidia-uvm", NodeKind.UVM)]
        names[1:1] = [(f"nvidia{minor}", NodeKind.GPU) for minor in minors]
        first = tenant.number * (SHARES_MAX + 2)
        return tuple(
            KernelNode(
                path=f"/dev/gpushare/{tenant.name}/{name}",
                major=MAJOR,
                minor=first + offset,
                kind=kind,
            )
            for offset, (name, kind) in enumerate(names)
        )


def _either(value: int | None, now: int) -> int:
    return now if value is None else value


def _check_compute(low: int, high: int) -> None:
    if not 0 <= low <= high <= PERMILLE_MAX or high == 0:
        raise KernelRefusal(errno.EINVAL, "compute needs 0 <= min <= max <= 1000")
