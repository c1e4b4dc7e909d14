# SPDX-License-Identifier: GPL-2.0-only
"""Settings of the daemon: a TOML file, overridden by the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpushare.client import SOCKET_PATH
from gpushare.errors import InvalidInput

CONFIG_PATH: Final = Path("/etc/gpushare/gpushared.toml")


class Settings(BaseModel):
    """All keys of gpushared.toml with their defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    socket: Path = Path(SOCKET_PATH)
    group: str = Field(default="gpushare", min_length=1)
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def load(path: Path, overrides: dict[str, str]) -> Settings:
    """Settings from a file, if it is there, and overrides; InvalidInput names the key."""
    values: dict[str, object] = {}
    try:
        values.update(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path}: {error}", hint="correct the file") from error
    values.update(overrides)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"setting {key}: {first['msg'].lower()}",
            hint=f"known are {', '.join(Settings.model_fields)}",
            field=key,
        ) from error
