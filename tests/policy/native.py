# SPDX-License-Identifier: GPL-2.0-only
"""The policy and its simulation as a library: sanitized for tests, optimised for benchmarks."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
KMOD: Final = HERE.parent.parent / "kmod"
SOURCES: Final = [HERE / "sim.c", KMOD / "core" / "policy.c"]
WARNINGS: Final = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
CHECKED: Final = ["-O1", "-g", "-fsanitize=undefined,bounds", "-fno-sanitize-recover=all"]
FAST: Final = ["-O2"]

US: Final = 1_000
MS: Final = 1_000_000
SECOND: Final = 1_000_000_000
NEVER: Final = (1 << 64) - 1

U32, U64 = ctypes.c_uint32, ctypes.c_uint64


class SimTenant(ctypes.Structure):
    _fields_ = (
        ("min_permille", U32),
        ("max_permille", U32),
        ("weight", U32),
        ("priority", U32),
        ("launch_ns", U64),
        ("toggles", ctypes.POINTER(U64)),
        ("toggle_count", U32),
        ("windows", U32),
        ("ran_ns", U64),
        ("wanted_ns", U64),
        ("throttled_ns", U64),
        ("waited_ns", U64),
        ("worst_latency_ns", U64),
        ("bins", ctypes.POINTER(U64)),
    )


class Sim(ctypes.Structure):
    _fields_ = (
        ("call_ns", U64),
        ("switch_ns", U64),
        ("window_ns", U64),
        ("period_ns", U64),
        ("debt_ns", U64),
        ("end_ns", U64),
        ("bin_ns", U64),
        ("floor_permille", U32),
        ("tenant_count", U32),
        ("tenants", ctypes.POINTER(SimTenant)),
        ("lost_ns", U64),
        ("unused_ns", U64),
        ("decisions", U64),
        ("switches", U64),
    )


@dataclass(frozen=True)
class Tenant:
    """One share and its load. toggles: when it wants the engine and when no more, in turn, ns."""

    min_permille: int = 0
    max_permille: int = 1000
    weight: int = 100
    priority: int = 8
    launch_ns: int = 0
    toggles: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Costs:
    """What the driver takes, and how the policy is set."""

    call_ns: int = 0
    switch_ns: int = 0
    window_ns: int = 10 * MS
    period_ns: int = 100 * MS
    debt_ns: int = 10 * SECOND
    floor_permille: int = 10


@dataclass(frozen=True)
class Got:
    """What a tenant got, in ns; bins: per bin."""

    ran_ns: int
    wanted_ns: int
    throttled_ns: int
    waited_ns: int
    worst_latency_ns: int
    windows: int
    bins: list[int] = field(repr=False)


@dataclass(frozen=True)
class Outcome:
    end_ns: int
    lost_ns: int
    unused_ns: int
    decisions: int
    switches: int
    tenants: list[Got]

    def permille(self, index: int) -> float:
        """Of the whole time."""
        return 1000 * self.tenants[index].ran_ns / self.end_ns


def build(folder: Path, compiler: str, flags: Sequence[str]) -> Path:
    out = folder / "libpolicy.so"
    argv = [compiler, "-std=gnu11", "-fPIC", "-shared", *WARNINGS, *flags, f"-I{KMOD}"]
    subprocess.run([*argv, *map(str, SOURCES), "-o", str(out)], check=True)
    return out


class Policy:
    """The library. run() simulates; box functions drive single operations."""

    def __init__(self, path: Path) -> None:
        self.lib = ctypes.CDLL(str(path))
        pointer = ctypes.c_void_p
        for name, result, arguments in (
            ("sim_run", ctypes.c_int, [pointer]),
            ("decide_cost_ns", U64, [U32, U32]),
            ("box_new", pointer, [U64, U64, U64, U32]),
            ("box_free", None, [pointer]),
            ("box_policy", pointer, [pointer]),
            ("box_share", pointer, [pointer, U32]),
            ("box_choose", ctypes.c_int, [pointer, U64, pointer, pointer]),
            ("box_sound", ctypes.c_bool, [pointer]),
            ("gsh_policy_share_init", ctypes.c_int, [pointer, pointer, U32, U32, U32, U32]),
            ("gsh_policy_set", ctypes.c_int, [pointer, pointer, U32, U32, U32, U32, U64]),
            ("gsh_policy_wake", ctypes.c_int, [pointer, pointer, U64]),
            ("gsh_policy_sleep", None, [pointer, pointer, U64]),
            ("gsh_policy_share_remove", None, [pointer, pointer, U64]),
            ("gsh_policy_ran", None, [pointer, pointer, U64, U64]),
        ):
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments

    def run(
        self,
        tenants: Sequence[Tenant],
        *,
        costs: Costs | None = None,
        end_ns: int = 10 * SECOND,
        bin_ns: int = 10 * MS,
    ) -> Outcome:
        """Simulates end_ns of virtual time; ValueError: figures that the policy refuses."""
        costs = costs or Costs()
        count = end_ns // bin_ns + 1
        made = (SimTenant * len(tenants))()
        bins = [(U64 * count)() for _ in tenants]
        toggles = [(U64 * len(one.toggles))(*one.toggles) for one in tenants]
        for to, one, bin_array, toggle_array in zip(made, tenants, bins, toggles, strict=True):
            to.min_permille, to.max_permille = one.min_permille, one.max_permille
            to.weight, to.priority, to.launch_ns = one.weight, one.priority, one.launch_ns
            to.toggles = ctypes.cast(toggle_array, ctypes.POINTER(U64))
            to.toggle_count = len(one.toggles)
            to.bins = ctypes.cast(bin_array, ctypes.POINTER(U64))
        sim = Sim(
            call_ns=costs.call_ns,
            switch_ns=costs.switch_ns,
            window_ns=costs.window_ns,
            period_ns=costs.period_ns,
            debt_ns=costs.debt_ns,
            floor_permille=costs.floor_permille,
            end_ns=end_ns,
            bin_ns=bin_ns,
            tenant_count=len(tenants),
            tenants=ctypes.cast(made, ctypes.POINTER(SimTenant)),
        )
        if self.lib.sim_run(ctypes.byref(sim)):
            raise ValueError("the policy refuses these figures")
        return Outcome(
            sim.end_ns,
            sim.lost_ns,
            sim.unused_ns,
            sim.decisions,
            sim.switches,
            [
                Got(
                    one.ran_ns,
                    one.wanted_ns,
                    one.throttled_ns,
                    one.waited_ns,
                    one.worst_latency_ns,
                    one.windows,
                    list(ran),
                )
                for one, ran in zip(made, bins, strict=True)
            ],
        )
