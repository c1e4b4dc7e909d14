# SPDX-License-Identifier: GPL-2.0-only
"""Who is at the other end of the socket, and what they may do."""

from __future__ import annotations

import grp
import os
import pwd
import socket
import struct
from dataclasses import dataclass
from typing import Final, Protocol

_UCRED: Final = struct.Struct("iII")  # pid, uid, gid
_SO_PEERGROUPS: Final = 59  # asm-generic/socket.h; Python has no name for it
_GROUPS_BYTES: Final = 1024  # the most that getsockopt takes in Python


@dataclass(frozen=True)
class Peer:
    """Credentials that the kernel noted when the peer connected; the pid is a hint only."""

    pid: int
    uid: int
    gid: int
    groups: frozenset[int] = frozenset()


def peer_of(sock: socket.socket) -> Peer:
    """Credentials of the other end of a connected unix socket."""
    pid, uid, gid = _UCRED.unpack(
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    )
    return Peer(pid, uid, gid, _groups_of(sock))


def _groups_of(sock: socket.socket) -> frozenset[int]:
    try:
        packed = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _GROUPS_BYTES)
    except OSError:
        # more than fit: the lookup by name is left
        return frozenset()
    return frozenset(struct.unpack(f"{len(packed) // 4}I", packed))


class Authority(Protocol):
    """Decides what a peer may do."""

    def may_read(self, peer: Peer) -> bool: ...

    def may_write(self, peer: Peer) -> bool: ...


class GroupAuthority:
    """Root and the daemon's own user may write; members of the group may read as well."""

    def __init__(self, group: str) -> None:
        self._group = group

    def may_write(self, peer: Peer) -> bool:
        return peer.uid in (0, os.geteuid())

    def may_read(self, peer: Peer) -> bool:
        return self.may_write(peer) or self._is_member(peer)

    def _is_member(self, peer: Peer) -> bool:
        # looked up at each request: membership may change while the daemon runs
        try:
            wanted = grp.getgrnam(self._group).gr_gid
        except KeyError:
            return False
        if wanted == peer.gid or wanted in peer.groups:
            return True
        try:
            user = pwd.getpwuid(peer.uid)
        except KeyError:
            return False
        return wanted in os.getgrouplist(user.pw_name, user.pw_gid)
