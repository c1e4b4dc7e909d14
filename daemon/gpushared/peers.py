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


@dataclass(frozen=True)
class Peer:
    """Credentials that the kernel noted when the peer connected; the pid is a hint only."""

    pid: int
    uid: int
    gid: int


def peer_of(sock: socket.socket) -> Peer:
    """Credentials of the other end of a connected unix socket."""
    return Peer(*_UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)))


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
        # looked up at each request: membership may change while the daemon runs,
        # and the credentials carry the primary group only
        try:
            wanted = grp.getgrnam(self._group).gr_gid
        except KeyError:
            return False
        if peer.gid == wanted:
            return True
        try:
            user = pwd.getpwuid(peer.uid)
        except KeyError:
            return False
        return wanted in os.getgrouplist(user.pw_name, user.pw_gid)
