# SPDX-License-Identifier: GPL-2.0-only
"""Which tests keep which field cases: read from the marks in the sources, nothing is run.

As a program it writes the table in README.md anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

HERE: Final = Path(__file__).resolve().parent
TESTS: Final = HERE.parent
README: Final = HERE / "README.md"
BEGIN: Final = "<!-- table: python -m tests.cases.bindings -->\n"
NONE: Final = "-"
END: Final = "<!-- end of table -->\n"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Case:
    """A case that has to be bound; waits says what its tests leave out, empty for nothing."""

    id: str
    title: str
    needs: tuple[str, ...]
    waits: str


def cases() -> list[Case]:
    loaded = yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
    return [
        Case(one["id"], one["title"], tuple(one["needs"]), one.get("waits", ""))
        for one in loaded["cases"]
    ]


def _functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function) and node.name.startswith("test_"):
            yield node


def _ids(marks: Sequence[ast.expr]) -> Iterator[str]:
    for mark in marks:
        for node in ast.walk(mark):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr == "case":
                yield from (str(arg.value) for arg in node.args if isinstance(arg, ast.Constant))


def names_in(folder: Path) -> list[str]:
    """test_x.py::test_y for every test in a folder."""
    return [
        f"{path.name}::{function.name}"
        for path in sorted(folder.glob("test_*.py"))
        for function in sorted(_functions(path), key=lambda one: one.lineno)
    ]


def bound(tests: Path = TESTS) -> dict[str, list[str]]:
    """Case id: files below tests/ with tests that carry it."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("*.py")):
        for function in _functions(path):
            for case in _ids(function.decorator_list):
                files = found.setdefault(case, [])
                if (name := str(path.relative_to(tests))) not in files:
                    files.append(name)
    return found


def table() -> str:
    marks = bound()
    lines = ["| case | rule | bound in (tests) | waits for |", "|---|---|---|---|"]
    for case in cases():
        where = ", ".join(f"`{path}`" for path in marks.get(case.id, ()))
        lines.append(f"| {case.id} | {case.title} | {where or NONE} | {case.waits or NONE} |")
    return "".join(f"{line}\n" for line in lines)


def readme_with(new: str) -> str:
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + new + END + after


if __name__ == "__main__":
    README.write_text(readme_with(table()), encoding="utf-8")
