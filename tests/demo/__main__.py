# SPDX-License-Identifier: GPL-2.0-only
"""The sections of the demo, inside a guest; each shows a promise and checks its figures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from gpushare.client import Client, JsonObject
from gpushare.sizes import GIB, MIB, format_size, rounded_size
from tests.demo.stage import DemoBroken, Stage
from tests.demo.tenant_program import TenantProgram
from tests.demo.truth import Truth

WEB: Final = "web"
BATCH: Final = "batch"
BLOCK_MIB: Final = 1024
# libcuda takes card memory in pages of this size
PAGE_MIB: Final = 2
QUERY: Final = ("nvidia-smi", "--query-gpu=name,memory.used,memory.total", "--format=csv")
PROCESS_ROW: Final = re.compile(
    r"^\|\s+\d+\s+N/A\s+N/A\s+(\d+)\s+C\s.*\s(\d+)MiB \|$", re.MULTILINE
)
USED_OF_TOTAL: Final = re.compile(r"(\d+)MiB / +(\d+)MiB")


@dataclass
class Demo:
    """What the sections share."""

    stage: Stage
    stack: ExitStack
    client: Client = field(default_factory=Client)
    quotas: dict[str, int] = field(default_factory=dict)
    programs: dict[str, TenantProgram] = field(default_factory=dict)
    truth: Truth = field(default_factory=Truth)

    def start(self, name: str) -> None:
        program = TenantProgram(self.stage, name, begins=self.truth.acts)
        self.programs[name] = self.stack.enter_context(program)

    def used(self, name: str) -> int:
        """Bytes on the card that the driver gave to a tenant's program."""
        program = self.programs.get(name)
        return self.truth.used(program.pid) if program is not None else 0

    def left(self, name: str) -> int:
        return max(0, self.quotas[name] - self.used(name))

    def share(self, name: str) -> JsonObject:
        shares = self.client.tenant(name)["shares"]
        if not isinstance(shares, list) or not isinstance(shares[0], dict):
            raise DemoBroken(f"tenant {name} has no share")
        return shares[0]

    def check_charge(self, name: str) -> None:
        self.stage.check(
            f"{name}: gpushare's charge is what the driver really gave it",
            expected=f"{self.used(name)} bytes",
            seen=f"{self.share(name)['charged_bytes']} bytes",
        )


def tenants(demo: Demo) -> None:
    stage = demo.stage
    stage.heading(
        "Two tenants on one card",
        "The card is simulated behind NVIDIA's own kernel interface; nvidia-smi and libcuda are "
        "NVIDIA's own, unmodified.",
    )
    stage.run("nvidia-smi", "-L")
    stage.run("gpushare", "create", WEB, "--memory", "6GiB")
    stage.run("gpushare", "create", BATCH, "--memory", "4GiB")
    demo.quotas = {WEB: 6 * GIB, BATCH: 4 * GIB}
    for name, quota in demo.quotas.items():
        stage.check(
            f"{name} has {format_size(quota)} and uses nothing",
            expected=(quota, 0),
            seen=(demo.share(name)["quota_bytes"], demo.share(name)["charged_bytes"]),
        )
    stage.say("Quotas are promises: more than the card has is not granted.")
    stage.run("gpushare", "create", "more", "--memory", "14GiB", status=5)
    stage.check(
        "the refusal changed nothing",
        expected=sorted(demo.quotas),
        seen=[tenant["name"] for tenant in demo.client.tenants()],
    )


def programs(demo: Demo) -> None:
    stage = demo.stage
    stage.heading(
        "A CUDA program in each",
        "cudaprobe calls cuMemAlloc in NVIDIA's libcuda and prints what it answers. Each takes 1 "
        "GiB and goes on running.",
    )
    for name in (WEB, BATCH):
        demo.start(name)
        answer = demo.programs[name].alloc(BLOCK_MIB)
        stage.check(f"{name} got its 1 GiB", expected=True, seen=answer.granted)
        demo.check_charge(name)


def views(demo: Demo) -> None:
    stage = demo.stage
    stage.heading(
        "nvidia-smi: the host sees the card, a tenant its quota",
        "The same program at the same moment, on the host and in each tenant. (Where the terminal "
        "is narrower than its tables, they are shown with less padding.)",
    )
    everybody = sorted(program.pid for program in demo.programs.values())
    card = demo.truth.card()
    host = stage.run("nvidia-smi")
    check_view(demo, "host", host, card.total, card.used, everybody)
    for name in (WEB, BATCH):
        inside = stage.run("gpushare", "run", name, "--", "nvidia-smi")
        own = [demo.programs[name].pid]
        check_view(demo, name, inside, demo.quotas[name], demo.used(name), own)
    stage.say("CUDA sees the same:")
    for name, quota in demo.quotas.items():
        check_memory_info(demo, name, total=quota)


def check_view(demo: Demo, who: str, text: str, total: int, used: int, pids: list[int]) -> None:
    found = USED_OF_TOTAL.search(text)
    what = "the whole card" if who == "host" else "the tenant's quota"
    demo.stage.check(
        f"{who}: the memory of the card is {what}, in use is what is really in use",
        expected=f"{used // MIB}MiB / {total // MIB}MiB",
        seen=f"{found[1]}MiB / {found[2]}MiB" if found else "no figures",
    )
    demo.stage.check(
        f"{who}: " + ("all programs are listed" if who == "host" else "only its own program is"),
        expected=pids,
        seen=sorted(int(pid) for pid, _ in PROCESS_ROW.findall(text)),
    )


def fill(demo: Demo, name: str) -> None:
    """Allocate until refused, then exactly what is left, then one page more."""
    program = demo.programs[name]
    expected: list[str] = []
    seen: list[str] = []
    demo.truth.acts(program.pid)
    took_nothing = True

    def request(size_mib: int) -> bool:
        nonlocal took_nothing
        before = demo.used(name)
        fits = before + size_mib * MIB <= demo.quotas[name]
        answer = program.alloc(size_mib)
        expected.append(f"{size_mib} {'granted' if fits else 'CUDA_ERROR_OUT_OF_MEMORY'}")
        seen.append(f"{size_mib} {'granted' if answer.granted else answer.values.get('name')}")
        took_nothing = took_nothing and (answer.granted or demo.used(name) == before)
        return answer.granted

    while request(BLOCK_MIB):
        pass
    rest_mib = demo.left(name) // MIB // PAGE_MIB * PAGE_MIB
    if rest_mib:
        request(rest_mib)
    request(PAGE_MIB)
    demo.stage.check(
        f"{name}: the refused request is the first that would pass quota - charge, "
        "and what was left could be used",
        expected=", ".join(expected),
        seen=", ".join(seen),
    )
    demo.stage.check(f"{name}: a refused request took nothing", expected=True, seen=took_nothing)
    demo.check_charge(name)


def check_memory_info(demo: Demo, name: str, *, total: int) -> None:
    memory = demo.programs[name].tell("memgetinfo")
    demo.stage.check(
        f"{name}: cuMemGetInfo tells of {format_size(total)} and of quota - charge as free",
        expected=(total, demo.left(name)),
        seen=(memory.number("total"), memory.number("free")),
    )


def fill_beside(demo: Demo, name: str, other: str) -> None:
    before = (demo.used(other), demo.share(other)["charged_bytes"])
    fill(demo, name)
    demo.stage.check(
        f"{other}: its memory stayed as it was",
        expected=before,
        seen=(demo.used(other), demo.share(other)["charged_bytes"]),
    )


def web_fills(demo: Demo) -> None:
    demo.stage.heading(
        f"{WEB} allocates until it is refused",
        "1 GiB at a time, then exactly what is left of the quota, then one page more.",
    )
    fill_beside(demo, WEB, BATCH)


def batch_fills(demo: Demo) -> None:
    demo.stage.heading(f"So does {BATCH}", f"{WEB} is full, and that is no concern of {BATCH}.")
    fill_beside(demo, BATCH, WEB)


def raised(demo: Demo) -> None:
    stage, before = demo.stage, demo.used(WEB)
    stage.heading("A quota changed while the program runs", "Up: it can be used at once.")
    stage.run("gpushare", "set", WEB, "--memory", "8GiB")
    demo.quotas[WEB] = 8 * GIB
    stage.say(
        f"The same process of {WEB} goes on. (libcuda asks for the total once, at its start, and "
        "for what is free each time.)"
    )
    check_memory_info(demo, WEB, total=6 * GIB)
    fill_beside(demo, WEB, BATCH)
    stage.check(
        f"{WEB} uses the 2 GiB that it got", expected=True, seen=demo.used(WEB) > before + GIB
    )
    shown = stage.run("gpushare", "run", WEB, "--", *QUERY).splitlines()[-1]
    stage.check(
        f"{WEB}: nvidia-smi knows the new quota",
        expected=f"{demo.used(WEB) // MIB} MiB, {8 * GIB // MIB} MiB",
        seen=shown.partition(", ")[2],
    )
    lowered(demo)


def lowered(demo: Demo) -> None:
    stage, before = demo.stage, demo.used(WEB)
    stage.say("Down, below what is in use: nothing is killed, and nothing more is given.")
    stage.run("gpushare", "set", WEB, "--memory", "5GiB")
    answer = demo.programs[WEB].alloc(PAGE_MIB)
    stage.check(
        f"{WEB} keeps what it has and gets no page more",
        expected=("CUDA_ERROR_OUT_OF_MEMORY", before, True),
        seen=(answer.values.get("name"), demo.used(WEB), demo.share(WEB)["over_quota"]),
    )
    stage.run("gpushare", "set", WEB, "--memory", "8GiB")


def books(demo: Demo) -> None:
    stage = demo.stage
    stage.heading(
        "The books", "What gpushare shows, against what the driver knows it gave to each program."
    )
    listed = stage.run("gpushare", "list")
    rows = {line.split()[0]: line.split() for line in listed.splitlines()[1:] if line}
    for name, quota in demo.quotas.items():
        figures = (quota, demo.used(name), demo.left(name), demo.used(name))
        stage.check(
            f"{name}: quota, used, free and peak are right",
            expected=[rounded_size(size) for size in figures],
            seen=rows.get(name, [])[2:6],
        )
    card, shown = demo.truth.card(), demo.client.cards()[0]
    stage.check(
        "the card: charged to tenants is all that is in use, outside of them is nothing",
        expected=(card.used, 0, card.free),
        seen=(shown["charged_bytes"], shown["outside_bytes"], shown["free_bytes"]),
    )


def back_to_zero(demo: Demo) -> None:
    stage = demo.stage
    stage.heading("Back to zero", f"{WEB} ends as programs do; {BATCH} is killed with kill -9.")
    web, batch = demo.programs[WEB], demo.programs[BATCH]
    stage.line("")
    stage.check(f"{WEB} ended with status 0", expected=0, seen=web.quit())
    stage.prompt(["kill", "-9", str(batch.pid)])
    batch.kill()
    for name in demo.quotas:
        stage.settles(f"{name} is charged nothing", expected=0, look=charge_of(demo, name))
    stage.settles(
        "the driver has all of its memory back", expected=0, look=lambda: demo.truth.card().used
    )
    stage.run("gpushare", "list")
    for name in demo.quotas:
        stage.run("gpushare", "delete", name)
    stage.check(
        "no tenant and no device node is left",
        expected=([], []),
        seen=(demo.client.tenants(), nodes()),
    )
    stage.run(*QUERY)


def charge_of(demo: Demo, name: str) -> Callable[[], object]:
    return lambda: demo.share(name)["charged_bytes"]


def nodes() -> list[str]:
    root = "/dev/gpushare"
    return sorted(os.listdir(root)) if os.path.isdir(root) else []


SECTIONS: Final[tuple[Callable[[Demo], None], ...]] = (
    tenants,
    programs,
    views,
    web_fills,
    batch_fills,
    raised,
    books,
    back_to_zero,
)


def main() -> int:
    stage = Stage()
    try:
        with ExitStack() as stack:
            demo = Demo(stage, stack)
            for section in SECTIONS:
                section(demo)
    except DemoBroken as error:
        stage.line(f"\ndemo: stopped: {error}")
        return 1
    if stage.failed:
        stage.line(f"\ndemo: {stage.failed} checks failed, {stage.passed} passed")
        return 1
    stage.line(f"\ndemo: {stage.passed} checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
