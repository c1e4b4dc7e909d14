# SPDX-License-Identifier: GPL-2.0-only
"""One figure: what was measured, what it should be, and whether it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Record:
    """A row of a benchmark. Smaller is better unless at_least is set."""

    name: str
    metric: str
    value: float
    unit: str
    # what it is compared with: the same without gpushare, or the best seen elsewhere
    baseline: float | None = None
    target: float | None = None
    at_least: bool = False
    params: dict[str, str | int | float] = field(default_factory=dict)

    @property
    def holds(self) -> bool | None:
        """None: there is no target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    def to_json(self) -> dict[str, object]:
        """As written to build/bench."""
        content = asdict(self)
        del content["at_least"]
        return {**content, "holds": self.holds}


def write(records: Sequence[Record], path: Path) -> None:
    """One list of records a benchmark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([record.to_json() for record in records], indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def table(records: Sequence[Record]) -> str:
    """The same for people."""
    marks = {True: "yes", False: "NO", None: "-"}
    rows = [("name", "metric", "value", "unit", "baseline", "target", "holds")]
    for record in records:
        bound = "-" if record.target is None else ("≥ " if record.at_least else "≤ ")
        rows.append(
            (
                record.name,
                record.metric,
                f"{record.value:.4g}",
                record.unit,
                "-" if record.baseline is None else f"{record.baseline:.4g}",
                bound if record.target is None else f"{bound}{record.target:.4g}",
                marks[record.holds],
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
