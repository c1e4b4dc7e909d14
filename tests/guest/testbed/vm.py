"""One guest: QEMU from the chroot, its command's output passed on, its console kept and judged."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import chroot, host, paths

BROKEN = 125
"""Exit status for a guest that died, hung or complained."""

COMPLAINT = re.compile(r"\bBUG\b|\bWARNING\b|\bOops\b|soft lockup|rcu.*stall|KASAN|Kernel panic")
FIRMWARE_NOISE = re.compile(r"\x1b[\[(][0-9;?]*\w?|[^\x20-\x7e\t]")
CONSOLE_END = 60
LEAN = (
    "cryptomgr.notests apparmor=0 audit=0 mitigations=off 8250.nr_uarts=1 i8042.noaux i8042.nokbd"
)
"""Kernel parameters that only save boot time."""
CONSOLES_KEPT = 40
BOOT_S = 900.0  # seconds to COMMAND are few, but the debug kernel on a starved host took 300


@dataclass(frozen=True)
class Machine:
    kernel: Path
    parameters: str  # the kernel's, after ours
    image: Path
    memory_mib: int
    hidden_mib: int  # more memory, above that, which the kernel isn't told of
    cpus: int
    deterministic: bool
    kvm: bool
    timeout_s: float

    def arguments(self) -> list[str]:
        append = f"console=ttyS0 quiet panic=-1 oops=panic {LEAN}"
        if self.deterministic:
            # Guest time is a function of instructions executed: equal runs are equal to the digit.
            clock = [*("-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off")]
            clock += ["-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]
            append += " nokaslr 8250.nr_uarts=4"
        else:
            clock = ["-accel", "kvm" if self.kvm else "tcg,thread=multi"]
        if self.hidden_mib:
            append += f" mem={self.memory_mib}M"
        append += f" {self.parameters}"
        size = self.image.stat().st_size
        total_mib = self.memory_mib + self.hidden_mib
        most_mib = total_mib + 2 * (size >> 20)
        root = f"memory-backend-file,id=root,share=off,mem-path={self.image},size={size}"
        return [
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-machine", "pc,nvdimm=on", "-cpu", "max", "-smp", str(self.cpus), *clock),
            *("-m", f"size={total_mib}M,slots=1,maxmem={most_mib}M"),
            # The root is memory, mapped privately: no host event in its timing, and each run
            # starts from the same image.
            *("-object", root),
            *("-device", "nvdimm,id=nv,memdev=root"),
            *("-kernel", str(self.kernel), "-append", append),
        ]


class Guest:
    """Runs once; `status()` is the command's own status or BROKEN."""

    STREAMS = ("stdout", "stderr", "control")

    def __init__(self, machine: Machine, initrd: list[Path], run_part: bytes) -> None:
        self._machine = machine
        self._up_s: float | None = None
        self._exit: int | None = None
        self._control = b""
        consoles = paths.WORK / "console"
        consoles.mkdir(parents=True, exist_ok=True)
        for old in sorted(consoles.glob("*.log"))[:-CONSOLES_KEPT]:
            old.unlink(missing_ok=True)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self.console = consoles / f"{stamp}-{os.getpid()}.log"
        self._initrd = initrd
        self._run_part = run_part

    def run(self) -> int:
        runs = paths.WORK / "run"
        runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=runs) as scratch:
            ramdisk = Path(scratch) / "initrd"
            with ramdisk.open("wb") as out:
                for part in self._initrd:
                    out.write(part.read_bytes())
                out.write(self._run_part)
            reason = self._boot(ramdisk)
        return self._judge(reason)

    def _boot(self, ramdisk: Path) -> str:
        """Until QEMU ends; returns why it was ended, if it was."""
        machine = self._machine
        pipes = {name: os.pipe() for name in self.STREAMS}
        qemu = ["qemu-system-x86_64", *machine.arguments(), "-initrd", str(ramdisk)]
        qemu += ["-serial", f"file:{self.console}"]
        qemu += [] if machine.deterministic else ["-device", "virtio-serial-pci"]
        for number, (name, (_, write)) in enumerate(pipes.items(), 1):
            qemu += ["-add-fd", f"fd={write},set={number}"]
            # append: opening to truncate is refused for a pipe.
            qemu += ["-chardev", f"file,id={name},append=on,path=/dev/fdset/{number}"]
            if machine.deterministic:
                # virtio's control queue answers in host time; a UART answers at once.
                irq = {1: 3, 2: 5, 3: 7}[number]
                qemu += ["-device", f"isa-serial,chardev={name},index={number},irq={irq}"]
            else:
                qemu += ["-device", f"virtserialport,chardev={name},name={name}"]
        binds = chroot.same_path(machine.kernel.parent, machine.image.parent, paths.WORK)
        # The inner time limit outlives us: a killed runner leaves no guest behind for long.
        limit_s = int(machine.timeout_s + BOOT_S + 60)
        guard = ["timeout", "--foreground", "--kill-after=5", str(limit_s), *qemu]
        process = subprocess.Popen(
            chroot.command(guard, binds=binds),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            pass_fds=[write for _, write in pipes.values()],
            start_new_session=True,
        )
        try:
            for _, write in pipes.values():
                os.close(write)
            return self._pump({read: name for name, (read, _) in pipes.items()})
        finally:
            if process.poll() is None:
                try:
                    process.wait(timeout=5 if self._exit is not None else 0.5)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def _pump(self, streams: dict[int, str]) -> str:
        """Pass output on as it comes. QEMU's end closes all three pipes."""
        start = time.monotonic()
        selector = selectors.DefaultSelector()
        for descriptor in streams:
            selector.register(descriptor, selectors.EVENT_READ)
        started: float | None = None
        while selector.get_map():
            if started is None:
                limit, since, what = BOOT_S, start, "no command started"
            else:
                limit, since, what = self._machine.timeout_s, started, "the command ran"
            left = since + limit - time.monotonic()
            if left <= 0:
                return f"{what} for {limit:.0f} s"
            for key, _ in selector.select(min(left, 1.0)):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    continue
                self._take(streams[key.fd], data)
                if self._up_s is not None and started is None:
                    started = time.monotonic()
                    host.say(f"command started after {started - start:.1f} s")
        return ""

    def _take(self, stream: str, data: bytes) -> None:
        if stream == "control":
            self._control += data
            *lines, self._control = self._control.split(b"\n")
            for line in lines:
                verb, _, value = line.decode().partition(" ")
                if verb == "up":
                    self._up_s = float(value)
                elif verb == "exit":
                    self._exit = int(value)
            return
        out = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
        out.write(data)
        out.flush()

    def _judge(self, reason: str) -> int:
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        lines = [FIRMWARE_NOISE.sub("", line) for line in text.splitlines()]
        complaint = next((line for line in lines if COMPLAINT.search(line)), None)
        if complaint:
            reason = f"the kernel complained: {complaint}"
        elif not reason and self._exit is None:
            reason = "the guest died before its command ended"
        if reason or self._exit is None:
            tail = "\n".join(f"| {line}" for line in lines[-CONSOLE_END:])
            host.say(f"FAILED: {reason}\n{tail}\nguest: whole console: {self.console}")
            return BROKEN
        return self._exit
