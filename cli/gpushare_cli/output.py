# SPDX-License-Identifier: GPL-2.0-only
"""Answers as tables for people or JSON for programs. rich is loaded for a table only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import click

from gpushare.client import Json, JsonObject
from gpushare.compute import format_percent
from gpushare.sizes import rounded_size

Command = TypeVar("Command", bound=Callable[..., object])

# wide enough for any table: a pipe must get whole lines
_PIPE_COLUMNS = 1000
STORED_ONLY: Final = "*"


def output_option(command: Command) -> Command:
    """Give a command the option -o."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="A table for people or JSON for programs.",
    )(command)


def print_json(value: Json) -> None:
    """The daemon's answer as it came."""
    click.echo(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under their headings; columns of figures are told by a leading ">"."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        right = column.startswith(">")
        table.add_column(column.lstrip(">"), justify="right" if right else "left", no_wrap=True)
    for row in rows:
        # Text: what a process calls itself is no markup
        table.add_row(*(Text(cell) for cell in row))
    width = None if sys.stdout.isatty() else _PIPE_COLUMNS
    Console(width=width, highlight=False).print(table)


def text(item: JsonObject, key: str, absent: str = "-") -> str:
    """A field for a table."""
    value = item.get(key)
    return absent if value is None else str(value)


def number(item: JsonObject, key: str) -> int:
    """A field that is a number; 0 if it is absent."""
    value = item.get(key)
    return value if isinstance(value, int) else 0


def size(item: JsonObject, key: str) -> str:
    """A field in bytes for a table."""
    return rounded_size(number(item, key))


def items(item: JsonObject, key: str) -> list[JsonObject]:
    """A field that is a list of objects."""
    value = item.get(key)
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def nested(item: JsonObject, key: str) -> JsonObject:
    """A field that is an object."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def compute(share: JsonObject) -> str:
    """Policy and percentages of a share; a star if they are only stored."""
    settings = nested(share, "compute")
    policy = text(settings, "policy")
    low, high = number(settings, "min_permille"), number(settings, "max_permille")
    part = {
        "fixed": f" {format_percent(low)}",
        "burst": f" {format_percent(low)}-{format_percent(high)}",
    }.get(policy, "")
    return f"{policy}{part}" + ("" if settings.get("enforced") else STORED_ONLY)
