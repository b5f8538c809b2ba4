"""The test-function study: its frames, its rank test, and what it finds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tracekit.base.study import Study
from tracekit.policy.search import FunctionStudy
from tracekit.policy.search.function_study import (
    arrived,
    study_functions,
)
from tracekit.policy.search.problem import against, holm, mean_ranks

SMALL = FunctionStudy(dimensions=4, runs=6, iterations=30, population=12)


@pytest.fixture(scope="module")
def small() -> Study:
    return study_functions(SMALL, functions=["sphere", "rastrigin"])


def test_every_search_on_every_copy(small: Study) -> None:
    runs, summary = small.frames["runs"], small.frames["summary"]
    assert runs.height == 5 * 2 * 3 * 6
    assert summary.height == 5 * 2 * 3
    merged = runs.group_by("function", "variant", "search").agg(
        pl.col("cost").min().alias("least"), pl.col("cost").max().alias("most")
    )
    both = summary.join(merged, on=["function", "variant", "search"])
    assert (both["best"] == both["least"]).all()
    assert (both["worst"] == both["most"]).all()
    ranks = summary.group_by("function", "variant").agg(pl.col("mean_rank").mean())
    assert ranks["mean_rank"].to_list() == pytest.approx([(5 * 6 + 1) / 2] * 6)


def test_at_equal_evaluations_everybody_has_as_many(small: Study) -> None:
    """The audit's finding: at equal iterations TBESK evaluates more than twice what tPSO does."""
    spent, equal = (
        small.frames[name].pivot("search", index=["function", "variant"], values="evaluations_mean")
        for name in ("summary", "equal_evaluations")
    )
    assert (spent["tbesk"] > 2 * spent["tpso"]).all()
    for row in equal.iter_rows(named=True):
        numbers = [value for name, value in row.items() if name not in {"function", "variant"}]
        assert min(numbers) > 0.9 * max(numbers)
    own = pl.col("search") == "tbesk"
    columns = ("function", "variant", "best", "mean", "worst")
    summary, equal_summary = (
        small.frames[name].filter(own).select(columns) for name in ("summary", "equal_evaluations")
    )
    assert summary.equals(equal_summary)


@pytest.mark.slow
def test_same_seed_same_frames(small: Study) -> None:
    again = study_functions(SMALL, functions=["sphere", "rastrigin"])
    assert all(again.frames[name].equals(frame) for name, frame in small.frames.items())


def test_bald_eagles_owe_the_sphere_to_the_origin() -> None:
    study = FunctionStudy(dimensions=10, runs=5, iterations=100)
    runs = study_functions(study, searches=["bes"], functions=["sphere"]).frames["runs"]
    cost = dict(runs.group_by("variant").agg(pl.col("cost").median()).iter_rows())
    assert cost["original"] < 1e-30
    assert cost["shifted"] > 1e-3


@pytest.mark.parametrize(
    ("curve", "at"), [([5, 1e-9, 0], 1), ([0.0], 0), ([3, 2, 1], None)]
)  # fmt: skip
def test_arrival(curve: list[float], at: int | None) -> None:
    assert arrived(np.array(curve), 1e-8) == at


def test_ranks_and_their_test() -> None:
    low, high = np.arange(10.0), np.arange(10.0) + 100
    outcomes = against(low, {"worse one": high, "same": low.copy(), "better one": low - 100})
    assert [outcomes[name][1] for name in ("worse one", "same", "better one")] == [
        "better", "even", "worse",
    ]  # fmt: skip
    assert against(np.zeros(5), {"x": np.zeros(5)})["x"] == (1.0, "even")
    assert mean_ranks(np.array([[1.0, 2.0], [3.0, 3.0]])).tolist() == [1.5, 3.5]


def test_holm_is_stepwise() -> None:
    # sorted 0.01 0.02 0.03: times 3, 2, 1, never falling
    assert holm({"b": 0.03, "a": 0.01, "c": 0.02}) == pytest.approx(
        {"a": 0.03, "c": 0.04, "b": 0.04}
    )
    assert holm({"a": 0.9, "b": 0.8})["a"] == 1.0
