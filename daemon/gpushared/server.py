# SPDX-License-Identifier: GPL-2.0-only
"""HTTP and JSON on a unix socket: /v1/info, /v1/gpus, /v1/tenants and below.

A request passes: errors() → permitted() → one handler → Tenants → the module.
"""

from __future__ import annotations

import grp
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from pydantic import BaseModel

from gpushare.errors import Conflict, GpuShareError, InvalidInput, NotPermitted
from gpushare.models import TenantChange, TenantCreate, parse_request
from gpushare.names import parse_name
from gpushared.peers import Authority, Peer, peer_of
from gpushared.problems import http_problem, problem
from gpushared.tenants import Tenants

log = logging.getLogger(__name__)

BODY_MAX_BYTES: Final = 64 * 1024
SOCKET_MODE: Final = 0o660
_READS: Final = frozenset({"GET", "HEAD"})


class Api:
    """The handlers. Each reads its input, asks Tenants and shows the answer."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/v1/info", self._info, allow_head=False),
            web.get("/v1/gpus", self._gpus, allow_head=False),
            web.get("/v1/tenants", self._list, allow_head=False),
            web.post("/v1/tenants", self._create),
            web.get("/v1/tenants/{name}", self._show, allow_head=False),
            web.patch("/v1/tenants/{name}", self._change),
            web.delete("/v1/tenants/{name}", self._delete),
            web.get("/v1/tenants/{name}/processes", self._processes, allow_head=False),
            web.get("/v1/tenants/{name}/counters", self._counters, allow_head=False),
        ]

    async def _info(self, request: web.Request) -> web.Response:
        _query(request)
        return _shown(await self._tenants.info())

    async def _gpus(self, request: web.Request) -> web.Response:
        _query(request)
        return _listed("gpus", await self._tenants.cards())

    async def _list(self, request: web.Request) -> web.Response:
        _query(request)
        return _listed("tenants", await self._tenants.tenants())

    async def _create(self, request: web.Request) -> web.Response:
        _query(request)
        wanted = parse_request(TenantCreate, await _body(request))
        return _shown(await self._tenants.create(wanted), status=201)

    async def _show(self, request: web.Request) -> web.Response:
        _query(request)
        return _shown(await self._tenants.tenant(_name(request)))

    async def _change(self, request: web.Request) -> web.Response:
        _query(request)
        wanted = parse_request(TenantChange, await _body(request))
        return _shown(await self._tenants.change(_name(request), wanted))

    async def _delete(self, request: web.Request) -> web.Response:
        force = _query(request, "force").get("force", "false")
        if force not in ("true", "false"):
            raise InvalidInput(f"force: {force!r} is refused", hint="use true or false")
        await self._tenants.delete(_name(request), force=force == "true")
        return web.Response(status=204)

    async def _processes(self, request: web.Request) -> web.Response:
        _query(request)
        return _listed("processes", await self._tenants.processes(_name(request)))

    async def _counters(self, request: web.Request) -> web.Response:
        _query(request)
        return _shown(await self._tenants.counters(_name(request)))


def application(tenants: Tenants, authority: Authority) -> web.Application:
    """The API with its checks, not yet on a socket."""
    app = web.Application(
        client_max_size=BODY_MAX_BYTES, middlewares=[_errors, _permitted(authority)]
    )
    app.add_routes(Api(tenants).routes())
    return app


@asynccontextmanager
async def serving(app: web.Application, *, path: Path, group: str) -> AsyncIterator[None]:
    """Serve on a socket at path until left; the socket is gone afterwards."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
    await runner.setup()
    sock = _bound(path, group)
    try:
        await web.SockSite(runner, sock).start()
        yield
    finally:
        await runner.cleanup()
        _remove(path)


def _bound(path: Path, group: str) -> socket.socket:
    """A socket with its final mode and group before anybody can connect."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    _check_unserved(path)
    _remove(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o777 & ~SOCKET_MODE)
    try:
        sock.bind(str(path))
    finally:
        os.umask(mask)
    try:
        os.chown(path, -1, grp.getgrnam(group).gr_gid)
    except (KeyError, PermissionError):
        log.info("socket for this user only", extra={"path": str(path), "group": group})
    return sock


def _check_unserved(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return
    raise Conflict(f"another gpushared serves {path}", hint="stop it first")


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except GpuShareError as error:
        log.info(
            "request refused",
            extra={"method": request.method, "path": request.path, "reason": str(error)},
        )
        return problem(error)
    except web.HTTPException as error:
        return http_problem(error, method=request.method, path=request.path)
    except Exception:
        log.exception("request failed", extra={"method": request.method, "path": request.path})
        return problem(
            GpuShareError("gpushared met a bug", hint="look at: journalctl -u gpushared")
        )


def _permitted(authority: Authority) -> Middleware:
    @web.middleware
    async def permitted(request: web.Request, handler: Handler) -> web.StreamResponse:
        peer = _peer(request)
        reads = request.method in _READS
        allowed = authority.may_read(peer) if reads else authority.may_write(peer)
        if not allowed:
            raise NotPermitted(
                f"user {peer.uid} may not {'read' if reads else 'change'} tenants",
                hint="join the group gpushare to read, be root to change",
            )
        log.log(
            logging.DEBUG if reads else logging.INFO,
            "request",
            extra={
                "method": request.method,
                "path": request.path,
                "uid": peer.uid,
                "pid": peer.pid,
            },
        )
        return await handler(request)

    return permitted


def _peer(request: web.Request) -> Peer:
    transport = request.transport
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None:
        raise NotPermitted("the caller is gone", hint="call again")
    return peer_of(sock)


def _name(request: web.Request) -> str:
    return parse_name(request.match_info["name"])


def _query(request: web.Request, *known: str) -> dict[str, str]:
    for key in request.query:
        if key not in known:
            raise InvalidInput(
                f"unknown key {key!r} in the query",
                hint=f"known are {', '.join(known)}" if known else "this path takes none",
            )
    return dict(request.query)


async def _body(request: web.Request) -> object:
    try:
        return json.loads(await request.text(), object_pairs_hook=_once, parse_constant=_no_number)
    except (UnicodeDecodeError, LookupError, RecursionError, ValueError) as error:
        raise InvalidInput("the body is not JSON", hint=str(error)) from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInput("a key stands twice in the body", hint="say each once")
    return found


def _no_number(text: str) -> object:
    raise InvalidInput(f"{text} is not a number", hint="send JSON numbers")


def _shown(model: BaseModel, *, status: int = 200) -> web.Response:
    return web.Response(
        status=status, text=model.model_dump_json(), content_type="application/json"
    )


def _listed(key: str, models: Sequence[BaseModel]) -> web.Response:
    body = {key: [model.model_dump(mode="json") for model in models]}
    return web.Response(text=json.dumps(body), content_type="application/json")
