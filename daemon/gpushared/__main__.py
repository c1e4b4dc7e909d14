# SPDX-License-Identifier: GPL-2.0-only
"""Start and stop: settings, signals, wiring."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from gpushare.errors import GpuShareError
from gpushared import events, logs
from gpushared.kernel_types import Kernel
from gpushared.notify import notify
from gpushared.nvml_types import Cards
from gpushared.peers import Authority, GroupAuthority
from gpushared.server import application, serving
from gpushared.settings import CONFIG_PATH, Settings, load
from gpushared.tenants import Tenants


def main() -> None:
    """The program gpushared."""
    try:
        settings = _settings(sys.argv[1:])
        logs.set_up(settings.log_level)
        asyncio.run(_run(settings))
    except GpuShareError as error:
        sys.stderr.write(f"gpushared: {error}\n")
        sys.exit(error.exit_status)


async def _run(settings: Settings) -> None:
    # imported here: whoever hands in a fake does not need either library
    from gpushared.kernel import NetlinkKernel
    from gpushared.nvml import Nvml

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    kernel = NetlinkKernel()
    try:
        await serve(
            settings,
            kernel=kernel,
            nvml=Nvml(),
            authority=GroupAuthority(settings.group),
            ready=lambda: notify("READY=1"),
            stop=stop,
        )
        notify("STOPPING=1")
    finally:
        await kernel.close()


async def serve(
    settings: Settings,
    *,
    kernel: Kernel,
    nvml: Cards,
    authority: Authority,
    ready: Callable[[], None],
    stop: asyncio.Event,
) -> None:
    """Serve until stop is set; ready is called once requests are answered."""
    app = application(Tenants(kernel, nvml), authority)
    following = asyncio.create_task(events.follow(kernel))
    try:
        async with serving(app, path=settings.socket, group=settings.group):
            ready()
            await stop.wait()
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


def _settings(argv: list[str]) -> Settings:
    parser = argparse.ArgumentParser(prog="gpushared", description="Tenants that share GPUs.")
    parser.add_argument("--config", type=Path, default=CONFIG_PATH, help="settings file (TOML)")
    parser.add_argument("--socket", help="where to listen")
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"])
    given = vars(parser.parse_args(argv))
    path: Path = given.pop("config")
    return load(path, {key: value for key, value in given.items() if value is not None})


if __name__ == "__main__":
    main()
