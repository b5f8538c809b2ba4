"""Rank correlation against scipy's, its interval against draws, and the words of its figures."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from tracekit.report.figures import get_figure
from tracekit.report.relation import relation

pairs = some.lists(some.tuples(some.integers(0, 9), some.integers(0, 9)), min_size=10, max_size=40)


@given(pairs)
def test_it_is_what_scipy_finds(drawn: list[tuple[int, int]]) -> None:
    first, second = (pl.Series(one) for one in zip(*drawn, strict=True))
    found = relation(first, second)
    if found is None:
        assert min(first.n_unique(), second.n_unique()) < 2
        return
    wanted = stats.spearmanr(first.to_numpy(), second.to_numpy()).statistic
    assert found.value == pytest.approx(wanted, abs=1e-12)
    assert -1 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_the_interval_covers_about_as_often_as_it_says(strength: float) -> None:
    """The true rank correlation of two normal numbers is 6 / pi * asin(r / 2)."""
    rng = np.random.Generator(np.random.PCG64(11))
    true = 6 / np.pi * np.arcsin(strength / 2)
    hits = 0
    for _ in range(400):
        first = rng.standard_normal(60)
        second = strength * first + (1 - strength**2) ** 0.5 * rng.standard_normal(60)
        found = relation(pl.Series(first), pl.Series(second))
        assert found is not None
        hits += found.low <= true <= found.high
    assert 0.92 <= hits / 400 <= 0.98


def test_too_few_or_level_ones_tell_nothing() -> None:
    assert relation(pl.Series(range(9)), pl.Series(range(9))) is None
    assert relation(pl.Series([1] * 20), pl.Series(range(20))) is None


def _cells(rows: list[tuple[int, str, float, int]]) -> pl.DataFrame:
    schema = ["containers", "resource", "bin_start", "nodes"]
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(all_cells=len(rows))


def test_the_figure_of_containers_answers_its_question() -> None:
    rows = [(at, "cpu", at / 20, 5) for at in range(10)]
    rows += [(at, "memory", 0.5 + 0.1 * (at % 2), 5) for at in range(10)]
    said = get_figure("containers_per_node").takeaway(_cells(rows))
    assert said.startswith("Nodes with more containers use more CPU (rank correlation 1.00 (")
    assert ", but use about as much memory (rank correlation 0.1" in said
    level = _cells([(3, "cpu", at / 20, 5) for at in range(10)])
    assert (
        get_figure("containers_per_node")
        .takeaway(level)
        .endswith("differ too little to tell whether more containers mean more use.")
    )


@pytest.mark.parametrize(
    ("slope", "said"), [(1.0, "busier on busier"), (-1.0, "less busy on busier"), (0.0, "about as")]
)
def test_the_figure_of_a_service_answers_its_question(slope: float, said: str) -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    at = np.linspace(0.1, 0.9, 40)
    noise = rng.permutation(40) / 1000
    frame = pl.DataFrame(
        {"service": "s", "container": "c", "node": "n", "node_cpu_mean": at,
         "cpu_mean": 0.5 + 0.1 * slope * at + noise, "stays": 40, "nodes": 40}
    )  # fmt: skip
    assert said in get_figure("service_placement").takeaway(frame)
