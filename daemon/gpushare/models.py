# SPDX-License-Identifier: GPL-2.0-only
"""What goes over the socket of gpushared. Requests are strict; an absent field is not set.

The command does not import this module (pydantic costs it more time than the
request itself): it sends plain JSON and prints what comes back.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from gpushare.compute import PRIORITY_MAX, WEIGHT_MAX, Policy, parse_percent
from gpushare.errors import InvalidInput
from gpushare.names import parse_name, parse_owner
from gpushare.sizes import parse_size

SHARES_MAX: Final = 32


def _name(text: object) -> str:
    return parse_name(text)


def _owner(text: object) -> tuple[int, int]:
    return parse_owner(text)


def _size(text: object) -> int:
    return parse_size(text)


def _percent(text: object) -> int:
    return parse_percent(text)


def _policy(text: object) -> Policy:
    for policy in Policy:
        if text == policy.value:
            return policy
    raise InvalidInput(
        f"policy: {text!r} is not a policy",
        hint=f"use one of {', '.join(Policy)}",
        field="policy",
    )


Name = Annotated[str, BeforeValidator(_name)]
Owner = Annotated[tuple[int, int], BeforeValidator(_owner)]
Size = Annotated[int, BeforeValidator(_size)]
Percent = Annotated[int, BeforeValidator(_percent)]
PolicyName = Annotated[Policy, BeforeValidator(_policy)]
Selector = Annotated[str, Field(min_length=1, max_length=64)]
Weight = Annotated[int, Field(ge=1, le=WEIGHT_MAX)]
Priority = Annotated[int, Field(ge=0, le=PRIORITY_MAX)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Request(_Model):
    @model_validator(mode="before")
    @classmethod
    def _no_nulls(cls, data: object) -> object:
        if isinstance(data, dict):
            for key, value in data.items():
                if value is None:
                    raise InvalidInput(
                        f"{key}: null is not a value",
                        hint="leave the key out to keep it unset",
                        field=str(key),
                    )
        return data


class ShareChange(_Request):
    """New values for one share; without gpu it is the tenant's only share."""

    gpu: Selector | None = None
    memory: Size | None = None
    compute: Percent | None = None
    policy: PolicyName | None = None
    weight: Weight | None = None
    priority: Priority | None = None


class ShareCreate(ShareChange):
    """A share to make; without gpu the card with most room is taken."""

    memory: Size


class TenantCreate(_Request):
    """A tenant to make, with a share on each card it may use."""

    name: Name
    shares: Annotated[list[ShareCreate], Field(min_length=1, max_length=SHARES_MAX)]
    owner: Owner | None = None


class TenantChange(_Request):
    """What is to be different; all of it happens or nothing."""

    shares: Annotated[list[ShareChange], Field(max_length=SHARES_MAX)] = []
    owner: Owner | None = None


class Compute(_Model):
    """enforced is false while compute is only stored."""

    policy: Policy
    min_permille: int
    max_permille: int
    weight: int
    priority: int
    enforced: bool


class Share(_Model):
    """One share as it is now."""

    card_uuid: str
    card_index: int | None
    card_minor: int
    quota_bytes: int
    charged_bytes: int
    object_bytes: int
    managed_bytes: int
    overhead_bytes: int
    lingering_bytes: int
    free_bytes: int
    peak_bytes: int
    refusals: int
    over_quota: bool
    compute: Compute


class Node(_Model):
    """A virtual node; name is what a program looks for in /dev."""

    path: str
    name: str
    kind: str
    major: int
    minor: int


class Tenant(_Model):
    """One tenant as it is now."""

    name: str
    uuid: str
    owner_uid: int
    owner_gid: int
    mode: str
    cgroup_id: int | None
    state: str
    open_files: int
    shares: list[Share]
    nodes: list[Node]


class Card(_Model):
    """One card; grantable is what quotas may sum up to, free what is unused now."""

    index: int
    uuid: str
    minor: int
    pci: str
    name: str
    total_bytes: int
    reserved_bytes: int
    grantable_bytes: int
    granted_bytes: int
    ungranted_bytes: int
    free_bytes: int
    charged_bytes: int
    outside_bytes: int
    residue_bytes: int
    shares: int
    state: str
    reason: str | None
    utilisation_percent: int | None


class Process(_Model):
    """Open files of one process through one kind of node, on one card if it has one."""

    tenant: str
    pid: int
    tgid: int
    comm: str
    kind: str
    files: int
    clients: int
    objects: int
    charged_bytes: int
    card_uuid: str | None


class Counters(_Model):
    """What the module did for a tenant since the tenant was made."""

    ioctls: int
    forwarded: int
    refused_quota: int
    refused_denied: int
    refused_unknown: int
    open_denied: int


class Nvml(_Model):
    """Whether NVML answers; gpushare works without it."""

    available: bool
    reason: str | None


class Info(_Model):
    """Versions, and what this machine can do."""

    version: str
    module_version: str
    abi_version: int
    driver_version: str | None
    driver_flavour: str | None
    driver_supported: bool
    supported_versions: list[str]
    cgroup_gate: bool
    compute_enforced: bool
    nvml: Nvml


RequestT = TypeVar("RequestT", bound=_Request)


def parse_request(kind: type[RequestT], data: object) -> RequestT:
    """A request from decoded JSON; InvalidInput names the first key that is wrong."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise _translated(kind, error.errors(include_url=False)[0]) from error


def _translated(kind: type[_Request], detail: ErrorDetails) -> InvalidInput:
    path = ".".join(str(part) for part in detail["loc"]) or "request"
    last = str(detail["loc"][-1]) if detail["loc"] else None
    if detail["type"] == "extra_forbidden":
        return InvalidInput(
            f"unknown key {path}", hint=f"known are {', '.join(_keys(kind, path))}", field=last
        )
    if detail["type"] == "missing":
        return InvalidInput(f"{path} is missing", hint=f"say {path} too", field=last)
    shown = repr(detail["input"])
    return InvalidInput(f"{path}: {shown[:60]} is refused", hint=detail["msg"].lower(), field=last)


def _keys(kind: type[_Request], path: str) -> list[str]:
    if not path.startswith("shares."):
        return list(kind.model_fields)
    return list((ShareCreate if kind is TenantCreate else ShareChange).model_fields)
