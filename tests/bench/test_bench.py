# SPDX-License-Identifier: GPL-2.0-only
"""The benchmarks run, and say what they promise in the form others read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.records import Record, table
from tests.bench.run import main
from tests.conftest import needed


@pytest.mark.parametrize(
    ("value", "target", "at_least", "holds"),
    [(1, 2, False, True), (3, 2, False, False), (3, 2, True, True), (1, None, False, None)],
)
def test_a_record_knows_whether_its_target_holds(
    value: float, target: float | None, at_least: bool, holds: bool | None
) -> None:
    record = Record(name="x", metric="m", value=value, unit="ns", target=target, at_least=at_least)
    assert record.holds is holds
    assert record.to_json()["holds"] is holds
    assert len(table([record]).splitlines()) == 2


def test_decode_writes_its_figures(tmp_path: Path) -> None:
    needed("gcc")
    main(["decode", "--quick", "--out", str(tmp_path)])
    records = json.loads((tmp_path / "decode.json").read_text())
    assert {record["name"] for record in records} >= {"alloc-vidmem", "vidheap-alloc", "free"}
    for record in records:
        keys = {"name", "metric", "value", "unit", "baseline", "target", "holds", "params"}
        assert set(record) == keys
        assert record["value"] > 0


def test_an_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no-such"])
    assert "no benchmark named no-such" in capsys.readouterr().err
