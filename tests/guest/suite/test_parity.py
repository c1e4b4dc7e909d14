# SPDX-License-Identifier: GPL-2.0-only
"""The same calls in the same order, on the driver's nodes and through gpushare: equal answers.

Declared differences are data with a reason each: differences.py.
"""

from __future__ import annotations

from tests.guest.rm.genl import Genl
from tests.guest.rm.node import Nodes
from tests.guest.rm.tenant import KernelCard, tenant
from tests.guest.suite.differences import DECLARED
from tests.guest.suite.script import Script


def _answers(nodes: Nodes, card: KernelCard, other: KernelCard) -> dict[str, object]:
    script = Script(nodes, card, other)
    try:
        return script.run()
    finally:
        script.close()


def test_same_calls_have_the_same_answers(
    genl: Genl, card: KernelCard, other_card: KernelCard
) -> None:
    driver = _answers(Nodes.real(), card, other_card)
    with tenant(genl, "c1", {card.uuid: card.grantable // 2}) as owner:
        through = _answers(owner.nodes, card, other_card)
        owner.settled()
    assert list(driver) == list(through)
    different = {name for name in driver if driver[name] != through[name]}
    undeclared = [
        f"{name}: driver {driver[name]!r}, gpushare {through[name]!r}"
        for name in sorted(different - set(DECLARED))
    ]
    assert not undeclared, "\n".join(undeclared)
    unfounded = set(DECLARED) - different
    assert not unfounded, f"declared, but equal: {unfounded}"
    failed = [name for name, answer in driver.items() if str(answer).startswith(("status", "E"))]
    assert len(failed) < len(driver) / 2, f"the script itself is broken: {failed}"
