# SPDX-License-Identifier: GPL-2.0-only
"""Counters never wrap: errors, odd orders, and random calls against a model.

GPUSHARE_FUZZ=N sets the number of random calls, GPUSHARE_SEED=N where they start;
GPUSHARE_LONG=1 makes it 1,000,000.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, N
from tests.guest.rm.card import Card
from tests.guest.rm.client import Client, status_of
from tests.guest.rm.node import Nodes
from tests.guest.rm.tenant import KernelCard, MakeTenant, Tenant
from tests.guest.suite.routes import ROUTES
from tests.guest.suite.scale import scaled

NO_MEMORY: Final = N.NV_ERR_NO_MEMORY
CALLS: Final = int(os.environ.get("GPUSHARE_FUZZ", scaled(20_000, 1_000_000)))
SEED: Final = int(os.environ.get("GPUSHARE_SEED", "3"))
QUOTA: Final = 512 * MIB
UNKNOWN: Final = 0x0BAD0001
# ways that leave the choice of the handle to the driver
WAYS: Final = [name for name in ROUTES if name != "alloc-chosen-handle"]
SIZES: Final = (1, 4096, 65536, 65537, 1 << 20, 2 * MIB - 1, 2 * MIB, 3 * MIB, 30 * MIB, 100 * MIB)


@pytest.mark.case("MA-03")
def test_bad_frees_answer_as_the_driver_does_and_change_nothing(make: MakeTenant) -> None:
    owner = make("c1", 1024 * MIB)
    answers = []
    for nodes in (Nodes.real(), owner.nodes):
        with Client(nodes) as client, Card(client) as card:
            once = card.memory(100 * MIB)
            card.free(once)
            above = card.subdevice
            below = [card.memory(100 * MIB, parent=above) for _ in range(3)]
            client.free(above)
            answers.append(
                [
                    status_of(card.free, once),
                    status_of(card.free, UNKNOWN),
                    status_of(card.free, 0),
                    *(status_of(card.free, one) for one in below),
                    status_of(client.free, above),
                    status_of(client.heap_free, card.device, UNKNOWN),
                ]
            )
            assert owner.charged() == 0
    assert answers[0] == answers[1]
    # to RM_FREE nothing is as good as freed (tests/driver/parity)
    assert answers[0] == [N.NV_OK] * 7 + [N.NV_ERR_OBJECT_NOT_FOUND]


@pytest.mark.case("MA-03")
def test_quota_lowered_below_the_charge_never_shows_a_huge_figure(
    make: MakeTenant, card: KernelCard
) -> None:
    owner = make("c1", 1024 * MIB)
    with Client(owner.nodes) as client, Card(client) as gpu:
        gpu.memory(600 * MIB)
        owner.set_quota(card.uuid, 256 * MIB)
        share = owner.share()
        assert (share.free, share.charged, owner.figure("free_bytes")) == (0, 600 * MIB, 0)
        total, heap, free = gpu.fb_info(
            [N.NV_FB_INFO_TOTAL_RAM_SIZE, N.NV_FB_INFO_HEAP_SIZE, N.NV_FB_INFO_HEAP_FREE]
        )
        assert (total, free) == (256 * MIB >> 10, 0)
        assert total >= heap >= free


def rounded(size: int) -> int:
    unit = 2 * MIB if size >= 2 * MIB else 65536
    return -(-size // unit) * unit


@dataclass(eq=False)
class Memory:
    """One stretch of card memory and its handles, each in one place."""

    size: int
    handles: int = 0


@dataclass(eq=False)
class Place:
    """A client with its own files, and what has handles below its device and subdevice."""

    client: Client
    card: Card
    below: dict[int, dict[int, Memory]] = field(default_factory=dict)  # parent: handle: memory

    def all(self) -> list[tuple[int, int]]:
        return [(parent, handle) for parent, some in self.below.items() for handle in some]


class Model:
    """What the charge must be, and the calls that change it."""

    def __init__(self, owner: Tenant, dice: random.Random) -> None:
        self.owner = owner
        self.dice = dice
        self.places = [self._place() for _ in range(3)]
        self.charge = 0

    def _place(self) -> Place:
        client = Client(self.owner.nodes)
        card = Card(client)
        return Place(client, card, {card.device: {}, card.subdevice: {}})

    def _drop(self, memory: Memory) -> None:
        memory.handles -= 1
        if not memory.handles:
            self.charge -= memory.size

    def _drop_all(self, some: dict[int, Memory]) -> None:
        for memory in some.values():
            self._drop(memory)
        some.clear()

    # ---- calls ----

    def alloc(self) -> None:
        place = self.dice.choice(self.places)
        way, size = self.dice.choice(WAYS), self.dice.choice(SIZES)
        if way == "heap-tiled":
            size = rounded(size)  # it counts in rows of 64 KiB
        fits = self.charge + rounded(size) <= QUOTA
        handles: list[int] = []
        status = status_of(lambda: handles.append(ROUTES[way](place.card, size)))
        assert status == (0 if fits else NO_MEMORY), (way, size, self.charge)
        if fits:
            memory = Memory(rounded(size), 1)
            parent = place.card.subdevice if way == "alloc-below-subdevice" else place.card.device
            place.below[parent][handles[0]] = memory
            self.charge += memory.size

    def free(self) -> None:
        place = self.dice.choice(self.places)
        if not (some := place.all()):
            return
        parent, handle = self.dice.choice(some)
        if self.dice.random() < 0.3 and parent == place.card.device:
            place.client.heap_free(place.card.device, handle)
        else:
            place.client.free(handle, self.dice.choice([parent, 0]))
        self._drop(place.below[parent].pop(handle))

    def bad_free(self) -> None:
        place = self.dice.choice(self.places)
        place.client.free(UNKNOWN)  # freeing nothing is no error, and changes nothing

    def dup(self) -> None:
        source, target = (self.dice.choice(self.places) for _ in range(2))
        if not (some := source.all()):
            return
        parent, handle = self.dice.choice(some)
        memory = source.below[parent][handle]
        copy = target.client.dup(target.card.device, source.client.handle, handle)
        target.below[target.card.device][copy] = memory
        memory.handles += 1

    def bad_dup(self) -> None:
        place = self.dice.choice(self.places)
        assert (
            status_of(place.client.dup, place.card.device, place.client.handle, UNKNOWN)
            == N.NV_ERR_OBJECT_NOT_FOUND
        )

    def free_parent(self) -> None:
        place = self.dice.choice(self.places)
        place.client.free(place.card.device)
        for some in place.below.values():
            self._drop_all(some)
        place.card.close()
        place.card = Card(place.client)
        place.below = {place.card.device: {}, place.card.subdevice: {}}

    def close(self) -> None:
        """The driver ends the client when its last file goes, which may be a moment later."""
        place = self.places.pop(self.dice.randrange(len(self.places)))
        place.card.close()
        place.client.close()
        for some in place.below.values():
            self._drop_all(some)
        self.owner.settled(self.charge)
        self.places.append(self._place())

    def step(self) -> str:
        call = self.dice.choices(
            [
                self.alloc,
                self.free,
                self.bad_free,
                self.dup,
                self.bad_dup,
                self.free_parent,
                self.close,
            ],
            [40, 35, 5, 12, 3, 2, 2],
        )[0]
        call()
        return call.__name__

    def end(self) -> None:
        for place in self.places:
            place.card.close()
            place.client.close()


@pytest.mark.case("MA-03")
def test_charge_equals_the_model_after_every_random_call(make: MakeTenant) -> None:
    owner = make("c1", QUOTA)
    model = Model(owner, random.Random(SEED))
    for number in range(CALLS):
        name = model.step()
        assert owner.charged() == model.charge, f"call {number} of seed {SEED}: {name}"
        if number % 64 == 0:
            assert truth.memory().objects == model.charge
    assert owner.figure("peak_bytes") <= QUOTA
    model.end()
    owner.settled()
