# SPDX-License-Identifier: GPL-2.0-only
"""Genuine NVIDIA programs on the simulated driver, without gpushare: one boot, many checks.

Once for each version of NVIDIA's user space that the guest has, on a driver of that version.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.guest.sections import Section, boot

# NVIDIA's user space in the guest (testbed/nvidia.py), and the CUDA version each says it is of
VERSIONS: Final = {"535.261.03": "12020", "550.163.01": "12040"}
NAME: Final = "NVIDIA nvsim A10"
UUID: Final = "GPU-6e767369-6d00-4000-8000-000000000001"
TOTAL: Final = 24 << 30
RESERVED: Final = 512 << 20
HELD: Final = 1 << 30

pytestmark = pytest.mark.guest

PYNVML: Final = """
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
m = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
print("driver", n.nvmlSystemGetDriverVersion())
print("count", n.nvmlDeviceGetCount())
print("name", n.nvmlDeviceGetName(h))
print("uuid", n.nvmlDeviceGetUUID(h))
print("memory", m.total, m.reserved, m.used, m.free)
print("compute", *n.nvmlDeviceGetCudaComputeCapability(h))
print("utilisation", n.nvmlDeviceGetUtilizationRates(h).gpu)
print("processes", *[(p.pid, p.usedGpuMemory) for p in n.nvmlDeviceGetComputeRunningProcesses(h)])
"""

SCRIPT: Final = f"""
pynvml() {{ python3 -c '{PYNVML}'; }}
holding() {{
    cudaprobe hold 1G 600 >/tmp/hold & pid=$!
    until_word ^holding /tmp/hold && echo "pid $pid"
}}
gone() {{ kill -9 $pid; wait $pid; until_idle; truth; }}
steps() {{
    printf '%s\\n' 'alloc 1G' memgetinfo 'free 0' 'free 0' 'alloc 64G' memgetinfo quit |
        cudaprobe step
}}
section devices grep "^195 " /proc/devices
section driver cat /proc/driver/nvidia/version
section list nvidia-smi -L
section table nvidia-smi
section query nvidia-smi -q
section pynvml pynvml
section idle truth
section info cudaprobe info
section alloc cudaprobe alloc 1G
section copy cudaprobe copy
section vmm cudaprobe vmm 64M
section managed cudaprobe managed 16M
section host cudaprobe host 4M
section async cudaprobe async 4M
section ptx cudaprobe ptx 100
section step steps
section after truth
section holding holding
section table-held nvidia-smi
section pynvml-held pynvml
section truth-held truth
section gone gone
section refused cat /sys/kernel/debug/nvsim/refused
"""


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def sections(version: str) -> dict[str, Section]:
    return boot(SCRIPT, "--option", f"nvsim.version={version}")


def test_the_driver_is_named_as_that_version_names_it(
    sections: dict[str, Section], version: str
) -> None:
    names = ["nvidia-frontend"] if version.startswith("535.") else ["nvidia", "nvidiactl"]
    assert sections["devices"].text.splitlines() == [f"195 {name}" for name in names]
    assert f"  {version}  " in sections["driver"].text


def test_nvidia_smi_lists_the_card(sections: dict[str, Section]) -> None:
    assert sections["list"] == Section(f"GPU 0: {NAME} (UUID: {UUID})\n", 0)


def test_nvidia_smi_shows_the_whole_card_idle(sections: dict[str, Section], version: str) -> None:
    table = sections["table"]
    assert table.status == 0
    assert f"NVIDIA-SMI {version}" in table.text
    assert f"Driver Version: {version}" in table.text
    assert re.search(rf"0MiB / +{TOTAL >> 20}MiB", table.text)
    assert "No running processes found" in table.text
    assert "ERR!" not in table.text


def test_nvidia_smi_query_agrees_with_the_model(sections: dict[str, Section]) -> None:
    query = sections["query"]
    assert query.status == 0
    for key, value in {
        "Product Name": NAME,
        "GPU UUID": UUID,
        "Total": f"{TOTAL >> 20} MiB",
        "Reserved": f"{RESERVED >> 20} MiB",
        "Free": f"{(TOTAL - RESERVED) >> 20} MiB",
        "Compute Mode": "Default",
    }.items():
        assert re.search(rf"^\s*{key}\s*: {re.escape(value)}$", query.text, re.M), key


def test_pynvml_reads_what_the_truth_says(sections: dict[str, Section], version: str) -> None:
    assert sections["pynvml"].status == 0
    lines = dict(line.partition(" ")[::2] for line in sections["pynvml"].text.splitlines())
    assert lines == {
        "driver": version,
        "count": "1",
        "name": NAME,
        "uuid": UUID,
        "memory": f"{TOTAL} {RESERVED} 0 {TOTAL - RESERVED}",
        "compute": "8 6",
        "utilisation": "0",
        "processes": "",
    }


def test_cuda_initialises_and_knows_the_card(sections: dict[str, Section], version: str) -> None:
    info = sections["info"].values("info")
    assert sections["info"].status == 0, sections["info"].text
    assert info["version"] == VERSIONS[version]
    assert info["compute"] == "8.6"
    assert info["sms"] == "72"
    assert info["uuid"] == UUID
    assert info["name"] == f'"{NAME}"'
    assert int(info["total"]) == TOTAL - RESERVED


def test_allocation_is_refused_when_the_card_is_full(sections: dict[str, Section]) -> None:
    alloc = sections["alloc"]
    assert alloc.status == 0, alloc.text
    refused = alloc.values("refused")
    assert refused["name"] == "CUDA_ERROR_OUT_OF_MEMORY"
    first = (TOTAL - RESERVED) // HELD + 1
    # contexts take their share
    assert first - 1 <= int(refused["n"]) <= first
    before, after = (
        int(line.split("free=")[1].split()[0])
        for line in alloc.text.splitlines()
        if line.startswith("memory ")
    )
    assert before < HELD <= after


@pytest.mark.parametrize("name", ["copy", "vmm", "managed", "host", "async", "ptx"])
def test_cuda_calls_succeed_and_data_is_right(sections: dict[str, Section], name: str) -> None:
    assert sections[name].status == 0, sections[name].text
    assert sections[name].failed() == []
    assert "ok release" in sections[name].text


def test_memory_without_an_address_is_taken_when_made(sections: dict[str, Section]) -> None:
    def free(word: str) -> int:
        return int(sections["vmm"].values(word)["free"])

    assert free("vmm-before") - free("vmm-after-create") == 64 << 20
    assert free("vmm-after-reserve") == free("vmm-after-create")
    assert free("vmm-after-release") == free("vmm-before")


def test_launches_complete_in_order(sections: dict[str, Section]) -> None:
    assert sections["ptx"].values("ptx")["launches"] == "100"
    assert float(sections["ptx"].values("ptx")["elapsed_ms"]) >= 0


def test_steps_are_answered_one_line_each(sections: dict[str, Section]) -> None:
    words = [line.split()[:2] for line in sections["step"].text.splitlines()]
    start = words.index(next(word for word in words if word[0] == "ready"))
    assert [
        " ".join(word[:2]) if word[0] != "memory" else "memory" for word in words[start + 1 :]
    ] == [
        "ok alloc",
        "memory",
        "ok free",
        "failed free",
        "refused alloc",
        "memory",
        "ok release",
    ]


def test_a_process_is_listed_with_what_it_holds(sections: dict[str, Section]) -> None:
    pid = sections["holding"].figures()["pid"]
    truth = sections["truth-held"].figures()
    (used,) = re.findall(r"^processes \((\d+), (\d+)\)$", sections["pynvml-held"].text, re.M)
    assert int(used[0]) == pid
    assert HELD <= int(used[1]) == truth["objects"]
    table = sections["table-held"].text
    assert re.search(rf"\b{pid}\s+C\s+cudaprobe\s+{truth['objects'] >> 20}MiB", table), table
    shown = (truth["objects"] + truth["overhead"] + truth["managed"]) >> 20
    assert re.search(rf" {shown}MiB / +{TOTAL >> 20}MiB", table)


@pytest.mark.parametrize("name", ["idle", "after", "gone"])
def test_nothing_is_left_behind(sections: dict[str, Section], name: str) -> None:
    assert sections[name].alive() == {
        "total": TOTAL,
        "reserved": RESERVED,
        "heap": TOTAL - RESERVED,
        "free": TOTAL - RESERVED,
    }
