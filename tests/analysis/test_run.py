"""Everything at once: what is there, what is missing, and that both agree with the queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from usage_support import random_usage, usage_store

from tracekit.analysis.results import all_results
from tracekit.analysis.run import Analysis, analyze, needs_a_choice
from tracekit.analysis.summary import summary
from tracekit.answer.analysis import facts_of_analysis
from tracekit.report.sentences import long
from tracekit.store.folder import Store
from tracekit.store.query import run
from tracekit.store.sqlfiles import all_queries

NODE_ONLY = {"usage/zone_summary", "zone_summary_confidence", "zones_confidence", "util_diff_tail"}
WITH_CONTAINERS = {"usage/containers_per_node", "node_cohorts_confidence", "service_sizes"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    nodes, containers = random_usage(np.random.Generator(np.random.PCG64(1)), steps=300)
    return usage_store(tmp_path_factory.mktemp("usage"), nodes=nodes, containers=containers)


@pytest.fixture(scope="module")
def analysis(store: Store) -> Analysis:
    return analyze(store)


def test_every_result_is_there_or_missing_for_a_reason(analysis: Analysis) -> None:
    recorded = all_queries().keys() | all_results().keys()
    present, missing = analysis.frames.keys(), analysis.missing.keys()
    names = {name for name, query in all_queries().items() if needs_a_choice(query)}
    assert names >= {"usage/node_series", "services/placement"}
    assert present | missing == recorded - names
    assert not present & missing
    assert present >= NODE_ONLY | WITH_CONTAINERS
    assert analysis.missing["services/demand"] == ("service_rate",)


@pytest.mark.slow
def test_queries_give_the_same_rows_as_alone(store: Store, analysis: Analysis) -> None:
    for name in analysis.frames.keys() & all_queries().keys():
        assert analysis.frames[name].equals(run(store, name)), name


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ("zone_summary", ["zone"]),
        ("node_cohorts", ["cohort"]),
        ("node_vs_container", ["level", "resource"]),
        ("change_causes", ["cause"]),
    ],
)
def test_intervals_are_around_the_means_of_the_tables(
    analysis: Analysis, table: str, keys: list[str]
) -> None:
    rows = analysis.frames[f"usage/{table}"]
    intervals = analysis.frames[f"{table}_confidence"]
    assert intervals.height
    wide = intervals.pivot("measure", index=keys, values="mean").sort(keys)
    for name in set(wide.columns) - set(keys):
        assert wide[name].to_list() == pytest.approx(rows[name].to_list(), abs=1e-8), name
    recorded = intervals.drop_nulls()
    assert (recorded["low"] <= recorded["mean"] + 1e-9).all()
    assert (recorded["mean"] <= recorded["high"] + 1e-9).all()


def test_the_same_seed_gives_the_same_bytes(store: Store, analysis: Analysis) -> None:
    again, other = analyze(store), analyze(store, seed=1)
    name = "zone_summary_confidence"
    assert all(analysis.frames[key].equals(frame) for key, frame in again.frames.items())
    assert not other.frames[name].equals(analysis.frames[name])
    assert other.frames[name]["mean"].equals(analysis.frames[name]["mean"])


@pytest.mark.parametrize("absent", ["node_usage", "container_usage"])
def test_a_missing_table_takes_only_what_needs_it(absent: str, tmp_path: Path) -> None:
    nodes, containers = random_usage(np.random.Generator(np.random.PCG64(1)))
    given = {"nodes": nodes, "containers": containers}
    del given["nodes" if absent == "node_usage" else "containers"]
    analysis = analyze(usage_store(tmp_path, **given))
    assert absent in analysis.missing["service_sizes"]
    assert absent in analysis.missing["usage/node_vs_container"]
    left = {"usage/container_profile"} if absent == "node_usage" else NODE_ONLY
    assert left <= analysis.frames.keys()
    lacking = [one for one in facts_of_analysis(analysis) if one.because == "results_lacking"]
    assert any(absent in str(one.about["tables"]) for one in lacking)
    assert any("usage/node_vs_container" in str(one.about["results"]) for one in lacking)


def one_node(nodes: pl.DataFrame) -> pl.DataFrame:
    return nodes.filter(node="n0")


def one_step(nodes: pl.DataFrame) -> pl.DataFrame:
    return nodes.filter(pl.col("time_ms") == 0)


def constant(nodes: pl.DataFrame) -> pl.DataFrame:
    return nodes.with_columns(cpu=pl.lit(0.5), memory=pl.lit(0.7))


ODD: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], set[str]]] = {
    "one node": (one_node, {"A", "B", "C"}),
    "one step": (one_step, {"too_short"}),
    "constant": (constant, {"U"}),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_traces_give_sensible_answers(odd: str, tmp_path: Path) -> None:
    change, zones = ODD[odd]
    nodes, containers = random_usage(np.random.Generator(np.random.PCG64(1)))
    nodes, containers = change(nodes), change(containers)
    analysis = analyze(usage_store(tmp_path, nodes=nodes, containers=containers))
    frames = analysis.frames
    assert set(frames["usage/zone_summary"]["zone"]) <= zones
    assert frames["usage/zone_summary"]["nodes"].sum() == nodes["node"].n_unique()
    assert frames["zones_confidence"].height == nodes["node"].n_unique()
    assert "told" not in frames["service_sizes"]["verdict"].to_list()
    for name, frame in frames.items():
        floats = frame.select(pl.selectors.float())
        assert not any(frame[column].is_nan().any() for column in floats.columns), name
    assert list(summary(analysis))
    assert all(map(long, facts_of_analysis(analysis)))


def test_rows_given_twice_change_nothing(analysis: Analysis, tmp_path: Path) -> None:
    nodes, containers = random_usage(np.random.Generator(np.random.PCG64(1)), steps=300)
    twice = usage_store(
        tmp_path, nodes=pl.concat([nodes, nodes]), containers=pl.concat([containers, containers])
    )
    for name, frame in analyze(twice).frames.items():
        if not name.startswith("quality/"):
            assert frame.equals(analysis.frames[name]), name


@pytest.mark.parametrize(
    ("name", "frame", "expected"),
    [
        ("zone_trends", pl.DataFrame({"zone": ["A"], "falling_share": [0.0]}), []),
        (
            "services/demand",
            pl.DataFrame({"r_squared": [0.5], "cpu_per_call": [0.1]}),
            [("demand", 0.5)],
        ),
        (
            "zones_confidence",
            pl.DataFrame({"other_zone_probability": [0.0, 0.01]}),
            [("zones_certain", 0)],
        ),
    ],
)
def test_no_fact_is_of_none(
    name: str, frame: pl.DataFrame, expected: list[tuple[str, float]]
) -> None:
    facts = list(facts_of_analysis(Analysis(frames={name: frame}, missing={})))
    assert [(one.because, one.value) for one in facts] == expected
    assert all(one.about.get("falling") is None for one in facts)
