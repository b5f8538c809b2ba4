"""Random numbers in compiled code: the same as numpy's own of the same seed, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracekit.base.jit import compiled
from tracekit.policy.search import running
from tracekit.policy.search.flock import coin, draw, shuffle


def _draws(rng: Any, out: np.ndarray) -> None:
    for row in range(out.shape[1]):
        out[0, row] = rng.random()
        out[1, row] = rng.standard_normal()
        out[2, row] = rng.uniform(-1.0, 1.0)
        out[3, row] = rng.standard_t(row + 1)


def _coins(rng: Any, out: np.ndarray) -> None:
    for row in range(len(out)):
        out[row] = coin(rng)


def _orders(rng: Any, out: np.ndarray) -> None:
    for row in range(len(out)):
        order = np.empty(row + 1, np.int64)
        shuffle(order, rng)
        out[row, : row + 1] = order


@pytest.mark.parametrize(
    ("function", "shape"),
    [(_draws, (4, 400)), (_coins, (501,)), (_orders, (70, 70)), (draw, (5, 7))],
)
def test_compiled_draws_are_numpys(function: Callable[..., None], shape: tuple[int, ...]) -> None:
    quick = compiled(running._whole(function))
    for seed in range(20):
        found, expected = np.zeros(shape), np.zeros(shape)
        rngs = [np.random.default_rng(seed), np.random.default_rng(seed)]
        quick(rngs[0], found) if function is not draw else quick(found, rngs[0])
        function(rngs[1], expected) if function is not draw else function(expected, rngs[1])
        assert found.tolist() == expected.tolist()
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state
