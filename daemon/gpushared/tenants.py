# SPDX-License-Identifier: GPL-2.0-only
"""What can be asked about tenants, carried out with the module. One change at a time.

The module is the truth: nothing is kept here, and a daemon that dies between two
steps leaves what the module has. Its refusals become errors for an operator here.
"""

from __future__ import annotations

import asyncio
import errno
import grp
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from gpushare import models
from gpushare.compute import (
    PRIORITY_DEFAULT,
    WEIGHT_DEFAULT,
    Entitlement,
    changed,
    entitlement,
)
from gpushare.errors import (
    Conflict,
    DriverUnavailable,
    GpuShareError,
    InvalidInput,
    NoRoom,
    NotFound,
    NotPermitted,
    Unsupported,
)
from gpushare.version import version
from gpushared import placement, reconcile, views
from gpushared.kernel_types import (
    Kernel,
    KernelMissing,
    KernelRefusal,
    KernelTenant,
    NewTenant,
    ShareRequest,
    TenantUpdate,
)
from gpushared.netlink_abi import MODE_DEFAULT
from gpushared.nvml_types import Cards, NvmlAnswer

log = logging.getLogger(__name__)

GROUP: Final = "gpushare"

_REFUSALS: Final[dict[int, tuple[type[GpuShareError], str]]] = {
    errno.EEXIST: (Conflict, "choose another name, or delete the tenant first (gpushare list)"),
    errno.EBUSY: (Conflict, "end the programs first (gpushare show NAME), or use --force"),
    errno.ENOENT: (NotFound, "see: gpushare list, gpushare gpu list"),
    errno.ENOSPC: (NoRoom, "ask for less, or shrink or delete a tenant (gpushare list)"),
    errno.EPERM: (NotPermitted, "gpushared needs CAP_NET_ADMIN and must not run inside a tenant"),
    errno.EACCES: (NotPermitted, "gpushared must not run inside a tenant"),
    errno.ENODEV: (NotFound, "see: gpushare gpu list"),
    errno.EOPNOTSUPP: (Unsupported, "see: gpushare info"),
    errno.EINVAL: (InvalidInput, "nothing was changed"),
    errno.ERANGE: (InvalidInput, "nothing was changed"),
    errno.E2BIG: (InvalidInput, "nothing was changed"),
}


class Tenants:
    """Tenants, cards and versions as the API shows them."""

    def __init__(self, kernel: Kernel, nvml: Cards) -> None:
        self._kernel = kernel
        self._nvml = nvml
        self._changing = asyncio.Lock()
        # NVML's order of these cards; a look may wake a card, which takes seconds
        self._order: tuple[frozenset[str], NvmlAnswer] | None = None

    async def info(self) -> models.Info:
        async with _translated("info"):
            info = await self._kernel.info()
        return views.info_view(info, await self._nvml.look(), version=version())

    async def cards(self) -> list[models.Card]:
        return [views.card_view(card) for card in await self._cards(fresh=True)]

    async def tenants(self) -> list[models.Tenant]:
        cards = await self._cards()
        async with _translated("tenants"):
            found = await self._kernel.tenants()
        return [views.tenant_view(tenant, cards) for tenant in sorted(found, key=_by_name)]

    async def tenant(self, name: str) -> models.Tenant:
        async with _translated(f"tenant {name}"):
            tenant = await self._kernel.tenant(name)
        return views.tenant_view(tenant, await self._cards())

    async def processes(self, name: str) -> list[models.Process]:
        async with _translated(f"tenant {name}"):
            await self._kernel.tenant(name)
            found = await self._kernel.clients(name)
        return views.process_views(found)

    async def counters(self, name: str) -> models.Counters:
        async with _translated(f"tenant {name}"):
            found = await self._kernel.stats()
        for stats in found:
            if stats.name == name:
                return views.counters_view(stats)
        raise NotFound(f"there is no tenant {name}", hint="see: gpushare list")

    async def create(self, request: models.TenantCreate) -> models.Tenant:
        async with self._changing:
            cards = await self._cards()
            shares = _placed(request.shares, cards)
            owner_uid, owner_gid = request.owner or (0, _default_gid())
            new = NewTenant(
                name=request.name,
                uuid=str(uuid.uuid4()),
                owner_uid=owner_uid,
                owner_gid=owner_gid,
                mode=MODE_DEFAULT,
                share=shares,
            )
            async with _translated(f"tenant {request.name}"):
                tenant = await self._kernel.tenant_new(new)
        log.info("tenant created", extra={"tenant": request.name})
        return views.tenant_view(tenant, cards)

    async def change(self, name: str, request: models.TenantChange) -> models.Tenant:
        async with self._changing:
            cards = await self._cards()
            async with _translated(f"tenant {name}"):
                actual = await self._kernel.tenant(name)
            wanted = _wanted(actual, request, cards)
            await self._carry_out(name, reconcile.steps(actual, wanted))
        log.info("tenant changed", extra={"tenant": name})
        return await self.tenant(name)

    async def delete(self, name: str, *, force: bool) -> None:
        async with self._changing, _translated(f"tenant {name}"):
            await self._kernel.tenant_del(name, force=force)
        log.info("tenant deleted", extra={"tenant": name, "force": force})

    async def _carry_out(self, name: str, steps: Sequence[reconcile.Step]) -> None:
        done: list[reconcile.Step] = []
        async with _translated(f"tenant {name}"):
            try:
                for step in steps:
                    await self._apply(name, step.do)
                    done.append(step)
            except KernelRefusal:
                await self._take_back(name, done)
                raise

    async def _take_back(self, name: str, done: Sequence[reconcile.Step]) -> None:
        for step in reversed(done):
            try:
                await self._apply(name, step.undo)
            except KernelRefusal as error:
                log.error(
                    "a change could not be taken back",
                    extra={"tenant": name, "step": step.undo, "reason": str(error)},
                )

    async def _apply(self, name: str, step: TenantUpdate | ShareRequest) -> None:
        if isinstance(step, ShareRequest):
            await self._kernel.share_set(name, step)
        else:
            await self._kernel.tenant_set(step)

    async def _cards(self, *, fresh: bool = False) -> tuple[placement.Card, ...]:
        async with _translated("cards"):
            found = await self._kernel.cards()
        uuids = frozenset(card.uuid for card in found)
        if fresh or self._order is None or self._order[0] != uuids:
            self._order = (uuids, await self._nvml.look())
        return placement.indexed(found, self._order[1])


def _by_name(tenant: KernelTenant) -> str:
    return tenant.name


def _default_gid() -> int:
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        return 0


def _placed(
    wanted: Sequence[models.ShareCreate], cards: Sequence[placement.Card]
) -> tuple[ShareRequest, ...]:
    shares: dict[str, ShareRequest] = {}
    for want in wanted:
        card = placement.choose(cards, selector=want.gpu, quota_bytes=want.memory)
        if card.kernel.uuid in shares:
            raise InvalidInput(
                f"gpu: card {card.index} is asked for twice",
                hint="a tenant has one share on a card: name each card once",
                field="gpu",
            )
        if want.memory > card.kernel.ungranted_bytes:
            raise placement.no_room([card], quota_bytes=want.memory)
        part = entitlement(min_permille=want.compute, policy=want.policy)
        shares[card.kernel.uuid] = ShareRequest(
            card_uuid=card.kernel.uuid,
            quota_bytes=want.memory,
            compute_min_permille=part.min_permille,
            compute_max_permille=part.max_permille,
            weight=WEIGHT_DEFAULT if want.weight is None else want.weight,
            priority=PRIORITY_DEFAULT if want.priority is None else want.priority,
            policy=reconcile.POLICIES[part.policy],
        )
    return tuple(shares.values())


def _wanted(
    actual: KernelTenant, request: models.TenantChange, cards: Sequence[placement.Card]
) -> reconcile.WantedTenant:
    shares: dict[str, reconcile.WantedShare] = {}
    for change in request.shares:
        share_uuid = _share_meant(actual, change.gpu, cards)
        share = actual.share_on(share_uuid)
        if share is None or share_uuid in shares:
            raise InvalidInput(
                f"gpu: tenant {actual.name} has no share on {change.gpu!r}, or it is named twice",
                hint=f"its cards are {', '.join(part.card_uuid for part in actual.share)}",
                field="gpu",
            )
        now = Entitlement(
            reconcile.POLICY_NAMES[share.policy],
            share.compute_min_permille,
            share.compute_max_permille,
        )
        shares[share_uuid] = reconcile.WantedShare(
            card_uuid=share_uuid,
            quota_bytes=change.memory,
            entitlement=changed(now, min_permille=change.compute, policy=change.policy),
            weight=change.weight,
            priority=change.priority,
        )
        _check_room(share_uuid, change.memory, share.quota_bytes, cards)
    return reconcile.WantedTenant(owner=request.owner, shares=tuple(shares.values()))


def _check_room(
    card_uuid: str, wanted_bytes: int | None, quota_bytes: int, cards: Sequence[placement.Card]
) -> None:
    """Refuse here what the module would refuse, with the words of an operator."""
    growth_bytes = (wanted_bytes or 0) - quota_bytes
    for card in cards:
        if card.kernel.uuid == card_uuid and growth_bytes > card.kernel.ungranted_bytes:
            raise placement.no_room([card], quota_bytes=growth_bytes, told="on top of the quota")


def _share_meant(
    actual: KernelTenant, selector: str | None, cards: Sequence[placement.Card]
) -> str:
    if selector is not None:
        return placement.resolve(cards, selector).kernel.uuid
    if len(actual.share) == 1:
        return actual.share[0].card_uuid
    raise InvalidInput(
        f"gpu: tenant {actual.name} has {len(actual.share)} shares",
        hint="say which with --gpu",
        field="gpu",
    )


@asynccontextmanager
async def _translated(what: str) -> AsyncIterator[None]:
    """Refusals of the module as errors for an operator, with the module's own words."""
    try:
        yield
    except KernelMissing as error:
        raise DriverUnavailable(
            "the module gpushare is not loaded", hint="load it: modprobe gpushare"
        ) from error
    except KernelRefusal as error:
        kind, hint = _REFUSALS.get(error.number, (GpuShareError, "see the journal of gpushared"))
        raise kind(f"{what}: {error.text}", hint=hint) from error
