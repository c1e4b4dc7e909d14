# SPDX-License-Identifier: GPL-2.0-only
"""Failures as problem+json (RFC 9457), each with what to do next."""

from __future__ import annotations

import json

from aiohttp import web

from gpushare.errors import GpuShareError, InvalidInput, NotFound


def problem(error: GpuShareError, *, status: int | None = None) -> web.Response:
    """The response for an expected failure; status overrides that of its class."""
    status = status or error.http_status
    body: dict[str, str | int] = {
        "type": f"urn:gpushare:error:{error.code}",
        "title": error.title,
        "status": status,
        "detail": error.what,
        "code": error.code,
        "hint": error.hint,
    }
    if error.field is not None:
        body["field"] = error.field
    return web.Response(
        status=status, text=json.dumps(body), content_type="application/problem+json"
    )


def http_problem(error: web.HTTPException, *, method: str, path: str) -> web.Response:
    """The response for what the HTTP library refused by itself."""
    if error.status == 404:
        return problem(NotFound(f"there is no {path}", hint="paths begin with /v1/"))
    if error.status == 405:
        what = InvalidInput(f"{path} does not take {method}", hint="see daemon/README.md")
    elif error.status == 413:
        what = InvalidInput("the request is too large", hint="ask for fewer shares in one request")
    else:
        what = InvalidInput(error.reason or "bad request", hint="send HTTP/1.1 with JSON")
    return problem(what, status=error.status)
