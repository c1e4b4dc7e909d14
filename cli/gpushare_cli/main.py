# SPDX-License-Identifier: GPL-2.0-only
"""Wiring of the command, and the one place where failures become words and exit statuses."""

from __future__ import annotations

import sys

import click

from gpushare.client import SOCKET_PATH, Client
from gpushare.errors import GpuShareError
from gpushare_cli.commands import gpu, info, run, tenant


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--socket",
    envvar="GPUSHARE_SOCKET",
    default=SOCKET_PATH,
    show_default=True,
    help="Where gpushared listens.",
)
@click.pass_context
def cli(context: click.Context, socket: str) -> None:
    """Share NVIDIA GPUs between tenants, each inside hard limits.

    A memory size is written with a binary unit: 2GiB, 1.5GiB, 512MiB.
    """
    context.obj = Client(socket)


for command in (*tenant.COMMANDS, run.run, gpu.gpu, info.info, info.version):
    cli.add_command(command)


def main() -> None:
    """The program gpushare; exit statuses are listed in cli/README.md."""
    try:
        cli.main(prog_name="gpushare", standalone_mode=False)
    except GpuShareError as error:
        click.echo(f"gpushare: {error}", err=True)
        sys.exit(error.exit_status)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        # whoever read the table has gone; say nothing, as other tools do
        sys.stderr.close()
        sys.exit(141)


if __name__ == "__main__":
    main()
