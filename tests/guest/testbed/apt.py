"""Packages of fixed Debian suites through a private apt root.

Where they come from is the machine's own business: mirror, proxy and authentication are taken from
its apt configuration. Its sources, lists and installed packages are left alone.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from . import cache, host, paths
from .errors import TestbedError

TOOLS_SUITE = "trixie"
SUITES = {
    "trixie": "main contrib non-free",
    "trixie-security": "main contrib non-free",
    "bookworm": "main contrib non-free",
    "bookworm-security": "main contrib non-free",
    # kernels only
    "trixie-backports": "main",
    "bullseye": "main",
    "bullseye-security": "main",
}
USUAL = ("trixie", "trixie-security", "bookworm", "bookworm-security")
LISTS_LIVE_S = 86400
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DEBIAN = re.compile(
    r"(buster|bullseye|bookworm|trixie|forky|duke|sid|stable|testing|unstable)(-\w+)?$"
)


def mirrors() -> tuple[str, str]:
    """This machine's URIs for Debian and for its security updates."""
    listing = subprocess.run(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(ORIGIN)|$(RELEASE)|$(COMPONENT)|$(REPO_URI)",
            "Created-By: Packages",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    main = security = ""
    for line in listing.splitlines():
        origin, release, component, uri = line.split("|")
        # The origin is known only once the lists have been fetched.
        if (
            component != "main"
            or not DEBIAN.match(release)
            or origin not in ("Debian", "", "$(ORIGIN)")
        ):
            continue
        if release.endswith("-security"):
            security = security or uri
        else:
            main = main or uri
    if not main:
        raise TestbedError(
            "apt has no Debian source with component main: add one for any Debian suite"
        )
    return main, security or re.sub(r"/debian(/?)$", r"/debian-security\1", main)


def sources(suites: Sequence[str]) -> list[str]:
    main, security = mirrors()
    signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
    return [
        f"deb {signed}{security if suite.endswith('-security') else main} {suite} {SUITES[suite]}"
        for suite in suites
    ]


def transport_settings() -> list[str]:
    """Proxy, retry and validity settings, for an apt that doesn't read this configuration."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    wanted = re.compile(r"Acquire::(https?::|Check-|Retries|ForceIPv)[^\"]* \"[^\"]+\";$")
    return [line for line in dump.splitlines() if wanted.match(line)]


class PrivateApt:
    """Looks up and downloads packages; installs nothing. Other suites have lists of their own."""

    def __init__(self, suites: Sequence[str] = USUAL) -> None:
        self._suites = suites
        self._root = paths.cache() / ("apt" if suites == USUAL else f"apt-{suites[0]}")
        lists, archives = self._root / "lists", self._root / "archives"
        for folder in (lists / "partial", archives / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        (self._root / "status").touch()
        self._sources = self._root / "sources.list"
        self._stamp = self._root / "stamp"
        settings = {
            "Dir::Etc::sourcelist": self._sources,
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "-",
            "Dir::State::lists": lists,
            "Dir::State::status": self._root / "status",
            "Dir::Cache": self._root,
            "APT::Sandbox::User": "root",
            "APT::Architecture": "amd64",
            "APT::Update::Post-Invoke-Success::": "true",
            "Acquire::Languages": "none",
        }
        self._options = [f"-o{key}={value}" for key, value in settings.items()]

    def refresh(self, log: Path, *, force: bool = False) -> None:
        with cache.locked(self._root / "lock"):
            wanted = "\n".join(sources(self._suites)) + "\n"
            fresh = (
                not force
                and self._stamp.exists()
                and time.time() - self._stamp.stat().st_mtime < LISTS_LIVE_S
                and self._sources.exists()
                and self._sources.read_text() == wanted
            )
            if fresh:
                return
            self._sources.write_text(wanted)
            host.logged(["apt-get", *self._options, "update", "-q"], log)
            self._stamp.touch()

    def names(self, prefix: str) -> list[str]:
        return subprocess.run(
            ["apt-cache", *self._options, "pkgnames", prefix],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()

    def unpack(self, packages: Sequence[str], into: Path, log: Path) -> None:
        """Download and unpack; a superseded version (stale lists) gets one fresh look."""
        store = into / ".debs"
        store.mkdir()
        download = ["apt-get", *self._options, "download", "-q", *packages]
        try:
            host.logged(download, log, cwd=store)
        except TestbedError:
            self.refresh(log, force=True)
            host.logged(download, log, cwd=store)
        for deb in sorted(store.glob("*.deb")):
            host.logged(["dpkg-deb", "-x", deb, into], log)
            deb.unlink()
        store.rmdir()
