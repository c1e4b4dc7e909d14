"""A 6.1 kernel that checks itself, compiled from Debian's source: KASAN, lockdep and more.

Laid out like Debian's unpacked packages, so the rest of the testbed sees one more kernel.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from . import apt, cache, chroot, host
from .errors import TestbedError

SOURCE = "linux-source-6.1"
LOCAL = "-debug"
COMPILE = ["gcc", "make", "libc6-dev", "libelf-dev", "flex", "bison", "bc", "lz4", "xz-utils"]
COMPILE += ["kmod"]
JOBS = 2
NICE = 10

# What is looked for.
CHECKS = """
DEBUG_KERNEL KASAN KASAN_GENERIC KASAN_OUTLINE KASAN_VMALLOC KASAN_STACK PROVE_LOCKING PROVE_RCU
DEBUG_ATOMIC_SLEEP DEBUG_PREEMPT DEBUG_LIST DEBUG_VM DEBUG_SG DEBUG_NOTIFIERS SCHED_STACK_END_CHECK
FORTIFY_SOURCE HARDENED_USERCOPY SLUB_DEBUG DETECT_HUNG_TASK SOFTLOCKUP_DETECTOR DEBUG_BUGVERBOSE
FRAME_POINTER UNWINDER_FRAME_POINTER KALLSYMS KALLSYMS_ALL SYMBOLIC_ERRNAME DEBUG_INFO_NONE
DEBUG_CREDENTIALS DEBUG_KMEMLEAK KUNIT KUNIT_DEBUGFS
FAULT_INJECTION FAULT_INJECTION_DEBUG_FS FAULT_INJECTION_STACKTRACE_FILTER
FAILSLAB FAIL_PAGE_ALLOC FAULT_INJECTION_USERCOPY
"""
# What the guest needs, all of it built in. tinyconfig has none of this.
NEEDS = """
64BIT SMP PREEMPT NUMA ACPI ACPI_NUMA PCI PCI_MSI MTRR X86_PAT HPET_TIMER HIGH_RES_TIMERS
NO_HZ_IDLE RANDOM_TRUST_CPU CC_OPTIMIZE_FOR_PERFORMANCE KERNEL_LZ4 VMAP_STACK

MODULES MODULE_UNLOAD PRINTK PRINTK_TIME BUG MULTIUSER BASE_FULL SYSFS_SYSCALL MAGIC_SYSRQ
POSIX_TIMERS FUTEX EPOLL SIGNALFD TIMERFD EVENTFD AIO IO_URING ADVISE_SYSCALLS MEMBARRIER RSEQ
FHANDLE SYSVIPC POSIX_MQUEUE CROSS_MEMORY_ATTACH CHECKPOINT_RESTORE KCMP SECCOMP SECCOMP_FILTER
FILE_LOCKING INOTIFY_USER BINFMT_ELF BINFMT_SCRIPT COREDUMP BLK_DEV_INITRD
USERFAULTFD SHMEM MEMFD_CREATE HUGETLBFS TRANSPARENT_HUGEPAGE COMPACTION MIGRATION
TRANSPARENT_HUGEPAGE_MADVISE MMU_NOTIFIER INTERVAL_TREE

SLUB BLOCK TTY UNIX98_PTYS SERIAL_8250 SERIAL_8250_CONSOLE
VIRTIO_MENU VIRTIO_PCI VIRTIO_CONSOLE
MEMORY_HOTPLUG MEMORY_HOTREMOVE SPARSEMEM_VMEMMAP ZONE_DEVICE DEVICE_PRIVATE
LIBNVDIMM NVDIMM_PFN BLK_DEV_PMEM ACPI_NFIT BLK_DEV DAX FS_DAX
EXT4_FS EXT4_FS_POSIX_ACL OVERLAY_FS FUSE_FS TMPFS TMPFS_POSIX_ACL TMPFS_XATTR DEVTMPFS
PROC_FS PROC_SYSCTL PROC_PAGE_MONITOR SYSFS DEBUG_FS DEBUG_FS_ALLOW_ALL

NAMESPACES UTS_NS IPC_NS USER_NS PID_NS NET_NS TIME_NS
CGROUPS MEMCG CGROUP_PIDS CGROUP_SCHED FAIR_GROUP_SCHED CGROUP_FREEZER CGROUP_DEVICE CPUSETS
BPF_SYSCALL CGROUP_BPF
FTRACE ENABLE_DEFAULT_TRACERS KPROBES KPROBE_EVENTS UPROBE_EVENTS
NET UNIX UNIX_DIAG INET NETLINK_DIAG
"""
# Nothing else selects the MMU notifiers; built as a module, loaded by nobody.
AS_MODULES = "TEST_HMM"
# Only so that others can be chosen.
MENUS = "EXPERT RUNTIME_TESTING_MENU ADVANCED PCI_DIRECT SCHED_DEBUG"
VALUES = {
    "NR_CPUS": "8",
    "HZ_250": "y",
    "SERIAL_8250_NR_UARTS": "4",
    "SERIAL_8250_RUNTIME_UARTS": "4",
    "LOG_BUF_SHIFT": "18",
    "LOCALVERSION": f'"{LOCAL}"',
    "BOOTPARAM_HUNG_TASK_PANIC": "n",
    "RCU_CPU_STALL_TIMEOUT": "60",
    "LOCKDEP_BITS": "16",
    "LOCKDEP_CHAINS_BITS": "17",
    # Allocations before kmemleak's own cache stands; with too few it switches itself off.
    "DEBUG_KMEMLEAK_MEM_POOL_SIZE": "40000",
}
# Cost boot or compile time and find nothing here; SLOB, KERNEL_XZ and FOR_SIZE are tinyconfig's.
# kmemleak scans when it is told to.
WITHOUT = """
LEGACY_PTYS VT DEBUG_OBJECTS DEBUG_KMEMLEAK_AUTO_SCAN DEBUG_KMEMLEAK_DEFAULT_OFF UBSAN
KASAN_INLINE SLOB KERNEL_XZ CC_OPTIMIZE_FOR_SIZE
LOCALVERSION_AUTO MODVERSIONS MODULE_SIG RANDOMIZE_BASE SPECULATION_MITIGATIONS X86_KERNEL_IBT
FUNCTION_TRACER IPV6 WIRELESS ETHERNET WLAN HID USB_SUPPORT INPUT IOMMU_SUPPORT VIRTUALIZATION
X86_5LEVEL PM SUSPEND KEXEC DEBUG_INFO_BTF WERROR
"""
# Of the tree, what an external module's build reads; the rest is 1.7 GB.
KEPT_FOLDERS = ("arch/x86", "include", "scripts", "tools")
KEPT_FILES = (".config", "Makefile", "Kbuild", "Module.symvers", "System.map")
DROPPED = (".c", ".o", ".a", ".cmd", ".S", ".mod", ".order")


def fragment() -> str:
    lines = [f"CONFIG_{name}=y" for name in (*MENUS.split(), *CHECKS.split(), *NEEDS.split())]
    lines += [f"CONFIG_{name}=m" for name in AS_MODULES.split()]
    lines += [f"CONFIG_{name}={value}" for name, value in VALUES.items()]
    lines += [f"# CONFIG_{name} is not set" for name in WITHOUT.split()]
    return "\n".join(lines) + "\n"


def unmet(config: str) -> list[str]:
    """What is in the fragment and yet not in the configuration made of it."""
    lines = set(config.splitlines())
    missing = [name for name in (CHECKS + NEEDS).split() if f"CONFIG_{name}=y" not in lines]
    missing += [f"{name}=m" for name in AS_MODULES.split() if f"CONFIG_{name}=m" not in lines]
    missing += [f"no {name}" for name in WITHOUT.split() if f"CONFIG_{name}=y" in lines]
    return missing


def folder() -> Path:
    """Some 15 minutes of CPU time when it isn't in the cache."""
    parts = (SOURCE, *COMPILE, fragment(), *KEPT_FOLDERS, *KEPT_FILES, *DROPPED)
    return cache.entry("kernel-debug", cache.digest("1", *parts), make)


def make(target: Path, log: Path) -> None:
    root, source = target / "chroot", target / "source"
    prepare(root, source, log)
    configure(root, source, log)
    compile_in(root, ["make", f"-j{JOBS}", "bzImage", "modules"], source, log)
    release = (source / "include/config/kernel.release").read_text().strip()
    install(root, source, target, release, log)
    host.logged(["rm", "-rf", root, source], log)
    (target / "release").write_text(f"{release}\n")


def prepare(root: Path, source: Path, log: Path) -> None:
    """A compiler of its own: the tools chroot has no flex, bison or libelf-dev."""
    root.mkdir()
    chroot.bootstrap(["trixie", "trixie-security"], COMPILE, root, log)
    private = apt.PrivateApt()
    private.refresh(log)
    package = root / "package"
    package.mkdir()
    private.unpack([SOURCE], package, log)
    archive = next((package / "usr/src").glob("linux-source-*.tar.xz"))
    source.mkdir()
    host.logged(["tar", "-C", source, "--strip-components=1", "-xf", archive], log)
    host.logged(["rm", "-rf", package], log)
    allow_stack_filter(source / "lib/Kconfig.debug")


def allow_stack_filter(kconfig: Path) -> None:
    """Refused where x86-64 has no frame pointers to unwind by; Linux 6.2 dropped the line."""
    text = kconfig.read_text()
    start = text.index("config FAULT_INJECTION_STACKTRACE_FILTER\n")
    refused = "\tdepends on !X86_64\n"
    kconfig.write_text(text[:start] + text[start:].replace(refused, "", 1))


def configure(root: Path, source: Path, log: Path) -> None:
    (source / "fragment").write_text(fragment())
    compile_in(root, ["make", "tinyconfig"], source, log)
    merge = ["scripts/kconfig/merge_config.sh", "-m", ".config", "fragment"]
    compile_in(root, merge, source, log)
    compile_in(root, ["make", "olddefconfig"], source, log)
    missing = unmet((source / ".config").read_text())
    if missing:
        raise TestbedError(f"the debug kernel's configuration lacks {', '.join(missing)}")


def compile_in(root: Path, argv: list[str], source: Path, log: Path) -> None:
    """In a mount namespace of its own: the mounts go with the command."""
    # The path that modules see later as well.
    script = """set -e
    mkdir -p "$1/usr/src/linux"
    mount --rbind "$2" "$1/usr/src/linux"
    mount --rbind /dev "$1/dev"
    mount --rbind /proc "$1/proc"
    shift 2
    exec "$@"
    """
    inside = 'cd /usr/src/linux && exec "$@"'
    environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
    environment += ["KBUILD_BUILD_USER=gpushare", "KBUILD_BUILD_HOST=guest"]
    command: list[str | Path] = ["nice", "-n", str(NICE)]
    command += ["unshare", "--mount", "--propagation=private"]
    command += ["sh", "-c", script, "sh", root, source]
    command += ["chroot", root, *environment, "sh", "-c", inside, "sh", *argv]
    host.logged(command, log)


def install(root: Path, source: Path, target: Path, release: str, log: Path) -> None:
    boot, modules = target / "boot", target / "lib/modules" / release
    boot.mkdir()
    modules.mkdir(parents=True)
    shutil.copy(source / "arch/x86/boot/bzImage", boot / f"vmlinuz-{release}")
    # No driver is a module: what stands here says which are built in.
    for name in ("modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(source / name, modules / name)
    (modules / "modules.order").touch()
    headers = target / "usr/src" / f"linux-headers-{release}"
    for path in _kept(source):
        copy = headers / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)


def _kept(source: Path) -> Iterator[Path]:
    yield from (source / name for name in KEPT_FILES)
    for name in KEPT_FOLDERS:
        for folder, _, files in os.walk(source / name):
            yield from (Path(folder, file) for file in files if not file.endswith(DROPPED))
