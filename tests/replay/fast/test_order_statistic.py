"""The value at a rank is the one that sorting puts there."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from tracekit.replay.fast.sampling import PARTS, order_statistic

NO_NUMBERS = some.sampled_from([np.nan, np.inf, -np.inf])
VALUES = (
    some.floats(-1e300, 1e300)
    | some.floats(0, 2)
    | some.sampled_from([0.0, 0.5, 5e-324])
    | NO_NUMBERS
)


@given(arrays(np.float64, some.integers(1, 60), elements=VALUES), some.data())
def test_it_is_what_sorting_gives(values: np.ndarray, data: some.DataObject) -> None:
    values += 0.0  # no -0.0: sorting does not tell it from 0.0, and the test would
    rank = data.draw(some.integers(0, len(values) - 1))
    low, high = np.inf, -np.inf
    for value in values:  # as a sampler finds them: nodes without capacity are no numbers
        low, high = min(low, value), max(high, value)
    np.testing.assert_equal(order_statistic(values, rank, low, high), np.sort(values)[rank])


def test_values_of_one_part_are_told_apart() -> None:
    values = np.concatenate([[0.0, 1.0], 0.5 + np.arange(3 * PARTS) / 1e9])
    for rank in (0, 1, 700, len(values) - 1):
        assert order_statistic(values, rank, 0.0, 1.0) == np.sort(values)[rank]
