"""Totals over pieces against the same computed at once, by numpy and by counting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from callgraph_support import Record, rows_of
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.ledger import Totals, summary
from tracekit.analysis.callgraph.run import calls_frame, ledger_frame, traces_frame

durations = st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=12)


def totals_of(*pieces: pl.DataFrame) -> Totals:
    totals = Totals()
    for rows in pieces:
        graph = rebuild(rows)
        totals.add(calls_frame(graph), traces_frame(graph, rows), ledger_frame(graph))
    return totals


def star(times: list[int | None], caller: int | None = 1) -> list[Record]:
    """An entry that reaches service 1, and calls from there to service 2."""
    entry = Record(0, "0", None, "rpc", 1, 0, 1.0)
    below = [Record(0, f"0.{at}", caller, "db", 2, None, time) for at, time in enumerate(times)]
    return [entry, *below]


@pytest.mark.slow
@given(durations, durations)
def test_quantiles_of_edges_are_those_of_the_calls(
    one: list[int | None], other: list[int | None]
) -> None:
    totals = totals_of(rows_of({0: star(one)}), rows_of({1: star(other)}))
    edge = totals.edges().filter(pl.col("rpc_type") == "db").row(0, named=True)
    names = [time for time in (*one, *other) if time is not None]
    assert edge["calls"] == len(one) + len(other)
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        expected = pytest.approx(np.quantile(names, share)) if names else None
        assert edge[f"response_time_{name}_ms"] == expected
    assert edge["response_time_max_ms"] == max(names, default=None)


def test_weights_are_the_upstreams_shares_of_a_services_calls() -> None:
    calls = [
        *star([1, 1, 1]),
        Record(0, "0.8", 1, "rpc", 3, 0, 1.0),
        Record(0, "0.8.1", 3, "db", 2, None, 1.0),
        # below a gap nobody knows who calls; such a call has no weight
        Record(0, "0.9.1", None, "db", 2, None, 1.0),
    ]
    edges = totals_of(rows_of({0: calls})).edges()
    into = edges.filter(pl.col("downstream_key") == 2).sort("upstream_key", nulls_last=True)
    assert into.select("upstream_key", "calls", "weight").rows() == [
        (1, 3, 0.75),
        (3, 1, 0.25),
        (None, 1, None),
    ]


def test_services_and_traces() -> None:
    totals = totals_of(rows_of({0: star([1, 2]), 1: star([3])}), rows_of({2: star([4])}))
    assert totals.services().select("service_key", "calls", "traces", "calls_made").rows() == [
        (2, 4, 3, 0),
        (1, 3, 3, 4),
        (None, 0, 0, 3),
    ]
    counts = totals.traces()
    assert (counts["traces"], counts["calls"], counts["connected"]) == (3, 7, 3)
    assert (counts["unaffected"], counts["with_missing_calls"], counts["split"]) == (3, 0, 0)


def test_shapes_and_their_summary() -> None:
    totals = totals_of(rows_of({0: star([1, 2]), 1: star([3])}), rows_of({2: star([4])}))
    shapes = totals.shapes()
    assert shapes.filter(pl.col("measure") == "fan_out").select("value", "count").rows() == [
        (1, 2),
        (2, 1),
    ]
    table = {row[0]: row[1:] for row in summary(shapes).rows()}
    assert table["calls"] == (3, pytest.approx(7 / 3), 2, 3, 3, 3)
    assert table["depth"] == (3, 1.0, 1, 1, 1, 1)
