# SPDX-License-Identifier: GPL-2.0-only
"""The same genuine programs in one guest, directly on the driver and as a tenant.

Once for each version of NVIDIA's user space that the guest has. The tenant has all that can be
granted, so that its outputs equal those on the whole card but for what DECLARED names. Each entry
says why.
"""

from __future__ import annotations

import os
import re
from typing import Final

import pytest

from tests.guest.sections import Section, boot

pytestmark = pytest.mark.guest

VERSIONS: Final = ("535.261.03", "550.163.01")
PROGRAMS: Final = {
    "list": "nvidia-smi -L",
    "table": "nvidia-smi",
    "query": "nvidia-smi -q",
    "info": "cudaprobe info",
    "copy": "cudaprobe copy",
    "vmm": "cudaprobe vmm 64M",
    "managed": "cudaprobe managed 16M",
    "host": "cudaprobe host 4M",
    "async": "cudaprobe async 4M",
    "ptx": "cudaprobe ptx 20",
}

POOL_ROUNDS: Final = 10_000 if os.environ.get("GPUSHARE_LONG") == "1" else 40
POOL_SLACK: Final = 4 << 20

# What is allowed to differ: a pattern whose matches are blanked on both sides.
DECLARED: Final = {
    r"\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}|Timestamp +: .*": "the time of day",
    r"\d+MiB / +\d+MiB": "memory: the quota is the total, without what the driver keeps",
    r"(?m)^ +(Total|Reserved|Used|Free) +: \d+ MiB$": "the same figures in the long form",
    r"\b(total|free|before|after|used|reserved)\w*=\d+": "the same figures in CUDA's words",
    r"\d+%|N/A": "utilisation: a tenant's own load is not measured yet and reads N/A",
    r"(?m)^ +(Gpu|Memory|Encoder|Decoder|JPEG|OFA) +: .*$": "the same in the long form",
    r"0x[0-9a-f]{6,}": "addresses",
    r"\bpid[= ]\d+": "process numbers",
    r"\b\w*(ns|us|ms|seconds)=[\d.]+": "times",
}


def _script() -> str:
    lines = [
        "tenant() { gpushare create par --memory 23.5GiB >/dev/null; }",
        "section create tenant",
    ]
    for name, command in PROGRAMS.items():
        lines.append(f"section {name} {command}")
        lines.append(f"section {name}-tenant gpushare run par -- {command}")
    lines += [
        f"section pool gpushare run par -- cudaprobe pool 64M {POOL_ROUNDS}",
        "section figures gpushare show par -o json",
        "section delete gpushare delete par",
        "small() { gpushare create small --memory 2GiB >/dev/null; }",
        "section small small",
        "section quota gpushare run small -- cudaprobe alloc 512M",
        "section quota-vmm gpushare run small -- cudaprobe vmm 3G",
        "section quota-managed gpushare run small -- cudaprobe managed 3G",
        "section small-delete gpushare delete small",
        "section after truth",
    ]
    return "\n".join(lines)


@pytest.fixture(scope="module", params=VERSIONS)
def sections(request: pytest.FixtureRequest) -> dict[str, Section]:
    return boot(_script(), "--option", f"nvsim.version={request.param}", product=True)


def blank(text: str) -> list[str]:
    for pattern in DECLARED:
        text = re.sub(pattern, "~", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tenant_sees_what_the_card_shows(sections: dict[str, Section], name: str) -> None:
    direct, tenant = sections[name], sections[f"{name}-tenant"]
    assert tenant.status == direct.status == 0, tenant.text
    assert blank(tenant.text) == blank(direct.text)


def test_the_quota_is_the_end_of_memory(sections: dict[str, Section]) -> None:
    quota = sections["quota"]
    assert quota.status == 0, quota.text
    refused = quota.values("refused")
    assert refused["name"] == "CUDA_ERROR_OUT_OF_MEMORY"
    assert int(refused["n"]) in (3, 4), "of 2 GiB the context takes its part"
    before, after = (
        int(line.split("free=")[1].split()[0])
        for line in quota.text.splitlines()
        if line.startswith("memory ")
    )
    assert before < 512 << 20 <= after
    assert "ok release" in quota.text


def test_more_than_the_quota_is_refused_without_an_address(sections: dict[str, Section]) -> None:
    vmm = sections["quota-vmm"]
    assert vmm.status == 0, vmm.text
    assert vmm.values("refused")["name"] == "CUDA_ERROR_OUT_OF_MEMORY"
    assert "ok release" in vmm.text


def test_more_managed_memory_than_the_quota_is_refused(sections: dict[str, Section]) -> None:
    """A refused mmap is all the driver's interface has for this; libcuda calls it unknown (999)."""
    managed = sections["quota-managed"]
    assert re.search(r"^(failed managed-alloc|refused managed) ", managed.text, re.M), managed.text
    assert "ok release" in managed.text


@pytest.mark.case("MA-04")
def test_stream_ordered_pools_do_not_drift(sections: dict[str, Section]) -> None:
    pool = sections["pool"]
    assert pool.status == 0, pool.text
    free = {word: int(pool.values(word)["free"]) for word in ("pool-before", "pool-after")}
    assert abs(free["pool-before"] - free["pool-after"]) <= POOL_SLACK, pool.text
    keeping = int(pool.values("pool-keeping")["free"])
    assert free["pool-before"] - keeping <= (64 << 20) + POOL_SLACK, "more kept than one block"


def test_nothing_is_left_behind(sections: dict[str, Section]) -> None:
    for name in ("delete", "small-delete"):
        assert sections[name].status == 0, sections[name].text
    assert "memories 0\n" in sections["after"].text
    assert "pages 0\n" in sections["after"].text
