"""Build nvsim.ko and gpushare.ko for a guest's kernel, in the chroot; prints where they are."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from . import host, kernels, modules
from .errors import TestbedError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default=kernels.DEFAULT, choices=list(kernels.KNOWN))
    parser.add_argument(
        "--only", choices=list(modules.FOLDERS), help="one module, whatever state the other is in"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="also copy the modules there")
    parser.add_argument("--sparse", action="store_true", help="check with sparse as well")
    arguments = parser.parse_args()
    wanted = [arguments.only] if arguments.only else list(modules.FOLDERS)
    try:
        host.require()
        built = modules.build_all(wanted, kernels.get(arguments.kernel), sparse=arguments.sparse)
    except TestbedError as error:
        print(f"build-modules: {error}", file=sys.stderr)
        return 1
    for one in built:
        print(one.ko)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one.ko, arguments.out / f"{one.module}.ko")
    for name in wanted:
        if not modules.present(name):
            print(f"build-modules: no sources for {name} yet", file=sys.stderr)
    return 0
