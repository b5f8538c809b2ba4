"""How ties are broken."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.policy.view.choice import best


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (np.array([1, 3, 3]), 1),
        (np.array([-5]), 0),
        (np.array([0.1 + 0.2, 0.3]), 0),  # equal after rounding, though 0.1 + 0.2 > 0.3
        (np.array([0.3, 0.1 + 0.2]), 0),
        (np.array([0.3, 0.3 + 1e-9]), 1),
    ],
)
def test_first_of_the_highest(scores: np.ndarray, expected: int) -> None:
    assert best(scores, "first", np.random.default_rng(0)) == expected


def test_reservoir_is_even_over_the_highest_only() -> None:
    rng = np.random.default_rng(1)
    scores = np.array([7, 1, 7, 7, 0, 7])
    chosen = [best(scores, "reservoir", rng) for _ in range(4000)]
    counts = np.bincount(chosen, minlength=6)
    assert counts[[1, 4]].tolist() == [0, 0]
    # 1000 each, standard deviation 27
    assert np.abs(counts[[0, 2, 3, 5]] - 1000).max() < 5 * 27
