"""What every other guest test leans on: the runner tells the truth about its guest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parent
BROKEN = 125

pytestmark = pytest.mark.guest


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GUEST / "run", *argv], capture_output=True, text=True, timeout=900, check=False
    )


def test_status_and_both_streams_come_back_as_they_were() -> None:
    done = run("--modules", "none", "--", "sh", "-c", "echo out; echo err >/dev/stderr; exit 7")
    assert done.returncode == 7, done.stderr
    assert done.stdout == "out\n"
    assert "err\n" in done.stderr.splitlines(keepends=True)


def test_arguments_and_copied_files_arrive_unchanged(tmp_path: Path) -> None:
    (tmp_path / "a file").write_bytes(bytes(range(256)))
    copied = f"{tmp_path}:/srv/copied"
    script = 'printf "%s|" "$@"; cksum <"/srv/copied/a file"'
    done = run("--modules", "none", "--copy", copied, "--", "sh", "-c", script, "sh", "a b", "'$x")
    expected = subprocess.run(
        ["cksum"], input=bytes(range(256)), capture_output=True, check=True
    ).stdout.decode()
    assert done.stdout == f"a b|'$x|{expected}", done.stderr


def test_large_output_is_complete() -> None:
    done = run("--modules", "none", "--", "seq", "200000")
    assert done.stdout == "".join(f"{n}\n" for n in range(1, 200001)), done.stderr[-2000:]


def test_genuine_nvidia_programs_are_on_the_path() -> None:
    # Without a driver nvidia-smi says so itself, with its own status.
    done = run("--modules", "none", "--", "nvidia-smi")
    assert done.returncode == 9, done.stderr
    assert "couldn't communicate with the NVIDIA driver" in done.stdout


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        pytest.param("echo c >/proc/sysrq-trigger", "sysrq triggered crash", id="panic"),
        pytest.param("echo '<4>WARNING: planted' >/dev/kmsg", "WARNING: planted", id="warning"),
        pytest.param("echo b >/proc/sysrq-trigger", "died before", id="reset"),
    ],
)
def test_broken_guest_fails_and_shows_its_console(script: str, shown: str) -> None:
    done = run("--modules", "none", "--", "sh", "-c", f"{script}; sleep 5; exit 0")
    assert done.returncode == BROKEN
    assert shown in done.stderr


def test_hanging_command_fails_at_its_time_limit() -> None:
    done = run("--modules", "none", "--timeout", "3", "--", "sleep", "1000")
    assert done.returncode == BROKEN
    assert "the command ran for 3 s" in done.stderr


def test_deterministic_runs_repeat_exactly() -> None:
    clock = "import time; time.sleep(60); print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))"
    argv = ("--deterministic", "--modules", "none", "--", "python3", "-c", clock)
    first, second = run(*argv), run(*argv)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_each_kernel_boots(kernel: str) -> None:
    done = run("--modules", "none", "--kernel", kernel, "--", "uname", "-r")
    assert done.stdout.startswith(f"{kernel}."), done.stderr
