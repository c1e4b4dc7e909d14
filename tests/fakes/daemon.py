# SPDX-License-Identifier: GPL-2.0-only
"""The real daemon on a fake kernel, in a thread, on a socket that clients can call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpushared.__main__ import serve
from gpushared.kernel_types import Kernel
from gpushared.nvml_types import Cards
from gpushared.peers import Authority, GroupAuthority
from gpushared.settings import Settings
from tests.fakes.nvml import NoNvml

DEADLINE_S = 10.0


@contextmanager
def running(
    path: Path,
    kernel: Kernel,
    nvml: Cards | None = None,
    authority: Authority | None = None,
) -> Iterator[None]:
    """Serve kernel on a socket at path for as long as the context lasts."""
    started = threading.Event()
    failures: list[BaseException] = []
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        settings = Settings(socket=path)
        await serve(
            settings,
            kernel=kernel,
            nvml=nvml or NoNvml(),
            authority=authority or GroupAuthority(settings.group),
            ready=started.set,
            stop=stop,
        )

    def body() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=body, name="gpushared")
    thread.start()
    try:
        assert started.wait(DEADLINE_S), "gpushared did not start"
        if failures:
            raise failures[0]
        yield
    finally:
        for loop, stop in stops:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set)
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "gpushared did not stop"
