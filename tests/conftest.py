# SPDX-License-Identifier: GPL-2.0-only
"""What tests of several folders need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from gpushare.client import Client
from tests.fakes.daemon import running
from tests.fakes.kernel import FakeKernel, card

ROOT = Path(__file__).resolve().parent.parent

# a loaded machine is no failure
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


def needed(tool: str) -> str:
    """Path of a tool; without it the test is skipped here and fails in CI."""
    path = shutil.which(tool)
    if path is None:
        message = f"{tool} is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message}, and CI needs it")
        pytest.skip(message)
    return path


@pytest.fixture
def kernel() -> FakeKernel:
    """A fake kernel with one card of 16 GiB, of which 15.5 GiB can be granted."""
    return FakeKernel([card(0)])


@pytest.fixture
def two_cards() -> FakeKernel:
    """A fake kernel with two cards."""
    return FakeKernel([card(0), card(1)])


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    return tmp_path / "gpushared.sock"


@pytest.fixture
def client(kernel: FakeKernel, socket_path: Path) -> Iterator[Client]:
    """A client of the real daemon on the fake kernel."""
    with running(socket_path, kernel):
        yield Client(str(socket_path), timeout_s=10)


@pytest.fixture
def client_of_two(two_cards: FakeKernel, socket_path: Path) -> Iterator[Client]:
    """The same with two cards."""
    with running(socket_path, two_cards):
        yield Client(str(socket_path), timeout_s=10)
