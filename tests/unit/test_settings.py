# SPDX-License-Identifier: GPL-2.0-only
"""Settings and start of the daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpushare.client import Client
from gpushare.errors import DriverUnavailable, GpuShareError, InvalidInput
from gpushared.settings import Settings, load
from tests.conftest import ROOT


def test_no_file_means_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "none.toml", {}) == Settings()


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gpushared.toml"
    file.write_text('socket = "/run/x"\nlog_level = "debug"\n', encoding="utf-8")
    assert load(file, {"socket": "/run/y"}) == Settings(socket=Path("/run/y"), log_level="debug")


@pytest.mark.parametrize(
    "text", ["sokcet = '/run/x'", "log_level = 'loud'", "group = ''", "socket = ", "socket = 7"]
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "gpushared.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput):
        load(file, {})


def daemon(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    environment.pop("NOTIFY_SOCKET", None)
    return subprocess.Popen(
        [sys.executable, "-m", "gpushared", *arguments],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_without_the_module_the_daemon_answers_and_says_so(socket_path: Path) -> None:
    config = str(socket_path.with_name("none.toml"))
    process = daemon("--config", config, "--socket", str(socket_path))
    try:
        answer: GpuShareError | None = None
        deadline = time.monotonic() + 30
        while not isinstance(answer, DriverUnavailable) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.02)
            with pytest.raises(GpuShareError) as caught:
                Client(str(socket_path)).tenants()
            answer = caught.value
        assert "modprobe gpushare" in str(answer)
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert not socket_path.exists()


def test_a_wrong_setting_ends_the_daemon_with_one_line(tmp_path: Path) -> None:
    file = tmp_path / "gpushared.toml"
    file.write_text("colour = 'red'", encoding="utf-8")
    process = daemon("--config", str(file))
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, len(errors.splitlines())) == (2, 1)
    assert "colour" in errors
