"""The simulation set: chains that differ, containers of their own, calls that join with states."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import polars as pl
import pytest
from callgraph_support import Record, rows_of
from store_support import tiny_store

from tracekit.analysis.callgraph.chains import ANSWERED, Chain, ChainCounter, choose
from tracekit.analysis.callgraph.export import export
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.synth import write


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("export"), seed=2)


def chain(*edges: tuple[int, int], traces: int = 1) -> Chain:
    return Chain(edges=frozenset(edges), traces=traces, member=0)


AB, BC, CD, AC = (0, 1), (1, 2), (2, 3), (0, 2)


def test_the_most_frequent_chain_first_then_the_most_different() -> None:
    chains = [
        chain(AB, BC, traces=9),
        chain(AB, traces=8),
        chain(AB, BC, CD, traces=7),
        chain(CD, AC, traces=2),
        chain(CD, traces=1),
    ]
    many = dict.fromkeys(range(4), 99)
    # distances to the nearest chosen one: {CD,AC} 1; then {AB} and {CD} 0.5, the frequent first
    assert [c.traces for c in choose(chains, 5, many)] == [9, 2, 8, 1, 7]
    assert [c.traces for c in choose(chains, 2, many)] == [9, 2]
    assert choose([], 3, many) == []


def test_traces_with_the_same_edges_are_one_chain() -> None:
    def trace(calls_to_2: int, *, detour: bool = False) -> list[Record]:
        below = [Record(0, f"0.1.{n}", 1, "rpc", 2, 0, 1.0) for n in range(calls_to_2)]
        more = [Record(0, "0.2", 0, "rpc", 3, 0, 1.0)] if detour else []
        head = [Record(0, "0", None, "http", 0, 0, 1.0), Record(0, "0.1", 0, "rpc", 1, 0, 1.0)]
        return [*head, *below, *more]

    traces = [trace(1), trace(2), trace(2), trace(1, detour=True), [trace(1)[0]]]
    counter = ChainCounter(pl.Series([0, 1, 2, 3], dtype=pl.Int32))
    for number, records in enumerate(traces):
        counter.add(calls_frame(rebuild(rows_of({number: records}))))
    # two calls along the second edge are more frequent than one, and trace 1 was the first of them
    assert counter.chains() == [
        Chain(edges=frozenset({(0, 1), (1, 2)}), traces=3, member=1),
        Chain(edges=frozenset({(0, 1), (1, 2), (0, 3)}), traces=1, member=3),
    ]
    inside = ChainCounter(pl.Series([0, 1], dtype=pl.Int32))
    inside.add(calls_frame(rebuild(rows_of(dict(enumerate(traces))))))
    assert inside.chains() == [Chain(edges=frozenset({(0, 1)}), traces=4, member=0)]


@pytest.mark.slow
def test_the_files_join(store: Store, tmp_path: Path) -> None:
    done = export(store, tmp_path, chains=12)
    calls = pl.read_csv(tmp_path / "calltable.csv")
    states = pl.read_csv(tmp_path / "containerState.csv")
    chains = pl.read_csv(tmp_path / "chains.csv")
    assert calls.columns == ["timestamp", "UM", "DM", "calls"]
    assert states.columns == ["timestamp", "containerID", "cpuNeed", "memNeed"]
    assert (done.call_rows, done.state_rows) == (calls.height, states.height)
    assert (done.chains, done.containers) == (chains["chain"].n_unique(), chains.height)
    assert 1 < done.chains <= 12
    assert set(states["containerID"]) == set(chains["containerID"])
    assert chains["containerID"].is_unique().all()
    assert (calls["timestamp"] % 30_000 == 0).all()
    assert (states["cpuNeed"] <= 4).all()
    chain_of = dict(chains.select("containerID", "chain").rows())
    assert all(chain_of[up] == chain_of[down] for up, down in calls.select("UM", "DM").rows())


def test_needs_are_those_of_the_store(store: Store, tmp_path: Path) -> None:
    export(store, tmp_path, chains=5)
    usage = pl.concat([pl.read_parquet(p) for p in store.table_files("container_usage")])
    ids = pl.read_parquet(store.dimension_files("container"))
    expected = usage.join(ids, left_on="container_key", right_on="key").select(
        pl.col("time_ms").alias("timestamp"),
        pl.col("id").alias("containerID"),
        (pl.col("cpu_fraction") * 4).clip(upper_bound=4).alias("cpu"),
    )
    states = pl.read_csv(tmp_path / "containerState.csv")
    both = states.join(expected, on=["timestamp", "containerID"], how="left")
    assert both.height == states.height
    assert both["cpuNeed"].equals(both["cpu"].rename("cpuNeed"))


def test_calls_are_what_the_container_called_reports(store: Store, tmp_path: Path) -> None:
    """Row by row: the first rate of its own, half a minute of it, shared as in the sample."""
    export(store, tmp_path, chains=5)
    calls = pl.read_csv(tmp_path / "calltable.csv")
    keys = pl.read_parquet(store.dimension_files("container"))
    name = dict(keys.select("key", "id").rows())
    reported: dict[str, dict[str, dict[int, float]]] = {}
    for path in store.table_files("service_rate"):
        rows = pl.read_parquet(path, columns=["container_key", "metric", "time_ms", "value"])
        wanted = rows.filter(pl.col("metric").is_in(ANSWERED))
        for key, metric, time_ms, value in wanted.iter_rows():
            reported.setdefault(name[key], {}).setdefault(metric, {})[time_ms] = value
    rates = {
        one: next(by[metric] for metric in ANSWERED if metric in by) for one, by in reported.items()
    }
    by_rate = calls.filter(pl.col("DM").is_in(list(rates)))
    assert by_rate.height > 0
    totals = by_rate.group_by("timestamp", "DM").agg(pl.col("calls").sum())
    for timestamp, called, match in totals.iter_rows():
        minute = timestamp + (-timestamp) % 60_000
        assert match == pytest.approx(30 * rates[called][minute])
    per_edge = by_rate.group_by("timestamp", "DM", "UM").agg(pl.col("calls").sum())
    shares = per_edge.with_columns(
        share=pl.col("calls") / pl.col("calls").sum().over("timestamp", "DM")
    )
    assert shares.group_by("DM", "UM").agg(pl.col("share").std())["share"].max() < 1e-9  # type: ignore[operator]


def test_calls_to_whoever_reports_no_rate_are_those_of_the_sample(tmp_path: Path) -> None:
    write(tmp_path / "trace", preset="tiny", tables=["resource", "call"])
    ingest(tmp_path / "trace", tmp_path / "store")
    export(open_store(tmp_path / "store"), tmp_path / "out", chains=5)
    chains = pl.read_csv(tmp_path / "out" / "chains.csv")
    calls = pl.read_csv(tmp_path / "out" / "calltable.csv")
    assert (calls["calls"] % 1 == 0).all()
    chain_of = dict(chains.select("containerID", "chain").rows())
    seen = (
        calls.with_columns(chain=pl.col("UM").replace_strict(chain_of))
        .group_by("chain")
        .agg(pl.struct("UM", "DM").n_unique().alias("edges"), pl.col("calls").sum())
    )
    traces = dict(chains.select("chain", "traces").rows())
    # every trace of a chain calls along each of its edges at least once
    for number, edges, count in seen.select("chain", "edges", "calls").rows():
        assert count >= edges * traces[number]


def test_the_command(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["callgraph", str(store.path), "--export", str(tmp_path / "e"), "--chains", "3"]
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chains"] == 3
    assert {path.name for path in (tmp_path / "e").iterdir()} == {
        "calltable.csv",
        "chains.csv",
        "containerState.csv",
    }
    pairs = itertools.pairwise(pl.read_csv(tmp_path / "e" / "calltable.csv")["timestamp"])
    assert all(one <= other for one, other in pairs)
