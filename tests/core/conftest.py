# SPDX-License-Identifier: GPL-2.0-only
"""The library, built once a run, and the drivers it knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import settings

from tests.conftest import needed
from tests.core.abi import Abi
from tests.core.native import ADDRESS, Core, Struct, build

if ADDRESS:  # several times slower, and the other run has searched for values already
    settings.register_profile("address", deadline=None, max_examples=15)
    settings.load_profile("address")

VERSIONS = ["535.261.03", "550.163.01", "570.211.01"]


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Core:
    """kmod/core as a library."""
    return Core(build(tmp_path_factory.mktemp("core"), needed("gcc")))


@pytest.fixture(scope="session", params=VERSIONS)
def version(core: Core, request: pytest.FixtureRequest) -> Struct:
    """Each supported driver in turn."""
    return core.version(request.param)


@pytest.fixture(scope="session")
def v535(core: Core) -> Struct:
    """The verified one."""
    return core.version("535.261.03")


@pytest.fixture(scope="session")
def abi() -> Abi:
    """The recorded interface."""
    path = Path(__file__).resolve().parent / "data" / "abi.json"
    return Abi(json.loads(path.read_text(encoding="utf-8")))
