"""The guest's root image: Debian with Python, the project's dependencies, NVIDIA's user space."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from . import apt, cache, chroot, host, nvidia, paths

PACKAGES = ["python3", "python3-systemd", "kmod", "iproute2", "procps", "util-linux"]
PACKAGES += ["strace", "libcap2-bin"]
PACKAGES += ["libatomic1"]  # tinygrad's fences
# Python packages without a wheel come from Debian.
FROM_DEBIAN = ("systemd-python",)
PYTHON = "3.13"
SITE = Path("usr/local/lib") / f"python{PYTHON}" / "dist-packages"
SIZE_MIB = 1536
# Of the project's test tools, those that run inside a guest.
TEST_TOOLS = ("hypothesis", "pytest", "pytest-asyncio", "PyYAML")
# Programs that are looked at, as NVIDIA's are: one that makes the driver's calls itself.
CLIENTS = ("tinygrad==0.14.0",)


def requirements() -> list[str]:
    """What pyproject.toml asks for, less what a guest has no use for."""
    project = tomllib.loads((paths.REPO / "pyproject.toml").read_text())["project"]
    tests = [one for one in project["optional-dependencies"]["test"] if _name(one) in TEST_TOOLS]
    return sorted(
        one for one in [*project["dependencies"], *tests] if _name(one) not in FROM_DEBIAN
    )


def _name(requirement: str) -> str:
    return re.split(r"[\s<>=!~;\[]", requirement)[0]


def get() -> Path:
    wanted = requirements()
    folder = cache.entry(
        "root",
        cache.digest(
            "2",
            apt.TOOLS_SUITE,
            *nvidia.VERSIONS,
            str(SIZE_MIB),
            *nvidia.PACKAGES,
            *PACKAGES,
            *wanted,
            *CLIENTS,
        ),
        _make,
    )
    return folder / "root.ext4"


def _make(target: Path, log: Path) -> None:
    root = target / "root"
    root.mkdir()
    chroot.bootstrap(["trixie", "trixie-security"], PACKAGES, root, log)
    _install_python(root, target, log)
    nvidia.install(root, log)
    for link in ("hostname", "resolv.conf"):
        (root / "etc" / link).unlink(missing_ok=True)
    (root / "etc/hostname").write_text("guest\n")
    (root / "opt/gpushare").mkdir(parents=True, exist_ok=True)
    finish = f"ldconfig && python3 -m compileall -q /{SITE}; passwd -q -d root"
    host.logged(["chroot", root, "sh", "-c", finish], log)
    image = target / "root.ext4"
    chroot.run(
        [
            "mke2fs",
            "-q",
            "-t",
            "ext4",
            "-O",
            "^has_journal",
            "-E",
            "root_owner=0:0",
            "-d",
            root,
            "-F",
            image,
            f"{SIZE_MIB}M",
        ],
        log,
        binds=chroot.same_path(target),
    )
    host.logged(["rm", "-rf", root], log)


def _install_python(root: Path, target: Path, log: Path) -> None:
    """By the host's pip (which knows how to reach an index here), for the guest's Python."""
    venv = target / "venv"
    host.logged([sys.executable, "-m", "venv", venv], log)
    platforms = [
        f"--platform={tag}_x86_64" for tag in ("manylinux2014", "manylinux_2_17", "manylinux_2_28")
    ]
    abis = [f"--abi={abi}" for abi in ("cp" + PYTHON.replace(".", ""), "abi3", "none")]
    options = [
        "--only-binary=:all:",
        "--no-compile",
        f"--python-version={PYTHON}",
        "--implementation=cp",
        *abis,
        *platforms,
    ]
    wanted = [*requirements(), *CLIENTS]
    pip: list[str | Path] = [venv / "bin/pip", "install", "-q", *options]
    host.logged([*pip, f"--target={root / SITE}", *wanted], log)
    for script in (root / SITE / "bin").iterdir():
        # pip names the interpreter that ran it.
        _, _, body = script.read_text().partition("\n")
        command = root / "usr/local/bin" / script.name
        command.write_text(f"#!/usr/bin/python3\n{body}")
        command.chmod(0o755)
    host.logged(["rm", "-rf", venv, root / SITE / "bin"], log)
