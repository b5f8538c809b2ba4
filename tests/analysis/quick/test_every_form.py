"""Quick forms of queries: the SQL says what is right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from store_support import tiny_store
from usage_support import STEP_MS, random_usage, usage_store

from tracekit.analysis.callgraph.parts import chunks
from tracekit.analysis.quick.forms import Quick, all_quick, quick_form, quick_rows
from tracekit.analysis.run import analyze
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database
from tracekit.store.sqlfiles import all_queries

#: How far a quick form may be from its SQL, at most.
ALMOST = 2e-12
CORRELATED = pl.DataFrame({"cpu": [0.1, 0.2, 0.3, 0.4] * 5, "memory": [0.3, 0.4, 0.5, 0.6] * 5})
#: Nodes that the definitions treat apart.
APART = {
    "constant": CORRELATED.with_columns(memory=0.5),
    "short": CORRELATED.head(9),
    "single": CORRELATED.head(1),
    "C": CORRELATED,
    "A": CORRELATED.with_columns(memory=1 - pl.col("memory")),
    "overcommitted": CORRELATED.with_columns(cpu=pl.col("cpu") * 3),
}


def _apart() -> pl.DataFrame:
    return pl.concat(
        rows.with_columns(node=pl.lit(node), time_ms=pl.int_range(pl.len()) * STEP_MS)
        for node, rows in APART.items()
    )


def _stray() -> pl.DataFrame:
    """A sample a day after the others, and rows in an order in which no node stays together."""
    late = pl.DataFrame({"cpu": [0.9], "memory": [0.1], "node": ["C"], "time_ms": [86_400_000]})
    return pl.concat([_apart(), late.select(_apart().columns)]).sample(
        fraction=1, shuffle=True, seed=1
    )


def _random(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Nodes and containers; every third container moves to another node half way."""
    rng = np.random.Generator(np.random.PCG64(seed))
    steps = int(rng.integers(1, 300))
    nodes, containers = random_usage(rng, nodes=int(rng.integers(1, 40)), steps=steps)
    moves = pl.col("container").str.slice(1).cast(pl.Int64) % 3 == 0
    later = pl.col("time_ms") > steps * STEP_MS // 2
    node = pl.when(moves & later).then(pl.lit("n_new")).otherwise("node")
    return nodes, containers.with_columns(node=node)


def _store(folder: Path, kind: str) -> Store:
    if kind == "apart":
        return usage_store(folder, nodes=_apart(), containers=_random(0)[1])
    if kind == "stray":
        return usage_store(folder, nodes=_stray(), containers=_random(0)[1])
    nodes, containers = _random(int(kind.removeprefix("random ")))
    return usage_store(folder, nodes=nodes, containers=containers)


@pytest.fixture(params=["apart", "stray", *(f"random {n}" for n in range(1, 7))])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return _store(tmp_path, request.param)


class Answers(NamedTuple):
    """The rows of a query: by its SQL, by its quick form, and as others then read the latter."""

    expected: pl.DataFrame
    found: pl.DataFrame
    kept: pl.DataFrame


def _answers(name: str, store: Store) -> Answers:
    query = all_queries()[name]
    with Database(store) as database:
        frames = {
            other.name: database.frame(other.text)
            for other in all_queries().values()
            if other.view_name in query.reads
        }
        expected = database.frame(query.text)
        found = quick_rows(all_quick()[name], store, database, frames)
        database.put(query, found)
        kept = database.frame(f"SELECT * FROM {query.view_name}")
    return Answers(expected, found, kept)


def _taken(name: str, store: Store) -> Quick | None:
    """The quick form that a store of any size gets."""
    return quick_form(all_queries()[name], store, from_rows=1)


@pytest.mark.parametrize(
    "name", [name for name, form in all_quick().items() if form.table != "call"]
)
def test_a_quick_form_gives_what_its_sql_gives(name: str, store: Store) -> None:
    assert _taken(name, store) is all_quick()[name]
    answers = _answers(name, store)
    assert answers.expected.height
    assert_frame_equal(answers.found, answers.expected, rel_tol=0, abs_tol=ALMOST)
    assert_frame_equal(answers.kept, answers.found, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("rows_at_once", [500, 5_000, 500_000])
def test_edges_of_many_ranges_are_those_of_the_sql(
    rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["tracekit.analysis.quick.forms.service_edges"]
    monkeypatch.setattr(module, "_TIMES_AT_ONCE", 1_000)
    monkeypatch.setattr(module, "chunks", lambda parts: chunks(parts, rows_at_once))
    store = tiny_store(tmp_path, seed=5)
    assert len(store.table_files("call")) > 1
    assert _taken("calls/service_edges", store) is all_quick()["calls/service_edges"]
    answers = _answers("calls/service_edges", store)
    assert answers.expected.height
    assert_frame_equal(answers.found, answers.expected, rel_tol=0, abs_tol=ALMOST)
    assert_frame_equal(answers.kept, answers.found, check_exact=True)
    assert answers.found["upstream"].null_count()
    assert answers.found.filter(pl.col("traces") > 10).height


def test_few_rows_and_medians_over_parts_are_left_to_the_sql(tmp_path: Path) -> None:
    query = all_queries()["usage/node_profile"]
    store = usage_store(tmp_path, nodes=_apart())
    assert quick_form(query, store) is None
    assert quick_form(query, store, from_rows=_apart().height) is not None
    assert quick_form(query, store, from_rows=_apart().height + 1) is None
    usage_store(tmp_path / "more", nodes=_random(1)[0])
    ingest(tmp_path / "more" / "traces", store.path)
    assert quick_form(query, open_store(store.path), from_rows=1) is None
    assert quick_form(all_queries()["usage/node_causes"], store, from_rows=1) is None


def test_analyze_takes_the_quick_form_of_a_large_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(tmp_path, "random 2")
    expected = analyze(store).frames
    there = {form.query for form in all_quick().values() if form.query in expected}
    assert len(there) == 1
    taken: list[str] = []

    def noted(form: Quick, *given: Any) -> pl.DataFrame:
        taken.append(form.query)
        return quick_rows(form, *given)

    work = "tracekit.analysis.work"
    monkeypatch.setattr(f"{work}.quick_form", lambda q, s: quick_form(q, s, from_rows=1))
    monkeypatch.setattr(f"{work}.quick_rows", noted)
    found = analyze(store).frames
    assert sorted(taken) == sorted(there)
    assert list(found) == list(expected)
    for name, frame in expected.items():
        assert_frame_equal(found[name], frame, check_exact=False, rel_tol=1e-9, abs_tol=1e-11)
