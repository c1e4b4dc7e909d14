# SPDX-License-Identifier: GPL-2.0-only
"""cudaprobe inside a tenant: a program on NVIDIA's genuine libcuda that is told step by step."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from tests.demo.stage import DemoBroken, Stage

ANSWER_S: Final = 120.0


@dataclass(frozen=True)
class Answer:
    """A line of cudaprobe: a word, and key=value after it."""

    line: str
    word: str
    values: dict[str, str]

    @property
    def granted(self) -> bool:
        return self.word == "ok"

    def number(self, key: str) -> int:
        return int(self.values[key])


class TenantProgram:
    """One running cudaprobe. Its lines are shown as it prints them."""

    def __init__(self, stage: Stage, tenant: str, *, begins: Callable[[int], None]) -> None:
        argv = ["gpushare", "run", tenant, "--", "cudaprobe", "step"]
        stage.prompt(argv)
        self._stage = stage
        self._lines: queue.Queue[str | None] = queue.Queue()
        # run becomes the program: this is its process, too
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace"
        )
        begins(self.pid)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        while not self._answer().line.startswith("ready"):
            pass

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, words: str) -> Answer:
        """One request and its answer."""
        stdin = self._process.stdin
        if stdin is None:
            raise DemoBroken("the program takes no input")
        stdin.write(f"{words}\n")
        stdin.flush()
        return self._answer()

    def alloc(self, size_mib: int) -> Answer:
        return self.tell(f"alloc {size_mib}M")

    def quit(self) -> int:
        """Let it end as programs do; its exit status."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        status = self._process.wait(ANSWER_S)
        self._reader.join(ANSWER_S)
        while (line := self._lines.get()) is not None:
            self._stage.line(line)
        return status

    def kill(self) -> int:
        """kill -9; its exit status."""
        self._process.send_signal(signal.SIGKILL)
        return self._process.wait(ANSWER_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self.kill()

    def _read(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                self._lines.put(line.rstrip())
        self._lines.put(None)

    def _answer(self) -> Answer:
        try:
            line = self._lines.get(timeout=ANSWER_S)
        except queue.Empty:
            raise DemoBroken(f"the program did not answer in {ANSWER_S:.0f} s") from None
        if line is None:
            raise DemoBroken(f"the program ended with {self._process.wait(ANSWER_S)}")
        self._stage.line(line)
        word, *rest = line.split() or [""]
        values = dict(part.split("=", 1) for part in rest if "=" in part)
        return Answer(line=line, word=word, values=values)
