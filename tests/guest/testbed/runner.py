"""Boot a guest with the modules, gpushared and NVIDIA's user space; run COMMAND there as root.

COMMAND's output is streamed and its exit status returned. A guest that dies, hangs or whose kernel
complains returns 125, with the end of its console.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from . import driver, host, image, initrd, kernels, kvm, modules, vm
from .errors import TestbedError

# "nvsim" is the driver alone, whichever it is
LOADED = {
    "none": [],
    "nvsim": ["nvsim"],
    "all": ["nvsim", "gpushare"],
    "rmops": ["nvsim", "gpushare", "rmops"],  # tests/driver/rmops
    "kunit": ["gsh_kunit"],  # a kernel with KUnit: --kernel debug
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, usage="%(prog)s [options] -- COMMAND…")
    parser.add_argument(
        "--driver",
        default="nvsim",
        choices=["nvsim", *driver.KNOWN],
        help="what stands for NVIDIA's kernel driver, or NVIDIA's own without a card",
    )
    parser.add_argument("--kernel", default=kernels.DEFAULT, choices=list(kernels.KNOWN))
    parser.add_argument(
        "--cards", type=int, default=1, metavar="N", help="simulated cards (default %(default)s)"
    )
    parser.add_argument(
        "--modules",
        default="all",
        choices=list(LOADED),
        help="what is loaded (default %(default)s)",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="MODULE.KEY=VALUE",
        help="a module parameter",
    )
    parser.add_argument("--append", default="", metavar="TEXT", help="kernel parameters")
    parser.add_argument("--bare", action="store_true", help="modules only: no gpushared")
    parser.add_argument(
        "--deterministic",
        action="store_true",
        help="guest time counts instructions: runs repeat exactly",
    )
    parser.add_argument("--cpus", type=int, metavar="N", help="default 2, with --deterministic 1")
    parser.add_argument(
        "--copy",
        action="append",
        default=[],
        metavar="HOST:GUEST",
        help="a file or folder to take along",
    )
    parser.add_argument("--memory", type=int, default=2048, metavar="MiB")
    parser.add_argument(
        "--timeout", type=float, default=600, metavar="S", help="for COMMAND (default %(default)s)"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    return parser.parse_args()


Loaded = tuple[str, Path, str]
"""A module's name, file and options."""


def module_options(wanted: argparse.Namespace, name: str) -> str:
    options = []
    if name in ("nvsim", "nocard"):
        options += [f"cards={wanted.cards}"]
    if name == "nocard":
        # Later ones win: --option nocard.objects=0 gives the driver as it is without a card.
        options += [f"window={wanted.memory << 20:#x}", "objects=1"]
    options += [text.partition(".")[2] for text in wanted.option if text.partition(".")[0] == name]
    return " ".join(options)


def copies(wanted: argparse.Namespace) -> list[tuple[Path, str]]:
    found = []
    for text in wanted.copy:
        source, colon, inside = text.rpartition(":")
        if not colon or not inside.startswith("/"):
            raise TestbedError(f"--copy {text}: HOST:GUEST with an absolute GUEST path is wanted")
        if not Path(source).exists():
            raise TestbedError(f"--copy {text}: no {source} here")
        found.append((Path(source), inside))
    return found


def loaded_modules(wanted: argparse.Namespace, kernel: kernels.Kernel) -> list[Loaded]:
    names = LOADED[wanted.modules]
    genuine: driver.Driver | None = None
    if "nvsim" in names and wanted.driver != "nvsim":
        genuine = driver.get(wanted.driver, kernel)
        names = ["nocard" if name == "nvsim" else name for name in names]
    found: dict[str, Path] = {}
    for built in modules.build_all(names, kernel, genuine):
        found[built.module] = built.ko
        if genuine and built.module == "nocard":
            found |= {name: genuine.ko(name) for name in driver.MODULES}
    return [(name, ko, module_options(wanted, name)) for name, ko in found.items()]


def hidden_mib(wanted: argparse.Namespace) -> int:
    """Memory that the kernel isn't told of: the windows of nocard.ko's cards."""
    if wanted.driver == "nvsim":
        return 0
    hidden = int(wanted.cards) * driver.CARD_MIB
    if wanted.memory + hidden > driver.LOW_MIB:
        raise TestbedError(
            f"{wanted.cards} cards leave {driver.LOW_MIB - hidden} MiB of --memory with this driver"
        )
    return hidden


def run(wanted: argparse.Namespace) -> int:
    host.require()
    kernel = kernels.get(wanted.kernel)
    root = image.get()
    loaded = loaded_modules(wanted, kernel)
    run_part = initrd.run(
        command=shlex.join(wanted.command) + "\n",
        settings={
            "daemon": "yes" if wanted.modules == "all" and not wanted.bare else "no",
            "serial": "yes" if wanted.deterministic else "no",
        },
        modules=loaded,
        copies=copies(wanted),
    )
    first_part = initrd.base(kernel)
    machine = vm.Machine(
        kernel=kernel.image,
        parameters=wanted.append,
        image=root,
        memory_mib=wanted.memory,
        hidden_mib=hidden_mib(wanted),
        cpus=wanted.cpus or (1 if wanted.deterministic else 2),
        deterministic=wanted.deterministic,
        kvm=not wanted.deterministic and kvm.works(kernel, first_part),
        timeout_s=wanted.timeout,
    )
    return vm.Guest(machine, [first_part, initrd.tree()], run_part).run()


def main() -> int:
    try:
        return run(arguments())
    except TestbedError as error:
        print(f"guest: {error}", file=sys.stderr)
        return vm.BROKEN
