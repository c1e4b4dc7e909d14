# SPDX-License-Identifier: GPL-2.0-only
"""Check and charge are one step."""

from __future__ import annotations

import subprocess
from typing import Final

import pytest

from tests.guest.rm import truth
from tests.guest.rm.abi import MIB, N
from tests.guest.rm.tenant import SYSFS, KernelCard, MakeTenant
from tests.guest.suite.scale import scaled

PROCESSES, THREADS, CHUNK, FITS = 8, 8, 32, 32
FAILURE: Final = N.NV_ERR_TIMEOUT


@pytest.mark.case("MB-08")
@pytest.mark.parametrize("failing", [False, True], ids=["slow driver", "slow and failing driver"])
def test_exactly_what_fits_is_given_in_every_round(
    make: MakeTenant, card: KernelCard, failing: bool
) -> None:
    rounds = scaled(8, 200)
    make("c1", 1024 * MIB)
    rules = ["delay alloc number=0x40 ms=5"]
    if failing:
        # 32 calls a round succeed, so at most that many tenths fail
        rules += [
            f"fail alloc number=0x40 nth={10 * nth} status={FAILURE:#x}"
            for nth in range(1, rounds * FITS // 9)
        ]
    with truth.faults(*rules):
        done = subprocess.run(
            [
                "mb08",
                "/dev/gpushare/c1",
                SYSFS / "c1" / card.uuid / "charged_bytes",
                str(rounds),
                str(PROCESSES),
                str(THREADS),
                str(CHUNK),
                str(FITS),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("failures=0" in done.stdout) is not failing, done.stdout
