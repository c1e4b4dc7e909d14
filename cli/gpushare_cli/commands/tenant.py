# SPDX-License-Identifier: GPL-2.0-only
"""Tenants: create, list, show, set, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

from gpushare.client import Client, JsonObject
from gpushare.compute import PRIORITY_MAX, WEIGHT_DEFAULT, WEIGHT_MAX, Policy
from gpushare.names import parse_name
from gpushare_cli.output import (
    STORED_ONLY,
    compute,
    items,
    number,
    output_option,
    print_json,
    print_table,
    size,
    text,
)

Function = TypeVar("Function", bound=Callable[..., object])

_SHARE_OPTIONS: Final = (
    click.option("--gpu", "gpus", multiple=True, help="Card by index, UUID or node; repeatable."),
    click.option("--compute", help="Part of the card's time, for example 30%. Not enforced yet."),
    click.option("--policy", type=click.Choice([policy.value for policy in Policy])),
    click.option("--weight", type=int, help=f"1-{WEIGHT_MAX}, {WEIGHT_DEFAULT} if not given."),
    click.option("--priority", type=int, help=f"0-{PRIORITY_MAX}, higher goes first."),
    click.option("--owner", help="UID:GID of the device nodes."),
)


def _share_options(function: Function) -> Function:
    for option in reversed(_SHARE_OPTIONS):
        function = option(function)
    return function


@click.command()
@click.argument("name")
@click.option("--memory", required=True, help="Quota on each card, for example 2GiB.")
@_share_options
@output_option
@click.pass_obj
def create(client: Client, /, name: str, output: str, **options: object) -> None:
    """Make tenant NAME with a memory quota on one or more cards.

    Without --gpu the card with most memory to grant is taken.
    """
    request = _request(options)
    request["name"] = parse_name(name)
    _print_tenants([client.create(request)], output, single=True)


@click.command("list")
@output_option
@click.pass_obj
def list_tenants(client: Client, output: str) -> None:
    """List all tenants with their quotas and what they use."""
    _print_tenants(client.tenants(), output)


@click.command()
@click.argument("name")
@output_option
@click.pass_obj
def show(client: Client, name: str, output: str) -> None:
    """Show tenant NAME: shares, device nodes and processes."""
    tenant = client.tenant(parse_name(name))
    processes = client.processes(name)
    if output == "json":
        print_json({**tenant, "processes": [*processes]})
        return
    _print_facts(tenant)
    _print_tenants([tenant], output)
    _print_breakdown(tenant)
    _print_nodes(tenant)
    if processes:
        _print_processes(processes)


@click.command("set")
@click.argument("name")
@click.option("--memory", help="New quota, for example 4GiB.")
@_share_options
@output_option
@click.pass_obj
def set_tenant(client: Client, /, name: str, output: str, **options: object) -> None:
    """Change tenant NAME while its programs run.

    Only what is given changes. A quota below what is in use is accepted: nothing is
    killed, and new allocations are refused until use is below it. A tenant with
    several cards needs --gpu.
    """
    request = _request(options)
    if not request:
        raise click.UsageError("nothing to change: give --memory or another option")
    _print_tenants([client.change(parse_name(name), request)], output, single=True)


@click.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Although programs have its devices open.")
@click.pass_obj
def delete(client: Client, name: str, *, force: bool) -> None:
    """Delete tenant NAME and its device nodes."""
    client.delete(parse_name(name), force=force)


COMMANDS: Final[tuple[click.Command, ...]] = (create, list_tenants, show, set_tenant, delete)


def _request(options: dict[str, object]) -> JsonObject:
    """Fields of a request; what was not given is left out, for absent is not zero."""
    request: JsonObject = {}
    owner, gpus = options.pop("owner"), options.pop("gpus")
    if isinstance(owner, str):
        request["owner"] = owner
    share: JsonObject = {
        key: value for key, value in options.items() if isinstance(value, str | int)
    }
    cards = [str(gpu) for gpu in gpus] if isinstance(gpus, tuple) else []
    if cards:
        request["shares"] = [{"gpu": card, **share} for card in cards]
    elif share:
        request["shares"] = [share]
    return request


def _print_tenants(tenants: list[JsonObject], output: str, *, single: bool = False) -> None:
    if output == "json":
        print_json(tenants[0] if single else [*tenants])
        return
    columns = ("NAME", "CARD", ">QUOTA", ">USED", ">FREE", ">PEAK", "COMPUTE", ">FILES", "STATE")
    rows = [
        (
            text(tenant, "name"),
            text(share, "card_index"),
            size(share, "quota_bytes"),
            size(share, "charged_bytes"),
            size(share, "free_bytes"),
            size(share, "peak_bytes"),
            compute(share),
            text(tenant, "open_files"),
            "over quota" if share.get("over_quota") else text(tenant, "state"),
        )
        for tenant in tenants
        for share in items(tenant, "shares")
    ]
    print_table(columns, rows)
    if any(STORED_ONLY in cell for row in rows for cell in row):
        click.echo(f"{STORED_ONLY} stored, not enforced yet")


def _print_facts(tenant: JsonObject) -> None:
    owner = f"{text(tenant, 'owner_uid')}:{text(tenant, 'owner_gid')} {text(tenant, 'mode')}"
    gate = f"cgroup {text(tenant, 'cgroup_id')}" if tenant.get("cgroup_id") else "no cgroup"
    click.echo(f"uuid {text(tenant, 'uuid')}, owner {owner}, bound to {gate}\n")


def _print_breakdown(tenant: JsonObject) -> None:
    keys = ("object", "managed", "overhead", "lingering")
    rows = [
        (
            text(share, "card_uuid"),
            *(size(share, f"{key}_bytes") for key in keys),
            str(number(share, "refusals")),
        )
        for share in items(tenant, "shares")
    ]
    click.echo()
    print_table(("CARD", *(f">{key.upper()}" for key in keys), ">REFUSALS"), rows)


def _print_nodes(tenant: JsonObject) -> None:
    rows = [
        (text(node, "path"), f"{text(node, 'major')}:{text(node, 'minor')}")
        for node in items(tenant, "nodes")
    ]
    click.echo()
    print_table(("NODE", ">NUMBER"), rows)


def _print_processes(processes: list[JsonObject]) -> None:
    rows = [
        (
            text(process, "tgid"),
            text(process, "comm"),
            text(process, "kind"),
            text(process, "files"),
            size(process, "charged_bytes"),
            text(process, "card_uuid"),
        )
        for process in processes
    ]
    click.echo()
    print_table((">PID", "COMMAND", "NODE", ">FILES", ">USED", "CARD"), rows)
