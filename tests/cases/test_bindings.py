# SPDX-License-Identifier: GPL-2.0-only
"""No field case is forgotten: each is bound by a mark or says what it waits for."""

from __future__ import annotations

import re
from typing import Final

from tests.cases import bindings

ID: Final = re.compile(r"[A-Z]{2}-\d{2}")


def test_every_case_is_bound_or_waits_for_something() -> None:
    marks = bindings.bound()
    forgotten = [case.id for case in bindings.cases() if case.id not in marks and not case.waits]
    assert not forgotten


def test_cases_with_what_is_here_are_bound() -> None:
    """Those whose needs the simulated driver and a root guest meet have no excuse."""
    marks = bindings.bound()
    here = {"pure", "fakedriver", "root", "module"}
    missing = [
        case.id for case in bindings.cases() if set(case.needs) <= here and case.id not in marks
    ]
    assert not missing


def test_marks_name_cases() -> None:
    assert all(ID.fullmatch(case) for case in bindings.bound())


def test_ids_are_unique_and_well_formed() -> None:
    ids = [case.id for case in bindings.cases()]
    assert len(set(ids)) == len(ids) >= 37
    assert all(ID.fullmatch(one) for one in ids)


def test_table_in_the_readme_is_what_the_marks_say() -> None:
    now = bindings.README.read_text(encoding="utf-8")
    assert now == bindings.readme_with(bindings.table()), (
        "python -m tests.cases.bindings writes it anew"
    )
