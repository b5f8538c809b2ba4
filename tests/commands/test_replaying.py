"""What replaying says of the orders of arrival before it begins."""

import pytest

from tracekit.commands._replaying import _cost


@pytest.mark.parametrize(("repeats", "for_interval"), [(2, False), (5, False), (6, True)])
def test_orders_too_few_for_an_interval_are_not_said_to_give_one(
    repeats: int, *, for_interval: bool
) -> None:
    said = _cost(2, 2, repeats)
    assert ("interval" in said) == for_interval
    assert ("6" in said) != for_interval
