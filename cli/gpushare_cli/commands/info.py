# SPDX-License-Identifier: GPL-2.0-only
"""Versions, and what this machine can do."""

from __future__ import annotations

import click

from gpushare.client import Client, JsonObject
from gpushare.drivers import by_branch, nearest
from gpushare.errors import GpuShareError
from gpushare.version import version as own_version
from gpushare_cli.output import nested, output_option, print_json, text


@click.command()
@output_option
@click.pass_obj
def info(client: Client, output: str) -> None:
    """Show module, driver, and what this machine can do."""
    found = client.info()
    if output == "json":
        print_json(found)
        return
    versions = ", ".join(by_branch(_supported(found))) or "-"
    nvml = nested(found, "nvml")
    lines = {
        "gpushared": text(found, "version"),
        "module": f"{text(found, 'module_version')} (interface {text(found, 'abi_version')})",
        "driver": _driver(found),
        "supported drivers": versions,
        "cgroup gate": "on" if found.get("cgroup_gate") else "off: needs cgroup v2",
        "compute limits": "enforced" if found.get("compute_enforced") else "not enforced yet",
        "NVML": "works" if nvml.get("available") else f"not used: {text(nvml, 'reason')}",
    }
    for name, value in lines.items():
        click.echo(f"{name + ':':<18} {value}")


@click.command()
@output_option
@click.pass_obj
def version(client: Client, output: str) -> None:
    """Show the versions of command, daemon and module."""
    found: JsonObject = {"command": own_version(), "daemon": None, "module": None}
    try:
        answer = client.info()
    except GpuShareError as error:
        found["reason"] = str(error)
    else:
        found.update(daemon=answer.get("version"), module=answer.get("module_version"))
    if output == "json":
        print_json(found)
        return
    click.echo(f"gpushare {text(found, 'command')}")
    click.echo(f"gpushared {text(found, 'daemon', absent='unknown')}")
    click.echo(f"module {text(found, 'module', absent='unknown')}")
    if "reason" in found:
        click.echo(f"({text(found, 'reason')})")


def _driver(found: JsonObject) -> str:
    if found.get("driver_version") is None:
        return "none found"
    parts = [text(found, "driver_version")]
    if found.get("driver_flavour") is not None:
        parts.append(f"({text(found, 'driver_flavour')})")
    if not found.get("driver_supported"):
        near = " or ".join(nearest(parts[0], _supported(found))) or "a supported driver"
        parts.append(
            f"NOT SUPPORTED: tenants are refused. Install {near}, or a gpushare that knows this one"
        )
    return " ".join(parts)


def _supported(found: JsonObject) -> list[str]:
    versions = found.get("supported_versions")
    return [str(one) for one in versions] if isinstance(versions, list) else []
