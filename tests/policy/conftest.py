# SPDX-License-Identifier: GPL-2.0-only
"""The library, built once a run."""

from __future__ import annotations

import pytest

from tests.conftest import needed
from tests.policy.native import CHECKED, Policy, build


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """kmod/core/policy.c with its simulation, sanitized."""
    return Policy(build(tmp_path_factory.mktemp("policy"), needed("gcc"), CHECKED))
