# SPDX-License-Identifier: GPL-2.0-only
"""nvsim and gpushare against NVIDIA's own driver: the same calls have the same answers.

What the driver answers is in parity/answers-VERSION.json, made by `python3 -m
tests.driver.parity.guests`: nvsim is checked against it without building the driver, and the
driver tier checks that the file is still what the driver says (550: with GPUSHARE_LONG=1). What
may differ is data with a reason each: parity/differences.py.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.driver.parity import differences
from tests.driver.parity.differences import Declared
from tests.driver.parity.guests import AS_IT_IS, BRANCHES, DRIVERS, Answers, asked, recorded

SIMULATED = pytest.mark.parametrize("version", list(DRIVERS.values()))
GENUINE = pytest.mark.parametrize("driver", BRANCHES)


@cache
def simulated(version: str) -> dict[str, Answers]:
    return asked(["--bare", "--option", f"nvsim.version={version}"], "driver", "tenant")


@cache
def with_objects(driver: str) -> dict[str, Answers]:
    """The genuine driver with the few objects that a tenant needs, and a tenant on it."""
    return asked(["--driver", driver, "--bare"], "driver", "tenant")


def compare(expected: Answers, found: Answers, declared: Declared, version: str) -> None:
    assert list(expected) == list(found)
    reasons = differences.of(declared, version)
    different = {name for name in expected if expected[name] != found[name]}
    undeclared = [
        f"{name}: expected {expected[name]!r}, found {found[name]!r}"
        for name in expected
        if name in different - set(reasons)
    ]
    assert not undeclared, "\n".join(undeclared)
    unfounded = set(reasons) - different
    assert not unfounded, f"declared, but equal: {sorted(unfounded)}"


@pytest.mark.guest
@SIMULATED
def test_nvsim_answers_as_the_driver(version: str) -> None:
    compare(recorded(version), simulated(version)["driver"], differences.NVSIM, version)


@pytest.mark.guest
@SIMULATED
def test_tenant_on_nvsim_is_answered_as_on_the_nodes(version: str) -> None:
    sides = simulated(version)
    compare(sides["driver"], sides["tenant"], differences.TENANT_ON_NVSIM, version)


@pytest.mark.driver
@GENUINE
def test_recorded_answers_are_the_drivers(driver: str) -> None:
    answers = asked(["--driver", driver, *AS_IT_IS], "driver")["driver"]
    compare(recorded(DRIVERS[driver]), answers, {}, DRIVERS[driver])


@pytest.mark.driver
@GENUINE
def test_objects_of_the_helper_change_no_other_answer(driver: str) -> None:
    version = DRIVERS[driver]
    compare(recorded(version), with_objects(driver)["driver"], differences.HELPER, version)


@pytest.mark.driver
@GENUINE
def test_tenant_is_answered_as_on_the_drivers_nodes(driver: str) -> None:
    sides = with_objects(driver)
    compare(sides["driver"], sides["tenant"], differences.TENANT, DRIVERS[driver])
