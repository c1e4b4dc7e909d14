# SPDX-License-Identifier: GPL-2.0-only
"""A client of gpushared: HTTP over its unix socket, with the standard library only.

What comes back is plain JSON with the fields of gpushare.models; failures are
the classes of gpushare.errors.
"""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection, HTTPException
from typing import Final
from urllib.parse import quote, urlencode

from gpushare.errors import DaemonUnreachable, GpuShareError, NotPermitted, kind_of

SOCKET_PATH: Final = "/run/gpushare/gpushared.sock"
TIMEOUT_S: Final = 30.0

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        # the host only fills the Host header; an address never leaves the socket
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """One call, one connection. Every method blocks, at most timeout_s a call."""

    def __init__(self, path: str = SOCKET_PATH, *, timeout_s: float = TIMEOUT_S) -> None:
        self._path = path
        self._timeout_s = timeout_s

    def info(self) -> JsonObject:
        """Versions of daemon, module and driver, and what the machine can do."""
        return self._object("GET", "/v1/info")

    def cards(self) -> list[JsonObject]:
        """All cards."""
        return self._list("/v1/gpus", "gpus")

    def tenants(self) -> list[JsonObject]:
        """All tenants."""
        return self._list("/v1/tenants", "tenants")

    def tenant(self, name: str) -> JsonObject:
        """One tenant; NotFound if there is none of that name."""
        return self._object("GET", _tenant_path(name))

    def processes(self, name: str) -> list[JsonObject]:
        """Processes with the tenant's nodes open."""
        return self._list(f"{_tenant_path(name)}/processes", "processes")

    def create(self, request: JsonObject) -> JsonObject:
        """Make a tenant (fields of models.TenantCreate) and return it."""
        return self._object("POST", "/v1/tenants", request)

    def change(self, name: str, request: JsonObject) -> JsonObject:
        """Change a tenant (fields of models.TenantChange) and return it."""
        return self._object("PATCH", _tenant_path(name), request)

    def delete(self, name: str, *, force: bool = False) -> None:
        """Delete a tenant; Conflict while its nodes are open unless forced."""
        query = f"?{urlencode({'force': 'true'})}" if force else ""
        self._call("DELETE", _tenant_path(name) + query)

    def _object(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        answer = self._call(method, path, body)
        if not isinstance(answer, dict):
            raise _not_ours(self._path)
        return answer

    def _list(self, path: str, key: str) -> list[JsonObject]:
        items = self._object("GET", path).get(key)
        if not isinstance(items, list):
            raise _not_ours(self._path)
        return [item for item in items if isinstance(item, dict)]

    def _call(self, method: str, path: str, body: JsonObject | None = None) -> Json:
        connection = _UnixConnection(self._path, self._timeout_s)
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body)
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
        except PermissionError as error:
            raise NotPermitted(
                f"no access to {self._path}", hint="run as root, or join the group gpushare"
            ) from error
        except (OSError, HTTPException) as error:
            raise DaemonUnreachable(
                f"gpushared does not answer on {self._path} ({error})",
                hint="start it: systemctl start gpushared",
            ) from error
        finally:
            connection.close()
        answer = _decoded(text, self._path)
        if status >= 400:
            raise _raised(answer, self._path)
        return answer


def _tenant_path(name: str) -> str:
    return f"/v1/tenants/{quote(name, safe='')}"


def _decoded(text: bytes, path: str) -> Json:
    if not text:
        return None
    try:
        answer: Json = json.loads(text)
    except ValueError as error:
        raise _not_ours(path) from error
    return answer


def _not_ours(path: str) -> DaemonUnreachable:
    return DaemonUnreachable(
        f"what answers on {path} does not speak as gpushared does",
        hint="check that command and daemon are of the same version: gpushare version",
    )


def _raised(answer: Json, path: str) -> GpuShareError:
    if not isinstance(answer, dict):
        return _not_ours(path)
    field = answer.get("field")
    return kind_of(str(answer.get("code")))(
        str(answer.get("detail") or answer.get("title")),
        hint=str(answer.get("hint") or ""),
        field=field if isinstance(field, str) else None,
    )
