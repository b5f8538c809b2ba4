"""From usage tables to a workload: axis, gaps, arrivals, background, assumptions."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from plain_trace import usage_store, workload_from_frames
from replay_support import fields_of
from tests_support import TraceFolder, hex_id

from tracekit.base.arrays import stream
from tracekit.base.errors import TracekitError
from tracekit.cluster.assumptions import Assumptions, parse_assumptions
from tracekit.cluster.gangs import rearranged
from tracekit.cluster.source import source_of
from tracekit.cluster.trace import tables
from tracekit.cluster.trace.amounts import call_rates, with_network_and_disk
from tracekit.cluster.trace.workload import workload_from_store
from tracekit.cluster.workload import Workload
from tracekit.commands.shell import run
from tracekit.store.folder import open_store

S = 30_000
SMALL = {"node_cpu_cores": 10.0, "node_memory_bytes": 1000, "request_cpu_cores": 2.0,
         "request_memory_bytes": 100}  # fmt: skip


def nodes(rows: Sequence[tuple[int | None, str | None, float, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        rows,
        schema={"time_ms": pl.Int64, "node": pl.String, "cpu_fraction": pl.Float64,
                "memory_fraction": pl.Float64},
        orient="row",
    )  # fmt: skip


def containers(rows: Sequence[tuple[int, str, str | None, float, float]]) -> pl.DataFrame:
    """Rows of (time, container, node, cpu, memory); the service is the container's first letter."""
    return pl.DataFrame(
        [(time, name[0], name, node, cpu, memory) for time, name, node, cpu, memory in rows],
        schema={"time_ms": pl.Int64, "service": pl.String, "container": pl.String,
                "node": pl.String, "cpu_fraction": pl.Float64, "memory_fraction": pl.Float64},
        orient="row",
    )  # fmt: skip


def made(node_rows: Sequence[Any], container_rows: Sequence[Any], **assumed: Any) -> Workload:
    assumptions = Assumptions(**{**SMALL, "edge_steps": 0, "arrivals": "recorded", **assumed})
    return of_frames([nodes(node_rows)], [containers(container_rows)], assumptions)


def of_frames(
    node_parts: list[pl.DataFrame],
    container_parts: list[pl.DataFrame],
    assumptions: Assumptions,
    seed: int = 0,
) -> Workload:
    """The workload of a store of these parts; that of their rows as frames must be the same."""
    load = from_parts(node_parts, container_parts, assumptions, seed)
    plain = from_rows(node_parts, container_parts, assumptions, seed)
    assert_same(load, plain)
    return load


def from_parts(
    node_parts: list[pl.DataFrame],
    container_parts: list[pl.DataFrame],
    assumptions: Assumptions,
    seed: int = 0,
) -> Workload:
    """Of a store, with few rows in a row group and few that are sorted at once."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tables, "_SORTED_ROWS", 9):
        store = usage_store(Path(folder), node_parts, container_parts, group_rows=7)
        return workload_from_store(store, assumptions, stream(seed, "workload"))


def from_rows(
    node_parts: list[pl.DataFrame],
    container_parts: list[pl.DataFrame],
    assumptions: Assumptions,
    seed: int = 0,
) -> Workload:
    """Of frames, in the plain way."""
    return workload_from_frames(
        pl.concat(node_parts), pl.concat(container_parts), assumptions, stream(seed, "workload")
    )


def assert_same(load: Workload, plain: Workload) -> None:
    """Every field to the last bit, but the name and the quantities, which only a store has."""
    expected = fields_of(plain)
    for name, ours in fields_of(load).items():
        if name not in ("name", "provenance.quantities"):
            if isinstance(ours, np.ndarray):
                assert ours.dtype == expected[name].dtype, name
                np.testing.assert_array_equal(ours, expected[name], err_msg=name)
            else:
                assert ours == expected[name], name


STEADY = [(at * S, name, "n1", 0.5, 0.25) for name in ("a1", "b1") for at in range(5)]


def test_sizes_requests_and_usage() -> None:
    load = made([(at * S, "n1", 0.5, 0.5) for at in range(5)], STEADY)
    assert load.use.step_ms == S
    assert load.use.times_ms.tolist() == [0, S, 2 * S, 3 * S, 4 * S]
    assert load.nodes.capacity.tolist() == [[10_000, 1000]]
    assert load.containers.request.tolist() == [[2000, 100]] * 2
    assert load.containers.limit.tolist() == [[3000, 150]] * 2
    assert load.use.values[:, :, 0].tolist() == [[1000.0] * 5, [25.0] * 5]
    assert sorted(load.containers.services) == ["a", "b"]
    # 0.5 of the node less two containers of 1000 millicores, 25 bytes
    assert load.use.background[:, 0, 0].tolist() == [3000.0, 450.0]


def test_background_is_never_negative_and_zero_where_not_measured() -> None:
    load = made([(0, "n1", 0.01, 0.01), (S, "n1", 0.01, 0.01)], [*STEADY, (0, "c1", "n2", 1, 1)])
    assert load.nodes.ids == ("n1", "n2")
    assert load.use.background.tolist() == np.zeros((2, 5, 2)).tolist()
    assert load.provenance.facts["nodes_without_usage"] == 1


def test_gaps_are_held_between_first_and_last_sample() -> None:
    rows = [(0, "a1", "n1", 0.1, 0.1), (S, "a1", "n1", 0.2, 0.1), (3 * S, "a1", "n1", 0.4, 0.1)]
    load = made([], [*STEADY, *[(t, "c1", node, cpu, m) for t, _, node, cpu, m in rows]])
    at = load.containers.ids.index("c1")
    assert load.use.values[0, :, at].tolist() == pytest.approx(
        [200, 400, 400, 800, np.nan], nan_ok=True
    )
    assert load.containers.departure_ms[at] == 4 * S
    assert load.provenance.facts["container_steps_held"] == 1


def test_a_stray_timestamp_does_not_stretch_the_axis() -> None:
    node_rows = [(at * S, f"n{n}", 0.5, 0.5) for n in range(50) for at in range(5)]
    load = made([(35_820_000, "n1", 0.5, 0.5), *node_rows], STEADY)
    assert len(load.use.times_ms) == 5
    assert load.provenance.facts["rows_stray"] == 1


def test_a_long_outage_is_no_stray() -> None:
    late = [(time + 100 * S, *rest) for time, *rest in STEADY]
    load = made([], [*STEADY, *late])
    assert load.use.times_ms[-1] == 104 * S
    assert load.provenance.facts["rows_stray"] == 0


def test_a_thin_sample_keeps_the_grid_of_its_times() -> None:
    """Six containers with one sample each, one with two: five steps apart is no step."""
    rows = [(at * S, f"a{at}", "n1", 0.5, 0.5) for at in range(6)]
    assert made([], [*rows, (5 * S, "a0", "n1", 0.5, 0.5)]).use.step_ms == S


def test_incomplete_rows_are_left_out_and_counted() -> None:
    load = made([(None, "n1", 0.5, 0.5), (0, None, 0.5, 0.5)], [*STEADY, (0, "c", None, 1, 1)])
    assert load.containers.count == 2
    assert load.provenance.facts["rows_incomplete"] == 3


def test_nothing_to_replay() -> None:
    with pytest.raises(TracekitError, match="container"):
        made([(0, "n1", 0.5, 0.5)], [])


def test_spread_arrivals_share_the_span_in_seeded_order() -> None:
    rows = [(at * S, f"a{n}", "n1", 0.5, 0.5) for n in range(4) for at in range(10)]
    load = made([], rows, arrivals="spread", arrival_span_ms=4000)
    assert load.containers.arrival_ms.tolist() == [0, 1000, 2000, 3000]
    assert load.use.settled_ms == 3000
    assert set(load.containers.departure_ms.tolist()) == {10 * S}
    other = of_frames([nodes([])], [containers(rows)], Assumptions(arrivals="spread"), seed=5)
    assert load.containers.ids != other.containers.ids
    assert sorted(load.containers.ids) == sorted(other.containers.ids)


def test_who_shares_the_span_may_share_it_in_another_order() -> None:
    """a1 and b1 are there throughout; c1 comes later and keeps its time."""
    rows = [*STEADY, *((at * S, "c1", "n1", 0.5, 0.25) for at in (2, 3, 4))]
    load = made([], rows, arrivals="spread", arrival_span_ms=2 * S)
    free = dict(zip(load.containers.ids, load.containers.exchangeable, strict=True))  # type: ignore[arg-type]
    assert free == {"a1": True, "b1": True, "c1": False}
    assert not np.isnan(load.use.values[:, :, load.containers.ids.index("b1")]).any()
    orders = {rearranged(load, stream(seed, "x")).containers.ids for seed in range(6)}
    assert orders == {("a1", "b1", "c1"), ("b1", "a1", "c1")}
    plain = made([], rows, arrivals="recorded")
    assert plain.containers.exchangeable is not None
    assert not plain.containers.exchangeable.any()


def test_the_span_is_at_most_half_of_the_trace() -> None:
    load = made([], STEADY, arrivals="spread")
    assert load.provenance.assumptions["arrival_span_used_ms"] == 5 * S // 2
    assert load.provenance.assumptions["arrival_span_ms"] == 7_200_000


def test_who_comes_later_arrives_when_first_seen() -> None:
    rows = [*STEADY, (3 * S, "c1", "n1", 0.5, 0.5)]
    load = made([], rows, arrivals="spread", arrival_span_ms=1000)
    at = load.containers.ids.index("c1")
    assert (load.containers.arrival_ms[at], load.containers.departure_ms[at]) == (3 * S, 4 * S)


def test_the_edges_of_the_trace_are_wide() -> None:
    """Seen first at the second step and last at the third: there from start to end."""
    load = made([], [*STEADY, (S, "c1", "n1", 0.5, 0.5), (2 * S, "c1", "n1", 0.7, 0.5)],
                edge_steps=2)  # fmt: skip
    at = load.containers.ids.index("c1")
    assert load.containers.departure_ms[at] == 5 * S
    assert load.containers.arrival_ms[at] == S  # arrivals='recorded'
    assert load.use.values[0, 1:, at].tolist() == pytest.approx([1000, 1400, 1400, 1400])


def test_dedicated_nodes_are_scaled_to_the_target() -> None:
    load = made([(0, "n1", 0.9, 0.9)], STEADY, background="none", target_alloc_fraction=0.5)
    assert load.use.background.max() == 0
    # cpu is the scarcer one: 2 * 2000 of 0.5 * 8000; memory keeps the node's shape
    assert load.nodes.capacity.tolist() == [[8000, 800]]


times = some.one_of(
    some.integers(0, 9).map(lambda at: at * S),
    some.integers(0, 9 * S),
    some.integers(0, 9).map(lambda at: at * S + S // 2),
    some.just(10_000_000),
)
fractions = some.sampled_from([0.0, 0.1, 0.3, 1.7, float("nan"), None])
names = some.sampled_from(["n1", "n2", "n0", None])
node_rows = some.lists(some.tuples(times, names, fractions, fractions), max_size=25)
container_rows = some.lists(
    some.tuples(times, some.sampled_from(["b1", "a2", "a1", "c1", None]), names,
                fractions, fractions),
    max_size=40,
)  # fmt: skip


def parts(frame: pl.DataFrame, cuts: list[int], ordered: tuple[str, ...]) -> list[pl.DataFrame]:
    """The rows in parts; sorted, as an ingest leaves them, where an order is given."""
    edges = [0, *sorted(min(cut, frame.height) for cut in cuts), frame.height]
    results = [frame[start:end] for start, end in itertools.pairwise(edges)]
    return [part.sort(ordered, maintain_order=True) if ordered else part for part in results]


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    node_rows=node_rows,
    container_rows=container_rows,
    cuts=some.lists(some.integers(0, 40), max_size=3),
    ordered=some.booleans(),
    assumed=some.fixed_dictionaries(
        {
            "edge_steps": some.sampled_from([0, 2]),
            "arrivals": some.sampled_from(["spread", "recorded"]),
            "background": some.sampled_from(["keep", "none"]),
            "stray_share": some.sampled_from([0.01, 0.2]),
        }
    ),
)
def test_parts_of_any_rows_in_any_order_give_the_workload_of_their_frames(
    node_rows: list[Any],
    container_rows: list[Any],
    cuts: list[int],
    ordered: bool,
    assumed: Any,
) -> None:
    """Gaps, ties, several nodes, rows between the steps, strays, numbers that are none."""
    rows = [
        (time, None if name is None else f"{name[0]}s" if int(name[1]) % 2 else None, name, *rest)
        for time, name, *rest in container_rows
    ]
    schema = containers([]).schema
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    node_parts = parts(nodes(node_rows), cuts, ("node", "time_ms") if ordered else ())
    order = ("node", "container", "time_ms") if ordered else ()
    given_parts = node_parts, parts(frame, cuts, order), Assumptions(**{**SMALL, **assumed})
    try:
        plain = from_rows(*given_parts)
    except TracekitError:
        with pytest.raises(TracekitError):
            from_parts(*given_parts)
        return
    assert_same(from_parts(*given_parts), plain)


def test_assumptions_from_text() -> None:
    assert parse_assumptions(["node_memory_bytes=2GiB", "background=none"]) == Assumptions(
        node_memory_bytes=2 * 2**30, background="none"
    )
    with pytest.raises(TracekitError, match="'x'"):
        parse_assumptions(["x"])
    with pytest.raises(TracekitError, match="limit_factor"):
        parse_assumptions(["limit_factor=0.5"])


def test_real_rows(real_rows: Path) -> None:
    renamed = {"timestamp": "time_ms", "nodeid": "node", "node_cpu_usage": "cpu_fraction",
               "node_memory_usage": "memory_fraction", "msname": "service",
               "msinstanceid": "container", "instance_cpu_usage": "cpu_fraction",
               "instance_memory_usage": "memory_fraction"}  # fmt: skip
    tables = [
        pl.read_csv(real_rows / name).rename(renamed, strict=False)
        for name in ("Node_0.csv", "MSResource_0.csv")
    ]
    load = of_frames([tables[0]], [tables[1]], Assumptions())
    assert (load.containers.count, load.nodes.count, len(load.use.times_ms)) == (992, 1833, 11)
    assert load.provenance.facts["rows_stray"] == 1
    assert load.containers.recorded


GIB = 2**30
ASKED = ["network_and_disk=modelled", "kbit_per_call=100"]


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> str:
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    return str(tmp_path / "store")


def test_nothing_is_modelled_unless_asked(store: str) -> None:
    load = source_of(open_store(store), None, assume=[]).load()
    assert load.resources == ("cpu_milli", "memory_bytes")


def test_network_from_call_rates_and_disk_from_a_constant(store: str) -> None:
    """Container c is called 1.5 (c + 1) times a second, by the rows of the hand-made trace."""
    load = source_of(open_store(store), None, assume=ASKED).load()
    assert load.resources == ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit")
    assert load.nodes.capacity[0, 2:].tolist() == [3600 * GIB, 10_000_000]
    for number in range(6):
        at = load.containers.ids.index(hex_id("container", number))
        assert load.containers.request[at, 2:].tolist() == [20 * GIB, 150 * (number + 1)]
        assert load.containers.limit[at, 2:].tolist() == [30 * GIB, 225 * (number + 1)]
    assert load.provenance.facts["containers_without_call_rate"] == 0
    assert load.provenance.assumptions["kbit_per_call"] == 100.0


def test_dedicated_nodes_keep_their_shape(store: str) -> None:
    load = source_of(open_store(store), None, assume=[*ASKED, "background=none"]).load()
    share = load.nodes.capacity[0] / [104_000, 384 * GIB, 3600 * GIB, 10_000_000]
    assert share == pytest.approx([share[0]] * 4, rel=1e-4)


def test_without_call_rates_there_is_no_network(store: str) -> None:
    plain = source_of(open_store(store), None, assume=[]).load()
    load = with_network_and_disk(plain, parse_assumptions(ASKED), {})
    assert load.resources == ("cpu_milli", "memory_bytes", "disk_bytes")
    assert load.provenance.facts["containers_without_call_rate"] == 6


def test_a_container_without_rate_asks_for_none(store: str) -> None:
    plain = source_of(open_store(store), None, assume=[]).load()
    load = with_network_and_disk(plain, Assumptions(), {plain.containers.ids[0]: 2.0})
    assert load.containers.request[:, 3].tolist() == [160, 0, 0, 0, 0, 0]


def test_a_store_without_the_table_has_no_rates(traces: TraceFolder, tmp_path: Path) -> None:
    (traces.path / "MSRTQps_0.csv").unlink()
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    assert call_rates(open_store(tmp_path / "store")) == {}
