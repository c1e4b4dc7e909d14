# SPDX-License-Identifier: GPL-2.0-only
"""Each check begins and ends without tenants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpushare.client import Client
from tests.guest.inside_cli.machine import kernel_state, settles


@pytest.fixture
def api() -> Client:
    return Client()


@pytest.fixture(autouse=True)
def no_tenants(api: Client) -> Iterator[None]:
    remove_all(api)
    yield
    remove_all(api)
    assert kernel_state() == {}


def remove_all(api: Client) -> None:
    for tenant in api.tenants():
        api.delete(str(tenant["name"]), force=True)
    settles(lambda: [card["charged_bytes"] for card in api.cards()], [0, 0])
