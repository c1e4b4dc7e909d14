# SPDX-License-Identifier: GPL-2.0-only
"""Telling systemd that the daemon is ready or stops; nothing happens without systemd."""

from __future__ import annotations

import os

from gpushare.errors import Unsupported


def notify(state: str) -> None:
    """Send a state such as READY=1 to the service manager, if it waits for one."""
    if "NOTIFY_SOCKET" not in os.environ:
        return
    try:
        from systemd import daemon
    except ImportError as error:
        raise Unsupported(
            "systemd waits for a word from gpushared, and systemd-python is not installed",
            hint="install it: pip install gpushare[systemd], or package python3-systemd",
        ) from error
    daemon.notify(state)
