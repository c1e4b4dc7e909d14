# SPDX-License-Identifier: GPL-2.0-only
"""Cards."""

from __future__ import annotations

import click

from gpushare.client import Client
from gpushare_cli.output import output_option, print_json, print_table, size, text


@click.group()
def gpu() -> None:
    """Look at the cards of this machine."""


@gpu.command("list")
@output_option
@click.pass_obj
def list_cards(client: Client, output: str) -> None:
    """List all cards: what can be granted, what is granted, what is in use.

    OUTSIDE is memory in use by programs of no tenant.
    """
    cards = client.cards()
    if output == "json":
        print_json([*cards])
        return
    sizes = ("total", "grantable", "granted", "ungranted", "charged", "outside", "free")
    columns = ("INDEX", "UUID", "NAME", *(f">{name.upper()}" for name in sizes), ">UTIL", "STATE")
    rows = [
        (
            text(card, "index"),
            text(card, "uuid"),
            text(card, "name"),
            *(size(card, f"{name}_bytes") for name in sizes),
            text(card, "utilisation_percent"),
            " ".join(filter(None, (text(card, "state"), text(card, "reason", absent="")))),
        )
        for card in cards
    ]
    print_table(columns, rows)
