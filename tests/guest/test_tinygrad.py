# SPDX-License-Identifier: GPL-2.0-only
"""tinygrad's NV backend on the simulated driver, directly and as a tenant.

It makes the driver's calls itself, with layouts of 570 and later: a second opinion on them, by
people who had nothing to do with this project.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.guest.sections import Section, boot

VERSION: Final = "570.211.01"
MEMORY_MIB: Final = 4096
QUOTA_GIB: Final = 2
BLOCK: Final = 256 << 20

pytestmark = pytest.mark.guest

SCRIPT: Final = f"""
export DEV=NV
client() {{ python3 -m tests.guest.tinygrad_client; }}
tenant() {{ gpushare run c1 -- python3 -m tests.guest.tinygrad_client; }}
section direct client
section direct-after truth
section create gpushare create c1 --memory {QUOTA_GIB}GiB
section tenant tenant
section shown gpushare show c1 -o json
section delete gpushare delete c1
section tenant-after truth
section refused cat /sys/kernel/debug/nvsim/refused
"""


@pytest.fixture(scope="module")
def sections() -> dict[str, Section]:
    options = ("--option", f"nvsim.version={VERSION}", "--option", f"nvsim.memory_mib={MEMORY_MIB}")
    return boot(SCRIPT, *options, product=True)


@pytest.mark.parametrize("name", ["direct", "tenant"])
def test_it_opens_the_card_and_copies(sections: dict[str, Section], name: str) -> None:
    section = sections[name]
    assert section.status == 0, section.text
    assert section.values("opened") == {"interface": "NVKIface", "arch": "sm_86"}
    copied = re.findall(r"^copied size=(\d+) right=(\w+)$", section.text, re.M)
    assert len(copied) == 5, section.text
    assert {right for _, right in copied} == {"True"}


@pytest.mark.parametrize(
    ("name", "whole"), [("direct", (MEMORY_MIB - 512) << 20), ("tenant", QUOTA_GIB << 30)]
)
def test_the_end_of_memory_is_a_memory_error(
    sections: dict[str, Section], name: str, whole: int
) -> None:
    section = sections[name]
    refused = section.values("refused")
    # rings, buffers of the context and of the library take their part
    assert whole // BLOCK - 1 <= int(refused["n"]) <= whole // BLOCK, section.text
    assert "Allocation of 256.00 MB failed on NV" in section.text
    assert int(section.values("again")["n"]) == int(refused["n"]) - 1, "what is freed is to be had"
    assert section.text.splitlines()[-1] == "done"


@pytest.mark.parametrize("name", ["direct-after", "tenant-after"])
def test_nothing_is_left_behind(sections: dict[str, Section], name: str) -> None:
    left = sections[name].alive()
    assert not left.keys() & {"memories", "pages", "mappings", "uvm_spaces", "doorbells"}
    # gpushare's own, with which it keeps the card open
    assert (left["clients"], left["vaspaces"]) == (1, 1)
    assert left["free"] == left["heap"]
