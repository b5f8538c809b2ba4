"""Stages of the searches with random numbers given, against worked examples and plain loops.

The numbers of the worked examples are those of the golden vectors, computed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.base.jit import compiled
from tracekit.policy.search import running
from tracekit.policy.search.eagles import (
    ACROSS,
    ALONG,
    Mutated,
    TbeskSearch,
    hunt,
    mean,
    search,
    select,
    spiral,
    swoop,
    wide_spiral,
)
from tracekit.policy.search.flock import (
    EVALUATIONS,
    EXACT,
    FAILED,
    STARTS,
    TENT,
    Flock,
    Tools,
    arrange,
    coin,
    draw,
    first_positions,
    mutate,
    propose,
    shuffle,
    tent,
    tent_rows,
)
from tracekit.policy.search.problem import Problem, all_functions, get_function
from tracekit.policy.search.problem import problem as problem_of
from tracekit.policy.search.searches import (
    attraction,
    built,
    chosen,
    fleeing_scout,
    hungry_scrounger,
    safe_producer,
    steered,
)

ROW = np.array([1.0, -2.0])
BEST = np.array([0.5, 0.5])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sphere", 5.25),
        ("schwefel_2_22", 4.5),
        ("rastrigin", 25.25),
        ("ackley", 5.9720297798871),
        ("griewank", 0.92054214732178),
    ],
)
def test_functions(name: str, value: float) -> None:
    function = all_functions()[name]
    assert function.values(np.array([[1.0, -2.0, 0.5]]))[0] == pytest.approx(value, abs=1e-9)
    assert function.values(np.zeros((1, 7)))[0] == pytest.approx(0.0, abs=1e-12)


def orbits(how: int, first: list[float], rows: int) -> np.ndarray:
    out = np.empty((rows, len(first)))
    tent_rows(how, np.array(first), out, np.random.default_rng(2))
    return out


def test_tent_rows_are_iterates() -> None:
    assert orbits(EXACT, [0.1], 8)[:, 0] == pytest.approx([0.2, 0.4, 0.8, 0.4, 0.8, 0.4, 0.8, 0.4])
    assert orbits(TENT, [0.37], 8)[:, 0] == pytest.approx(
        [0.739999963, 0.520000048, 0.95999985600001, 0.08000028399996, 0.1600005599999,
         0.32000110399973, 0.64000217599936, 0.7199956120015], abs=1e-9)  # fmt: skip


@pytest.mark.parametrize(("first", "steps"), [(0.1, 56), (0.37, 54), (0.123456789, 57)])
def test_the_printed_tent_map_dies_and_ours_does_not(first: float, steps: int) -> None:
    share, done = first, 0
    while share:
        share, done = tent(share, 2.0), done + 1
    assert done == steps
    rows = orbits(TENT, [first], 10_000)
    assert len(np.unique(rows)) == 10_000
    assert 0 < rows.min() <= rows.max() < 1


@pytest.mark.parametrize("how", ["uniform", "tent", "tent_perturbed"])
def test_starts_fill_the_box_evenly(how: str) -> None:
    rows, bounds = np.empty((2000, 4)), np.repeat([[-10.0], [10.0]], 4, axis=1)
    first_positions(STARTS.index(how), bounds, np.random.default_rng(1), rows)
    for quarter in (-10.0, -5.0, 0.0, 5.0):
        inside = ((rows >= quarter) & (rows < quarter + 5)).mean(axis=0)
        assert inside == pytest.approx(np.full(4, 0.25), abs=0.05)


def test_sparrows() -> None:
    assert [safe_producer(x, 1, 0.5, 100) for x in ROW] == pytest.approx(
        [0.98019867330676, -1.96039734661351]
    )
    assert [hungry_scrounger(x, 3.0, 20, 0.3) for x in ROW] == pytest.approx(
        [0.30150375625782, 0.30377353546219]
    )
    fled = [fleeing_scout(x, best, 1.2) for x, best in zip(ROW, BEST, strict=True)]
    assert fled == pytest.approx([1.1, 3.5])


def test_bowerbirds() -> None:
    moved = [built(x, other, best, 0.94, 0.25)
             for x, other, best in zip(ROW, (2.0, 0.0), BEST, strict=True)]  # fmt: skip
    assert moved == pytest.approx([1.188, -0.308])
    chances, sums = np.empty(3), np.empty(3)
    attraction(np.array([0.0, 1.0, -1.0]), chances, sums)
    assert chances == pytest.approx([1 / 3.5, 0.5 / 3.5, 2 / 3.5])
    assert sums == pytest.approx([1 / 3.5, 1.5 / 3.5, 1])
    draws = [0.0, 0.28, 0.29, 0.42, 0.43, 0.9999999, 1.0]
    assert [chosen(sums, draw) for draw in draws] == [0, 0, 1, 1, 2, 2, 2]


def test_particles() -> None:
    velocity = [
        steered(x, v, 0.7, (2 * own, 2 * common), bests)
        for x, v, own, common, bests in zip(
            ROW, (0.1, 0.2), (0.5, 0.25), (0.1, 0.3), ((0.8, 0.5), (-1.5, 0.5)), strict=True
        )
    ]
    assert velocity == pytest.approx([-0.23, 1.89])


@given(some.integers(0, 2**32), some.integers(2, 6), some.integers(1, 4))
def test_eagles_move_as_plain_loops_say(seed: int, eagles: int, dimensions: int) -> None:
    rng = np.random.default_rng(seed)
    at, best = rng.normal(size=(eagles, dimensions)), rng.normal(size=dimensions)
    middle, out = np.empty(dimensions), np.empty(at.shape)
    mean(at, middle)
    assert middle == pytest.approx(at.mean(axis=0), abs=1e-12)
    curve, wide = np.empty((2, eagles)), np.empty((2, eagles))
    spiral(8.0, 1.7, np.random.default_rng(seed), curve)
    wide_spiral(8.0, np.random.default_rng(seed), wide)
    turns, more = np.random.default_rng(seed).random((2, eagles))
    theta = 8.0 * math.pi * turns
    for compiled_rows, radius, parts in (
        (curve, theta + 1.7 * more, (math.sin, math.cos)),
        (wide, theta, (math.sinh, math.cosh)),
    ):
        for row, part in zip((ACROSS, ALONG), parts, strict=True):
            plain = [r * part(t) for r, t in zip(radius, theta, strict=True)]
            assert compiled_rows[row] == pytest.approx(np.array(plain) / max(abs(v) for v in plain))
    share = np.random.default_rng(seed).random(at.shape)
    select(at, best, middle, 1.7, np.random.default_rng(seed), out)
    picked = out.copy()
    search(at, middle, curve, out)
    searched = out.copy()
    pulls = np.array([1.5, 2.0])
    swoop(at, best, (middle, best), curve, pulls, np.random.default_rng(seed), out)
    for k in range(eagles):
        (x, y), following = curve[:, k], at[(k + 1) % eagles]
        for d in range(dimensions):
            own, m, b = at[k, d], middle[d], best[d]
            assert picked[k, d] == pytest.approx(b + 1.7 * share[k, d] * (m - own), abs=1e-9)
            moved = own + x * (own - m) + y * (own - following[d])
            assert searched[k, d] == pytest.approx(moved, abs=1e-9)
            down = share[k, d] * b + x * (own - 1.5 * m) + y * (own - 2 * b)
            assert out[k, d] == pytest.approx(down, abs=1e-9)


def sphere(positions: np.ndarray) -> np.ndarray:
    return np.asarray((positions**2).sum(axis=1))


def plain_flock(positions: np.ndarray, half: float) -> Flock:
    """A flock on the sphere, for a search's functions as they stand in the file."""
    costs = sphere(positions)

    def cost(proposed: np.ndarray, count: int, _: object, out: np.ndarray) -> int:
        out[:count] = sphere(proposed[:count])
        return 0

    return Flock(
        positions=positions.copy(),
        costs=costs,
        best=positions[costs.argmin()].copy(),
        best_cost=costs.min(keepdims=True),
        tally=np.zeros(2, dtype=np.int64),
        everybody=np.arange(len(costs)),
        proposed=np.empty_like(positions),
        proposed_costs=np.empty_like(costs),
        box=np.repeat([[-half], [half]], positions.shape[1], axis=1),
        more=np.empty((0, *positions.shape)),
        cost=cost,
        given=(),
    )


def test_candidates_move_where_it_is_better_and_stay_in_the_box() -> None:
    flock = plain_flock(np.array([[1.0, 2.0], [2.0, 2.0], [0.5, 0.5], [1.5, 0.0]]), 3.0)
    flock.proposed[:3] = [[math.nan, math.inf], [-1.0, 1.0], [0.0, -9.0]]
    propose(flock, np.array([1, 3, 0]))
    assert flock.proposed[:3].tolist() == [[-3.0, 3.0], [-1.0, 1.0], [0.0, -3.0]]
    assert flock.positions.tolist() == [[1.0, 2.0], [2.0, 2.0], [0.5, 0.5], [-1.0, 1.0]]
    assert flock.costs.tolist() == [5.0, 8.0, 0.5, 2.0]
    flock.proposed[0] = [0.0, 0.5]
    propose(flock, np.array([1]))
    assert (flock.best.tolist(), flock.best_cost.tolist()) == ([0.0, 0.5], [0.25])
    propose(flock, np.array([], dtype=np.int64))
    assert flock.tally[EVALUATIONS] == 4
    flock.tally[FAILED] = 1
    propose(flock, np.array([0]))
    assert flock.tally[EVALUATIONS] == 4


@pytest.mark.parametrize("rule", ["population", "proposed"])
def test_what_is_mutated_is_what_the_rule_says(rule: Mutated) -> None:
    """Eq 15: P_new^t = P_new + P_new t(n); or the flock, once who is better has moved."""
    positions = np.random.default_rng(1).uniform(-5, 5, (4, 3))
    flock = plain_flock(positions, 5.0)
    best = flock.best.copy()
    drawn = np.random.default_rng(2)

    class Stop(Exception):  # noqa: N818 - the end of the first stage
        pass

    def shuffle(_: np.ndarray, __: object) -> None:
        raise Stop

    tools = Tools(propose=propose, mutate=mutate, arrange=arrange, shuffle=shuffle)
    search = TbeskSearch(mutated=rule)
    with pytest.raises(Stop):
        hunt(flock, tools, np.array(search.numbers(), dtype=np.float64), 1, drawn)
    rng = np.random.default_rng(2)
    proposed = best + search.alpha * rng.random((4, 3)) * (positions.mean(axis=0) - positions)
    if rule == "population":
        inside = np.clip(proposed, -5, 5)
        better = sphere(inside) < sphere(positions)
        positions = np.where(better[:, None], inside, positions)
        proposed = positions.copy()
    mutant = np.clip(proposed + proposed * rng.standard_t(1, (4, 3)), -5, 5)
    better = sphere(mutant) < sphere(positions)
    assert flock.positions == pytest.approx(np.where(better[:, None], mutant, positions))
    assert flock.tally[EVALUATIONS] == (8 if rule == "population" else 4)
    assert not flock.tally[FAILED]


def test_the_printed_rule_does_worse_where_the_optimum_is_not_the_origin() -> None:
    """The audit's figures on the shifted sphere: 200 by the product's rule, 9,360 as printed."""
    costs = {}
    task = shifted("sphere", 30)
    for rule in ("population", "proposed"):
        search = TbeskSearch(population=30, iterations=200, patience=0, mutated=rule)
        costs[rule] = np.median(
            [search.minimize(task, np.random.default_rng(seed)).cost for seed in range(5)]
        )
    assert costs["proposed"] > 5 * costs["population"]


def shifted(name: str, dimensions: int) -> Problem:
    return problem_of(get_function(name), "shifted", dimensions, np.random.default_rng(0))


# Random numbers in compiled code: the same as numpy's own of the same seed, one after another.


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
        drawn, expected = np.zeros(shape), np.zeros(shape)
        rngs = [np.random.default_rng(seed), np.random.default_rng(seed)]
        quick(rngs[0], drawn) if function is not draw else quick(drawn, rngs[0])
        function(rngs[1], expected) if function is not draw else function(expected, rngs[1])
        assert drawn.tolist() == expected.tolist()
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state
