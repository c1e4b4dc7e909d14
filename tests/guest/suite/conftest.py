# SPDX-License-Identifier: GPL-2.0-only
"""What the tests inside a guest need: the module's socket, cards, tenants that end with the test.

After every test everything must be as before it, by nvsim's own count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.genl import Genl
from tests.guest.rm.node import close_all
from tests.guest.rm.process import kill_all
from tests.guest.rm.tenant import KernelCard, MakeTenant, Tenant, cards, tenant, wait_for

INSIDE: Final = (Path(__file__).resolve().parents[3] / ".guest").is_dir()
# outside a guest there is nothing here to run
collect_ignore_glob = [] if INSIDE else ["test_*.py"]
# these load and unload the modules: nothing may run after them
LAST: Final = ("test_unknown.py", "test_unload.py", "test_reload.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name in LAST)


@pytest.fixture(scope="session")
def genl() -> Iterator[Genl]:
    """A socket of the module's netlink family."""
    with Genl() as socket:
        yield socket


@pytest.fixture(scope="session")
def all_cards(genl: Genl) -> list[KernelCard]:
    return sorted(cards(genl), key=lambda card: card.minor)


@pytest.fixture(scope="session")
def card(all_cards: list[KernelCard]) -> KernelCard:
    """Card A."""
    return all_cards[0]


@pytest.fixture(scope="session")
def other_card(all_cards: list[KernelCard]) -> KernelCard:
    """Card B."""
    if len(all_cards) < 2:
        pytest.skip("needs a guest with two cards: --cards 2")
    return all_cards[1]


@pytest.fixture
def make(genl: Genl, card: KernelCard) -> Iterator[MakeTenant]:
    """make(name, quota, **netlink values): a tenant with a share of card A, gone with the test."""
    with ExitStack() as stack:

        def made(name: str, quota: int, **values: object) -> Tenant:
            return stack.enter_context(tenant(genl, name, {card.uuid: quota}, **values))

        yield made
        _end_leftovers()


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """No client, object, page, mapping or address space of the driver outlives a test."""
    if request.path.name in LAST:
        yield
        return
    before = truth.counts()
    used = [truth.memory(minor).used for minor in _minors()]
    yield
    wait_for(
        lambda: truth.counts() == before,
        lambda: f"left in the driver: {truth.counts()}, before {before}",
    )
    assert [truth.memory(minor).used for minor in _minors()] == used


def _end_leftovers() -> None:
    """Of a test that failed in the middle."""
    kill_all()
    close_all()


def _minors() -> list[int]:
    return sorted(int(path.name.removeprefix("card")) for path in truth.DEBUGFS.glob("card*"))
