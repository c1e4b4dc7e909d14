# SPDX-License-Identifier: GPL-2.0-only
"""Tenants of gpushare.ko, made by netlink, and what the module says of them."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpushared.netlink_abi import Command
from tests.guest.rm.genl import Genl, Refusal
from tests.guest.rm.node import Nodes

SYSFS: Final = Path("/sys/kernel/gpushare")
# the driver may close later, and the module asks it again each 50 ms
SETTLE_S: Final = 10.0


@dataclass(frozen=True)
class KernelCard:
    """A card as the module knows it; bytes."""

    uuid: str
    minor: int
    gpu_id: int
    total: int
    reserved: int
    grantable: int
    granted: int
    charged: int
    free: int
    outside: int
    shares: int
    state: str

    @property
    def uuid_bytes(self) -> bytes:
        return bytes.fromhex(self.uuid.removeprefix("GPU-").replace("-", ""))


@dataclass(frozen=True)
class Share:
    """A share's figures; bytes."""

    card_uuid: str
    quota: int
    charged: int
    object: int
    managed: int
    overhead: int
    lingering: int
    free: int
    peak: int
    refusals: int
    over_quota: bool


def _int(values: dict[str, object], name: str) -> int:
    value = values.get(name, 0)
    assert isinstance(value, int), name
    return value


def cards(genl: Genl) -> list[KernelCard]:
    found = []
    for one in genl.dump(Command.CARD_GET):
        figures = {
            name: _int(one, f"{name}_bytes")
            for name in ("total", "reserved", "grantable", "granted", "charged", "free", "outside")
        }
        found.append(
            KernelCard(
                uuid=str(one["uuid"]),
                minor=_int(one, "minor"),
                gpu_id=_int(one, "gpu_id"),
                shares=_int(one, "shares"),
                state=str(one["state"]),
                **figures,
            )
        )
    return found


def share_of(values: dict[str, object]) -> Share:
    figures = {
        name: _int(values, f"{name}_bytes")
        for name in (
            "quota",
            "charged",
            "object",
            "managed",
            "overhead",
            "lingering",
            "free",
            "peak",
        )
    }
    return Share(
        card_uuid=str(values["card_uuid"]),
        refusals=_int(values, "refusals"),
        over_quota=bool(values["over_quota"]),
        **figures,
    )


class Tenant:
    """One tenant; delete() it, or use tenant() as a context."""

    def __init__(self, genl: Genl, name: str) -> None:
        self.genl = genl
        self.name = name
        self.nodes = Nodes.of_tenant(name)
        self._fds: dict[tuple[str, str | None], int] = {}

    def get(self) -> dict[str, object]:
        return self.genl.do(Command.TENANT_GET, name=self.name)

    def shares(self) -> list[Share]:
        shares = self.get()["share"]
        assert isinstance(shares, list)
        return [share_of(one) for one in shares]

    def share(self, card: int = 0) -> Share:
        return self.shares()[card]

    def charged(self, uuid: str | None = None) -> int:
        """The charge, from sysfs: quick enough to read after every call."""
        return self.figure("charged_bytes", uuid)

    def figure(self, name: str, uuid: str | None = None) -> int:
        """One value of a share's folder; without a card of the tenant's only one."""
        fd = self._fds.get((name, uuid))
        if fd is None:
            folder = SYSFS / self.name
            card = uuid or next(entry.name for entry in folder.iterdir() if entry.is_dir())
            fd = os.open(folder / card / name, os.O_RDONLY | os.O_CLOEXEC)
            self._fds[name, uuid] = fd
        return int(os.pread(fd, 64, 0))

    def set_quota(self, card_uuid: str, quota: int) -> None:
        self.genl.do(
            Command.SHARE_SET,
            name=self.name,
            share=[{"card_uuid": card_uuid, "quota_bytes": quota}],
        )

    def set(self, **values: object) -> None:
        self.genl.do(Command.TENANT_SET, name=self.name, **values)

    def clients(self) -> list[dict[str, object]]:
        return self.genl.dump(Command.CLIENT_GET, tenant=self.name)

    def stats(self) -> dict[str, object]:
        return next(one for one in self.genl.dump(Command.STATS_GET) if one["name"] == self.name)

    def open_files(self) -> int:
        return _int(self.get(), "open_files")

    def delete(self, *, force: bool = False) -> None:
        for fd in self._fds.values():
            os.close(fd)
        self._fds = {}
        values = {"force": True} if force else {}
        self.genl.do(Command.TENANT_DEL, name=self.name, **values)

    def settled(self, charged: int = 0, uuid: str | None = None) -> None:
        """Waits until the charge is that; what is closed may be given back a little later."""
        wait_for(
            lambda: self.charged(uuid) == charged,
            lambda: f"{self.name} is charged {self.charged(uuid)}, not {charged}",
        )


def wait_for(
    condition: Callable[[], bool], failure: Callable[[], str] | str, limit_s: float = SETTLE_S
) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(failure if isinstance(failure, str) else failure())
        time.sleep(0.01)


MakeTenant = Callable[..., Tenant]


def create(genl: Genl, name: str, quotas: dict[str, int], **values: object) -> Tenant:
    """A tenant with a quota on each named card."""
    shares = [{"card_uuid": uuid, "quota_bytes": quota} for uuid, quota in quotas.items()]
    genl.do(Command.TENANT_NEW, name=name, share=shares, **values)
    return Tenant(genl, name)


@contextmanager
def tenant(genl: Genl, name: str, quotas: dict[str, int], **values: object) -> Iterator[Tenant]:
    """A tenant that is gone afterwards, whatever happened."""
    made = create(genl, name, quotas, **values)
    try:
        yield made
        wait_for(
            lambda: made.open_files() == 0, lambda: f"open at the end of the test: {made.clients()}"
        )
        made.delete()
    finally:
        _delete_anyway(made)


def _delete_anyway(made: Tenant) -> None:
    try:
        made.delete(force=True)
    except Refusal as refusal:
        if refusal.number != errno.ENOENT:
            raise
