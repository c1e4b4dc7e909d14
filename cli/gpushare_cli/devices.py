# SPDX-License-Identifier: GPL-2.0-only
"""A private /dev in which a tenant's nodes stand where programs look for the driver's.

NVIDIA's libraries compare a node's number with the one they expect and, as root,
remove and make it again. Three things keep them from it: a params file that says
ModifyDeviceFiles: 0; a /dev that is read-only, so that neither unlink nor mknod
works; and nodes bound read-only, so that their mode stays. Opening a node for
writing works all the same. For nvidia-uvm the first is ignored, and the failing
unlink is what they put up with. Of a node with a foreign number they want a link
under the driver's own number in /dev/char, and give up if it is neither there nor
can be made.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpushare.client import JsonObject
from gpushare.errors import DriverUnavailable, GpuShareError, NotPermitted
from gpushare_cli.mounts import (
    MS_BIND,
    MS_MOVE,
    MS_NOSUID,
    MS_RDONLY,
    MS_REMOUNT,
    bind,
    detach,
    mount,
    unshare_mounts,
)

DEV: Final = Path("/dev")
DRIVER_PROC: Final = Path("/proc/driver/nvidia")
DRIVER_MAJOR: Final = 195
CONTROL_MINOR: Final = 255
_MODIFY: Final = re.compile(r"^ModifyDeviceFiles:.*$", re.MULTILINE)
_MODIFY_OFF: Final = "ModifyDeviceFiles: 0"


@dataclass(frozen=True)
class Node:
    """A tenant's node: where it is, and its name inside."""

    path: Path
    name: str
    number: int


def nodes_of(tenant: JsonObject) -> list[Node]:
    """Nodes of a tenant as the daemon describes it."""
    found = []
    nodes = tenant.get("nodes")
    for item in nodes if isinstance(nodes, list) else []:
        if not isinstance(item, dict):
            continue
        path, name = item.get("path"), item.get("name")
        major, minor = item.get("major"), item.get("minor")
        if not (isinstance(path, str) and isinstance(name, str) and re.fullmatch(r"[\w-]+", name)):
            continue
        if isinstance(major, int) and isinstance(minor, int):
            found.append(Node(Path(path), name, os.makedev(major, minor)))
    if not found:
        raise GpuShareError(
            f"tenant {tenant.get('name')} has no device nodes",
            hint="is the driver loaded? see: gpushare info",
        )
    return found


def enter(nodes: Sequence[Node], *, driver_proc: Path = DRIVER_PROC) -> None:
    """Move this process into a private view where only these nodes are there."""
    params = _params(driver_proc)
    try:
        unshare_mounts()
        stage = Path(tempfile.mkdtemp(prefix="gpushare-run-"))
        try:
            _fill(stage, nodes)
            _mask_params(stage, params, driver_proc)
            mount(DEV, source=stage, flags=MS_MOVE)
        except OSError:
            detach(stage)
            raise
        finally:
            stage.rmdir()
        mount(DEV, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID)
    except PermissionError as error:
        raise NotPermitted(
            f"no mount namespace of its own ({error.strerror})", hint="use run as root"
        ) from error
    except OSError as error:
        raise GpuShareError(
            f"the private /dev could not be made ({error})", hint="see: gpushare show NAME"
        ) from error
    _check(nodes)


def _params(driver_proc: Path) -> str:
    """The driver's parameters as the libraries are to see them."""
    try:
        text = (driver_proc / "params").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        if not driver_proc.is_dir():
            raise DriverUnavailable(
                f"NVIDIA's driver is not loaded ({driver_proc} is missing)",
                hint="load it, then see: gpushare info",
            ) from error
        return f"{_MODIFY_OFF}\n"
    if _MODIFY.search(text):
        return _MODIFY.sub(_MODIFY_OFF, text)
    return f"{text}{_MODIFY_OFF}\n"


def _fill(stage: Path, nodes: Sequence[Node]) -> None:
    mount(stage, kind="tmpfs", flags=MS_NOSUID, data="mode=755,size=4m")
    with os.scandir(DEV) as entries:
        for entry in entries:
            # everything of the driver and of other tenants stays outside
            if not entry.name.startswith(("nvidia", "gpushare", "char")):
                _carry_over(entry, stage / entry.name)
    for node in nodes:
        target = stage / node.name
        target.touch()
        bind(node.path, target, read_only=True)
    _link_numbers(stage / "char", nodes)


def _link_numbers(folder: Path, nodes: Sequence[Node]) -> None:
    """/dev/char as udev makes it: without the driver's real nodes, with the tenant's."""
    folder.mkdir()
    links = {
        link.name: link.readlink()
        for link in (DEV / "char").glob("*:*")
        if link.is_symlink() and not link.readlink().name.startswith("nvidia")
    }
    for node in nodes:
        links[f"{os.major(node.number)}:{os.minor(node.number)}"] = Path("..") / node.name
        minor = _driver_minor(node.name)
        if minor is not None:
            links[f"{DRIVER_MAJOR}:{minor}"] = Path("..") / node.name
    for name, target in links.items():
        (folder / name).symlink_to(target)


def _driver_minor(name: str) -> int | None:
    """The minor that the driver's own node of this name has; nvidia-uvm has none of note."""
    if name == "nvidiactl":
        return CONTROL_MINOR
    match = re.fullmatch(r"nvidia([0-9]+)", name)
    return int(match[1]) if match else None


def _carry_over(entry: os.DirEntry[str], target: Path) -> None:
    source = Path(entry.path)
    if entry.is_symlink():
        target.symlink_to(source.readlink())
        return
    is_directory = entry.is_dir(follow_symlinks=False)
    if is_directory:
        target.mkdir()
    else:
        target.touch()
    try:
        bind(source, target, recursive=is_directory)
    except OSError as error:
        # devices come and go while this runs
        if error.errno != errno.ENOENT:
            raise


def _mask_params(stage: Path, params: str, driver_proc: Path) -> None:
    target = driver_proc / "params"
    if not target.exists():
        mount(driver_proc, kind="tmpfs", flags=MS_NOSUID, data="mode=555,size=4m")
        target.write_text(params, encoding="utf-8")
        target.chmod(0o444)
        return
    source = stage / ".params"
    source.write_text(params, encoding="utf-8")
    source.chmod(0o444)
    bind(source, target, read_only=True)
    # the mount keeps the file
    source.unlink()


def _check(nodes: Sequence[Node]) -> None:
    """Never start a program beside a node that is not the tenant's."""
    wanted = {node.name: node.number for node in nodes}
    found = {
        name: os.stat(DEV / name).st_rdev for name in os.listdir(DEV) if name.startswith("nvidia")
    }
    if found != wanted:
        raise GpuShareError(
            f"the private /dev holds {sorted(found)}, the tenant's nodes are {sorted(wanted)}",
            hint="was the tenant changed just now? run again",
        )
