"""nvsim.ko and gpushare.ko for a kernel, built apart: a broken one doesn't block the other."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from . import cache, chroot, kernels, paths
from .errors import TestbedError

SOURCE = paths.REPO / "kmod"
# module -> its own folders; load order
FOLDERS = {"nvsim": ("nvsim",), "gpushare": ("gpushare", "core")}
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
    """Path below kmod -> content, for one module."""
    found = {name: (SOURCE / name).read_bytes() for name in ("Kbuild", "Makefile", "compat.h")}
    for folder in (*FOLDERS[module], *SHARED):
        for path in sorted((SOURCE / folder).rglob("*")):
            # Editors and other writers may move files under us: what is gone isn't ours.
            if path.suffix in (".c", ".h", ".inc") and path.is_file():
                found[str(path.relative_to(SOURCE))] = path.read_bytes()
    return found


def present(module: str) -> bool:
    return any((SOURCE / FOLDERS[module][0]).glob("*.c"))


def build(module: str, kernel: kernels.Kernel, *, sparse: bool = False) -> Built:
    """Build if sources changed. The result's name has their hash: no later build touches it."""
    store = paths.WORK / "ko" / kernel.release
    store.mkdir(parents=True, exist_ok=True)
    symvers = b""
    if module == "gpushare" and present("nvsim"):
        known = store / "nvsim.symvers"
        symvers = known.read_bytes() if known.exists() else b""
    files = sources(module)
    key = cache.digest(
        kernel.folder.name, *(part for item in files.items() for part in item), symvers
    )
    built = Built(module, store / f"{module}-{key}.ko", store / f"{module}.symvers")
    if built.ko.exists() and not sparse:
        os.utime(built.ko)
        return built
    tree = paths.WORK / "modules" / kernel.release / module
    with cache.locked(tree.with_suffix(".lock")):
        if built.ko.exists() and not sparse:
            return built
        tree.mkdir(parents=True, exist_ok=True)
        _sync(files, tree)
        (tree / "extra.symvers").write_bytes(symvers)
        output = _make(module, kernel, tree, symvers=bool(symvers), sparse=sparse)
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
        for old in sorted(store.glob(f"{module}-*.ko"), key=lambda ko: ko.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    return built


def build_all(modules: list[str], kernel: kernels.Kernel, *, sparse: bool = False) -> list[Built]:
    return [
        build(module, kernel, sparse=sparse)
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


def _make(module: str, kernel: kernels.Kernel, tree: Path, *, symvers: bool, sparse: bool) -> str:
    """make's warnings; its errors as BuildError. Paths are given as in the source tree."""
    argv = [
        "make",
        "-s",
        f"-j{os.cpu_count() or 1}",
        f"KDIR={kernel.headers}",
        f"GSH_MODULES={module}",
        "CC=gcc",
    ]
    if symvers:
        argv.append("NVSIM_SYMVERS=extra.symvers")
    elif module == "gpushare":
        argv.append("KBUILD_MODPOST_WARN=1")
    if sparse:
        argv += ["C=2", "CHECK=sparse"]
    done = chroot.output(argv, binds={**kernel.binds, tree: INSIDE}, cwd=str(INSIDE))
    noise = (
        "Skipping BTF generation",
        "compiler differs from the one",
        "The kernel was built by:",
        "You are using:",
    )
    lines = [
        line.replace(f"{INSIDE}/", "kmod/")
        for line in done.stdout.splitlines()
        if not any(n in line for n in noise)
    ]
    text = "\n".join(line for line in lines if not line.startswith("make["))
    if done.returncode:
        raise BuildError(f"{module}.ko does not build for {kernel.release}:\n{text}")
    return text
