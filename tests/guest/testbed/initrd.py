"""The parts of a guest's initial RAM disk: a kernel's, a state of the tree's, and a run's own."""

from __future__ import annotations

import lzma
import os
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

from . import cache, chroot, clients, kernels, paths
from .cpio import Archive
from .errors import TestbedError

# In load order; what is built into a kernel is skipped.
DRIVERS = ("virtio_pci", "virtio_console", "nfit", "nd_pmem", "ext4")
TREE = ("daemon", "cli", "tests", "udev", "packaging", "kmod", "pyproject.toml")
SKIPPED = ("__pycache__", "node_modules")
KEPT = 16


def base(kernel: kernels.Kernel) -> Path:
    """busybox, the drivers that reach the root image, and the first process."""
    script = paths.GUEST / "inside/initramfs"

    def make(target: Path, log: Path) -> None:
        archive = Archive()
        for folder in ("proc", "sys", "dev", "root", "modules", "payload"):
            archive.folder(folder)
        archive.file("bin/busybox", (chroot.tools() / "usr/bin/busybox").read_bytes(), 0o755)
        archive.file("init", script.read_bytes(), 0o755)
        order = []
        for path in _load_order(kernel, target, log):
            content = path.read_bytes()
            if path.suffix == ".xz":
                content = lzma.decompress(content)
            name = path.name.removesuffix(".xz")
            order.append(name)
            archive.file(f"modules/{name}", content)
        archive.file("modules/order", "".join(f"{name}\n" for name in order).encode())
        (target / "base.cpio").write_bytes(archive.content())

    key = cache.digest("1", kernel.folder.name, *DRIVERS, script.read_bytes(), chroot.tools().name)
    return cache.entry(f"initrd-{kernel.name}", key, make) / "base.cpio"


def _load_order(kernel: kernels.Kernel, target: Path, log: Path) -> list[Path]:
    scratch = target / "depmod"
    modules = scratch / "lib/modules" / kernel.release
    modules.parent.mkdir(parents=True)
    shutil.copytree(kernel.modules, modules, symlinks=True)
    binds = chroot.same_path(target)
    chroot.run(["depmod", "-b", scratch, kernel.release], log, binds=binds)
    found: list[Path] = []
    for driver in DRIVERS:
        shown = chroot.output(
            ["modprobe", "-d", scratch, "-S", kernel.release, "--show-depends", driver], binds=binds
        )
        if shown.returncode:
            raise TestbedError(f"{driver} is not in {kernel.release}: {shown.stdout}")
        for line in shown.stdout.splitlines():
            verb, _, rest = line.partition(" ")
            if verb == "insmod":
                path = kernel.modules / Path(rest.strip()).relative_to(modules)
                if path not in found:
                    found.append(path)
    shutil.rmtree(scratch)
    return found


def tree() -> Path:
    """The working tree as /opt/gpushare, byte-compiled: TCG is slow at compiling Python."""
    files = {str(path.relative_to(paths.REPO)): path for path in _tree_files()}
    contents = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
    modes = {name: 0o755 if os.access(files[name], os.X_OK) else 0o644 for name in contents}
    programs = clients.build()
    parts = [part for name in contents for part in (name, contents[name], str(modes[name]))]
    key = cache.digest(chroot.tools().name, *parts, *(str(path) for path in programs.values()))
    done = paths.WORK / "tree" / f"{key}.cpio"
    if done.exists():
        os.utime(done)
        return done
    with cache.locked(done.parent / ".lock"):
        if done.exists():
            return done
        folder = done.parent / key
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(modes[name])
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        for name, text in _launchers().items():
            launcher = folder / "bin" / name
            launcher.write_text(text)
            launcher.chmod(0o755)
        for name, program in programs.items():
            shutil.copy(program, folder / "bin" / name)
        # A file that doesn't compile is its own test's failure, not the guest's.
        inside = Path("/opt/gpushare")
        compile_all = [
            "python3",
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode=unchecked-hash",
            "daemon",
            "cli",
            "tests",
        ]
        chroot.output(compile_all, binds={folder: inside}, cwd=str(inside))
        archive = Archive()
        archive.folder("payload")
        for child in sorted(folder.iterdir()):
            archive.copy(child, f"payload/{child.name}")
        fresh = done.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(archive.content())
        fresh.rename(done)
        shutil.rmtree(folder)
        for old in sorted(done.parent.glob("*.cpio"), key=lambda path: path.stat().st_mtime)[
            :-KEPT
        ]:
            old.unlink(missing_ok=True)
    return done


def _launchers() -> dict[str, str]:
    """What installing the project would put on PATH."""
    project = tomllib.loads((paths.REPO / "pyproject.toml").read_text())["project"]
    found = {}
    for name, entry in project.get("scripts", {}).items():
        module, _, function = entry.partition(":")
        found[name] = (
            "#!/usr/bin/python3\n"
            f"import sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        )
    return found


def _tree_files() -> list[Path]:
    found: list[Path] = []
    for top in TREE:
        start = paths.REPO / top
        if start.is_file():
            found.append(start)
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(
                name for name in folders if name not in SKIPPED and not name.startswith(".")
            )
            found += [
                Path(folder) / name
                for name in sorted(names)
                if not name.endswith((".pyc", ".ko", ".o"))
            ]
    return found


def run(
    *,
    command: str,
    settings: dict[str, str],
    modules: Sequence[tuple[str, Path, str]],
    copies: Sequence[tuple[Path, str]],
) -> bytes:
    """What only this run has: its command, modules (name, file, options) and copied files."""
    archive = Archive()
    home = "payload/.guest"
    archive.file(f"{home}/init", (paths.GUEST / "inside/init").read_bytes(), 0o755)
    archive.file(f"{home}/command", command.encode())
    archive.file(
        f"{home}/settings",
        "".join(f"{key}='{value}'\n" for key, value in settings.items()).encode(),
    )
    archive.file(
        f"{home}/modules", "".join(f"{name} {options}\n" for name, _, options in modules).encode()
    )
    for name, ko, _ in modules:
        archive.file(f"{home}/{name}.ko", ko.read_bytes())
    for source, inside in copies:
        archive.copy(source, f"{home}/files/{inside.strip('/')}")
    return archive.content()
