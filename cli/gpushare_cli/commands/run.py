# SPDX-License-Identifier: GPL-2.0-only
"""Run a program inside a tenant."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final, NoReturn

import click

from gpushare.client import Client
from gpushare.errors import GpuShareError
from gpushare.names import parse_name

# as container engines and the shell have it
STATUS_OWN_FAILURE: Final = 125
STATUS_NOT_EXECUTABLE: Final = 126
STATUS_NOT_FOUND: Final = 127


def _program(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> tuple[str, ...]:
    """Without the "--" that parts it from NAME; one of the program's own stays."""
    words = words[1:] if words[:1] == ("--",) else words
    if not words:
        raise click.MissingParameter(ctx=context, param=parameter)
    return words


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, callback=_program)
@click.pass_obj
def run(client: Client, name: str, command: tuple[str, ...]) -> None:
    """Run COMMAND with the devices of tenant NAME in place of the real ones.

    The program and what it starts see the tenant's nodes as /dev/nvidia*, in a mount
    namespace of their own. Needs root. This is for programs that cooperate; use a
    container as a boundary.

    The exit status is that of COMMAND; 125 if it could not be started because of
    gpushare, 126 if it is not executable, 127 if it was not found.
    """
    # imported here: no other command needs ctypes
    from gpushare_cli.devices import enter, nodes_of

    try:
        tenant = client.tenant(parse_name(name))
        enter(nodes_of(tenant))
    except GpuShareError as error:
        click.echo(f"gpushare: {error}", err=True)
        sys.exit(STATUS_OWN_FAILURE)
    _replace_with(command)


def _replace_with(command: tuple[str, ...]) -> NoReturn:
    environment = {**os.environ, "NVIDIA_VISIBLE_DEVICES": "void"}
    # Python ignores these two, and what is ignored stays so over exec
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment)
    except FileNotFoundError:
        click.echo(f"gpushare: {command[0]}: no such program; check the path", err=True)
        sys.exit(STATUS_NOT_FOUND)
    except OSError as error:
        click.echo(f"gpushare: {command[0]}: {error.strerror}; make it executable", err=True)
        sys.exit(STATUS_NOT_EXECUTABLE)
