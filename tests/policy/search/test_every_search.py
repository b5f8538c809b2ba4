"""What every search promises, whatever it minimises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.parameters import ParameterError, about
from tracekit.policy.search.function_study import parse_search
from tracekit.policy.search.problem import Problem
from tracekit.policy.search.searches import all_searches, get_search

SEARCHES = sorted(all_searches())
every_search = pytest.mark.parametrize("name", SEARCHES)


class Watched:
    """A cost that remembers where it was asked."""

    def __init__(self, centre: float) -> None:
        self.centre, self.asked, self.calls = centre, 0, 0
        self.low, self.high = np.inf, -np.inf

    def __call__(self, at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.calls += 1
        self.asked += len(at)
        self.low, self.high = min(self.low, at.min()), max(self.high, at.max())
        assert np.isfinite(at).all()
        return np.asarray(np.square(at - self.centre).sum(axis=1))


def problem(cost: Any, dimensions: int = 5) -> Problem:
    return Problem(lower=np.full(dimensions, -2.0), upper=np.full(dimensions, 3.0), cost=cost)


@every_search
def test_it_is_documented(name: str) -> None:
    kind = all_searches()[name]
    assert kind.search_source
    assert kind.__doc__
    assert all(note.doc.endswith(".") for note in about(kind).values())


@every_search
@pytest.mark.parametrize("dimensions", [1, 5])
def test_it_stays_in_the_box_and_never_gets_worse(name: str, dimensions: int) -> None:
    cost = Watched(1.0)
    search = get_search(name)(iterations=40, patience=0)
    result = search.minimize(problem(cost, dimensions), np.random.default_rng(4))
    assert cost.low >= -2.0
    assert cost.high <= 3.0
    assert (np.diff(result.curve) <= 0).all()
    assert len(result.curve) == 41
    assert result.cost == result.curve[-1] < 0.5 * result.curve[0]
    assert result.cost == pytest.approx(float(np.square(result.position - 1.0).sum()))
    assert result.evaluations == cost.asked
    assert cost.calls <= 41 * 6, "one call for the whole population, not one for each"


@every_search
def test_same_seed_same_answer(name: str) -> None:
    search = get_search(name)(iterations=10)
    first, again, other = (
        search.minimize(problem(Watched(0.7)), np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first.position.tolist() == again.position.tolist()
    assert first.curve.tolist() == again.curve.tolist()
    assert first.position.tolist() != other.position.tolist()


@every_search
def test_it_stops_when_nothing_gets_better(name: str) -> None:
    flat = problem(lambda at: np.zeros(len(at)))
    result = get_search(name)(iterations=100, patience=7).minimize(flat, np.random.default_rng(0))
    assert len(result.curve) == 8
    whole = get_search(name)(iterations=20, patience=0).minimize(flat, np.random.default_rng(0))
    assert len(whole.curve) == 21


@every_search
def test_two_candidates_are_enough_and_one_is_not(name: str) -> None:
    kind = get_search(name)
    result = kind(population=2, iterations=5).minimize(
        problem(Watched(0.0)), np.random.default_rng(0)
    )
    assert np.isfinite(result.cost)
    with pytest.raises(ParameterError, match="population"):
        kind(population=1)
    with pytest.raises(ParameterError, match="iterations"):
        kind(iterations=0)


@every_search
def test_an_error_of_the_objective_comes_through(name: str) -> None:
    class OwnError(Exception):
        pass

    cost = Watched(0.0)

    def failing(at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if cost.calls == 4:
            raise OwnError
        return cost(at)

    with pytest.raises(OwnError):
        get_search(name)(patience=0).minimize(problem(failing), np.random.default_rng(0))
    assert cost.calls == 4


def test_an_objective_that_is_infinite_everywhere() -> None:
    nowhere = problem(lambda at: np.full(len(at), np.inf))
    result = get_search("tpso")(iterations=3).minimize(nowhere, np.random.default_rng(0))
    assert result.cost == np.inf
    assert ((result.position >= -2.0) & (result.position <= 3.0)).all()


@every_search
def test_an_objective_that_gives_nan_is_refused(name: str) -> None:
    bad = problem(lambda at: np.where(at[:, 0] > 0.5, np.nan, 1.0))
    with pytest.raises(TracekitError):
        get_search(name)(iterations=50, patience=0).minimize(bad, np.random.default_rng(0))


@pytest.mark.parametrize("name", sorted(all_searches()))
def test_it_stops_at_its_accuracy_and_not_before(name: str) -> None:
    bowl = problem(lambda positions: (positions**2).sum(axis=1))
    whole = get_search(name)(iterations=40, patience=0).minimize(bowl, np.random.default_rng(0))
    goal = float(whole.curve[20])
    result = parse_search(f"{name}[iterations=40,patience=0,accuracy={goal!r}]").minimize(
        bowl, np.random.default_rng(0)
    )
    first = int(np.flatnonzero(whole.curve <= goal)[0])
    assert result.curve.tolist() == whole.curve[: max(first, 1) + 1].tolist()
