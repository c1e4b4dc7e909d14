# SPDX-License-Identifier: GPL-2.0-only
"""What the demo prints, and the count of what held."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import Final

WIDTH: Final = 80
# a loaded machine without KVM is slow; a figure that is wrong stays wrong
SETTLES_S: Final = 30.0
COMMAND_S: Final = 120.0


class DemoBroken(Exception):
    """The demo cannot go on."""


class Stage:
    """Prints, checks and counts. Everything goes to standard output, in order."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self._sections = 0

    def heading(self, title: str, text: str) -> None:
        self._sections += 1
        start = f"== {self._sections}. {title} "
        self.line(f"\n{start}{'=' * (WIDTH - len(start))}")
        self.line(textwrap.fill(text, WIDTH))

    def say(self, text: str) -> None:
        self.line(f"\n{textwrap.fill(text, WIDTH)}")

    def line(self, text: str) -> None:
        print(text, flush=True)

    def prompt(self, argv: Sequence[str]) -> None:
        text = textwrap.fill(
            f"# {shlex.join(argv)}",
            WIDTH - 2,
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        self.line("\n" + text.replace("\n", " \\\n"))

    def run(self, *argv: str, status: int = 0) -> str:
        """Show a command and its own output, both streams; it must end with this status."""
        self.prompt(argv)
        done = ran(argv)
        for line in done.stdout.splitlines():
            self.line(fitted(line.rstrip()))
        if done.returncode != status:
            raise DemoBroken(f"{shlex.join(argv)} ended with {done.returncode}, not {status}")
        return done.stdout

    def check(self, what: str, *, expected: object, seen: object) -> None:
        """One claim; equal or wrong."""
        if expected == seen:
            self.passed += 1
            self.line(
                textwrap.fill(what, WIDTH, initial_indent="  ok    ", subsequent_indent=" " * 8)
            )
            return
        self.failed += 1
        self.line(textwrap.fill(what, WIDTH, initial_indent="  WRONG ", subsequent_indent=" " * 8))
        self.line(f"        expected: {expected}")
        self.line(f"        seen:     {seen}")

    def settles(self, what: str, *, expected: object, look: Callable[[], object]) -> None:
        """The same for what takes a moment, such as the end of a killed program."""
        until = time.monotonic() + SETTLES_S
        seen = look()
        while seen != expected and time.monotonic() < until:
            time.sleep(0.05)
            seen = look()
        self.check(what, expected=expected, seen=seen)


def fitted(line: str) -> str:
    """A line in the terminal's width: a table of nvidia-smi (89 wide) loses padding, a sentence
    is wrapped."""
    width = int(os.environ.get("COLUMNS", WIDTH))
    excess = len(line) - width
    if excess <= 0:
        return line
    if not line.startswith(("|", "+")):
        return textwrap.fill(line, width, subsequent_indent="    ")
    # all of it from the first cell, so that the columns stay under each other
    first = re.match(r"[|+][^|+]*", line)
    padding = max(re.findall(r" +|-+|=+", first[0] if first else ""), key=len)
    return line.replace(padding, padding[excess:], 1)


def ran(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command with both its streams in one, as a terminal shows them."""
    try:
        return subprocess.run(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DemoBroken(f"{shlex.join(argv)} did not end in {COMMAND_S:.0f} s") from error
