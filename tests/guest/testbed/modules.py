"""This project's modules for a kernel, built apart: a broken one doesn't block the others.

gpushare.ko is linked with the symbols of the driver that it will sit on: nvsim's, or NVIDIA's own.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from . import cache, chroot, driver, kernels, paths
from .errors import TestbedError

SOURCE = paths.REPO / "kmod"
# what only tests need brings Kbuild and Makefile of its own
FOR_TESTS = {name: paths.REPO / "tests/driver" / name for name in ("nocard", "rmops")}
# module -> its own folders below kmod; load order
FOLDERS: dict[str, tuple[str, ...]] = {
    "nocard": (),
    "nvsim": ("nvsim",),
    "gpushare": ("gpushare", "core"),
    "rmops": (),
    "gsh_kunit": ("kunit", "gpushare", "core"),
}
PRODUCT = ("nvsim", "gpushare")  # what is built when nobody says what
ON_GENUINE = ("nocard", "gpushare")  # the same for NVIDIA's own driver
LINKED = ("gpushare", "rmops")  # with the driver's symbols
SHARED = ("nvabi", "uapi")
KEPT = 8
INSIDE = Path("/build-kmod")


class BuildError(TestbedError):
    """The compiler's own words."""


@dataclass(frozen=True)
class Built:
    module: str
    ko: Path
    symvers: Path


def sources(module: str) -> dict[str, bytes]:
    """Path in the build's folder -> content, for one module."""
    own = FOR_TESTS.get(module, SOURCE)
    found = {name: (own / name).read_bytes() for name in ("Kbuild", "Makefile")}
    if own == SOURCE:
        found["compat.h"] = (SOURCE / "compat.h").read_bytes()
    else:
        found |= {path.name: path.read_bytes() for path in sorted(own.glob("*.[ch]"))}
    for folder in (*FOLDERS[module], *SHARED):
        for path in sorted((SOURCE / folder).rglob("*")):
            # Editors and other writers may move files under us: what is gone isn't ours.
            if path.suffix in (".c", ".h", ".inc") and path.is_file():
                found[str(path.relative_to(SOURCE))] = path.read_bytes()
    return found


def present(module: str) -> bool:
    folder = FOR_TESTS.get(module) or SOURCE / FOLDERS[module][0]
    return any(folder.glob("*.c"))


def _symvers(module: str, store: Path, below: driver.Driver | None) -> bytes:
    """What a module is linked with, besides the kernel."""
    if module not in LINKED:
        return b""
    known = below.symvers if below else store / "nvsim.symvers"
    return known.read_bytes() if known.exists() else b""


def build(
    module: str,
    kernel: kernels.Kernel,
    below: driver.Driver | None = None,
    *,
    sparse: bool = False,
) -> Built:
    """Build if sources changed. The result's name has their hash: no later build touches it."""
    store = paths.WORK / "ko" / kernel.release
    store.mkdir(parents=True, exist_ok=True)
    symvers = _symvers(module, store, below)
    files = sources(module)
    key = cache.digest(
        kernel.folder.name, *(part for item in files.items() for part in item), symvers
    )
    variant = f"{module}-on-{below.name}" if below and module in LINKED else module
    built = Built(module, store / f"{variant}-{key}.ko", store / f"{variant}.symvers")
    if built.ko.exists() and not sparse:
        os.utime(built.ko)
        return built
    # By its folder: a kernel configured anew has the same release.
    tree = paths.WORK / "modules" / kernel.folder.name / variant
    with cache.locked(tree.with_suffix(".lock")):
        if built.ko.exists() and not sparse:
            return built
        tree.mkdir(parents=True, exist_ok=True)
        _sync(files, tree)
        (tree / "extra.symvers").write_bytes(symvers)
        output = _make(module, kernel, tree, _linking(module, below, symvers), sparse=sparse)
        if output:
            print(output, file=sys.stderr)
        # A copy in place is seen half-written by others; a rename isn't.
        for result, kept in (
            (tree / f"{module}.ko", built.ko),
            (tree / "Module.symvers", built.symvers),
        ):
            fresh = kept.with_name(f".{kept.name}.{os.getpid()}")
            shutil.copyfile(result, fresh)
            fresh.rename(kept)
        _drop_old(store, f"{variant}-{'?' * len(key)}.ko")
    return built


def _drop_old(store: Path, pattern: str) -> None:
    for old in sorted(store.glob(pattern), key=lambda ko: ko.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)


def build_all(
    modules: list[str],
    kernel: kernels.Kernel,
    below: driver.Driver | None = None,
    *,
    sparse: bool = False,
) -> list[Built]:
    return [
        build(module, kernel, below, sparse=sparse)
        for module in FOLDERS
        if module in modules and present(module)
    ]


def _sync(files: dict[str, bytes], tree: Path) -> None:
    """Write only what differs: make goes by time stamps."""
    for name, content in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    for path in tree.rglob("*.[ch]"):
        name = str(path.relative_to(tree))
        if name not in files and not name.endswith(".mod.c"):
            path.unlink()


def _linking(module: str, below: driver.Driver | None, symvers: bytes) -> list[str]:
    """As kmod/Makefile takes it."""
    if module != "gpushare":
        return []
    if below:
        return ["DRIVER=nvidia", "NVIDIA_SYMVERS=extra.symvers"]
    return ["NVSIM_SYMVERS=extra.symvers"] if symvers else ["KBUILD_MODPOST_WARN=1"]


def _make(
    module: str, kernel: kernels.Kernel, tree: Path, linking: list[str], *, sparse: bool
) -> str:
    """make's warnings; its errors as BuildError. Paths are given as in the source tree."""
    argv = [
        "make",
        "-s",
        f"-j{os.cpu_count() or 1}",
        f"KDIR={kernel.headers}",
        f"GSH_MODULES={module}",
        "CC=gcc",
        *linking,
    ]
    if sparse:
        argv += ["C=2", "CHECK=sparse"]
    done = chroot.output(argv, binds={**kernel.binds, tree: INSIDE}, cwd=str(INSIDE))
    noise = (
        "Skipping BTF generation",
        "compiler differs from the one",
        "The kernel was built by:",
        "You are using:",
    )
    shown = FOR_TESTS.get(module, SOURCE).relative_to(paths.REPO)
    lines = [
        line.replace(f"{INSIDE}/", f"{shown}/")
        for line in done.stdout.splitlines()
        if not any(n in line for n in noise)
    ]
    text = "\n".join(line for line in lines if not line.startswith("make["))
    if done.returncode:
        raise BuildError(f"{module}.ko does not build for {kernel.release}:\n{text}")
    return text
