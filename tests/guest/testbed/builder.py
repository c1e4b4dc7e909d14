"""Build this project's modules for a guest's kernel, in the chroot; prints where they are.

By default nvsim.ko and gpushare.ko; with --driver gpushare.ko for that driver, and the driver too
where it isn't in the cache.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from . import driver, host, kernels, modules
from .errors import TestbedError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default=kernels.DEFAULT, choices=list(kernels.KNOWN))
    parser.add_argument("--driver", default="nvsim", choices=["nvsim", *driver.KNOWN])
    parser.add_argument(
        "--only", choices=list(modules.FOLDERS), help="one module, whatever state the other is in"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="also copy the modules there")
    parser.add_argument("--sparse", action="store_true", help="check with sparse as well")
    arguments = parser.parse_args()
    usual = modules.PRODUCT if arguments.driver == "nvsim" else modules.ON_GENUINE
    wanted = [arguments.only] if arguments.only else list(usual)
    try:
        host.require()
        kernel = kernels.get(arguments.kernel)
        below = None if arguments.driver == "nvsim" else driver.get(arguments.driver, kernel)
        built = modules.build_all(wanted, kernel, below, sparse=arguments.sparse)
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
