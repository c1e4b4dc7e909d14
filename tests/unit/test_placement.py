# SPDX-License-Identifier: GPL-2.0-only
"""Which card is meant."""

from __future__ import annotations

import pytest

from gpushare.errors import InvalidInput, NoRoom, NotFound
from gpushared.nvml_types import NvmlAnswer, NvmlCard
from gpushared.placement import Card, choose, indexed, resolve
from tests.fakes.kernel import GIB, card

NONE = NvmlAnswer(reason="no library")


def cards() -> tuple[Card, ...]:
    return indexed([card(1), card(0)], NONE)


def nvml(*numbers: int) -> NvmlAnswer:
    return NvmlAnswer(
        cards=tuple(
            NvmlCard(index=index, uuid=card(number).uuid, name="x", utilisation_percent=None)
            for index, number in enumerate(numbers)
        )
    )


def test_without_nvml_the_order_is_that_of_the_bus() -> None:
    assert [one.kernel.minor for one in cards()] == [0, 1]


def test_nvml_decides_the_order_when_it_knows_all_cards() -> None:
    assert [one.kernel.minor for one in indexed([card(0), card(1)], nvml(1, 0))] == [1, 0]


def test_nvml_that_knows_only_some_cards_does_not_decide() -> None:
    found = indexed([card(0), card(1)], nvml(1))
    assert [one.kernel.minor for one in found] == [0, 1]
    assert found[1].nvml is not None


@pytest.mark.parametrize(
    "selector", ["1", "nvidia1", "/dev/nvidia1", "0000:02:00.0", "GPU-00000001", "gpu-00000001"]
)
def test_a_card_has_several_names(selector: str) -> None:
    assert resolve(cards(), selector).kernel.uuid == card(1).uuid


def test_the_whole_uuid_is_a_name() -> None:
    assert resolve(cards(), card(1).uuid).index == 1


@pytest.mark.parametrize("selector", ["2", "nvidia7", "GPU-ffffffff", "x", "-1", "GPU-"])
def test_an_unknown_card_is_refused_with_the_known_ones(selector: str) -> None:
    with pytest.raises(NotFound) as caught:
        resolve(cards(), selector)
    assert card(0).uuid in caught.value.hint


def test_a_prefix_of_two_cards_is_refused() -> None:
    with pytest.raises(InvalidInput, match="fits 2 cards"):
        resolve(cards(), "GPU-0000")


def test_the_default_is_the_card_with_most_to_grant() -> None:
    crowded = card(0).model_copy(update={"granted_bytes": 4 * GIB})
    found = indexed([crowded, card(1)], NONE)
    assert choose(found, selector=None, quota_bytes=GIB).index == 1


def test_no_default_when_nothing_fits() -> None:
    with pytest.raises(NoRoom) as caught:
        choose(cards(), selector=None, quota_bytes=16 * GIB)
    assert "16GiB were asked, card 0 can grant 15.5GiB of 15.5GiB" in str(caught.value)


def test_no_default_without_cards() -> None:
    with pytest.raises(NotFound, match="no card"):
        choose((), selector=None, quota_bytes=GIB)
