# SPDX-License-Identifier: GPL-2.0-only
"""The library, built once a run, and the drivers it knows."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.conftest import needed
from tests.core import facts, headers
from tests.core.abi import Abi
from tests.core.native import ADDRESS, Core, Struct, build

if ADDRESS:  # several times slower, and the other run has searched for values already
    settings.register_profile("address", deadline=None, max_examples=15)
    settings.load_profile("address")

VERSIONS = sorted(headers.rows(), key=facts.order)
# one of each interface: the one that the row's macro is named by
LAYOUTS = [
    name for name, macro in headers.rows().items() if macro == f"NVABI_{name.replace('.', '_')}"
]


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Core:
    """kmod/core as a library."""
    return Core(build(tmp_path_factory.mktemp("core"), needed("gcc")))


# under AddressSanitizer the ones that differ from another in one size alone are left out
LIKE_OTHERS = {"535.54.03", "535.86.05", "550.54.14"}


@pytest.fixture(
    scope="session", params=[one for one in LAYOUTS if not ADDRESS or one not in LIKE_OTHERS]
)
def version(core: Core, request: pytest.FixtureRequest) -> Struct:
    """Each interface in turn: of the drivers that share one, one."""
    return core.version(request.param)


@pytest.fixture(scope="session")
def v535(core: Core) -> Struct:
    """The verified one."""
    return core.version("535.261.03")


@pytest.fixture(scope="session")
def abi() -> Abi:
    """The recorded interface."""
    return facts.abi()
