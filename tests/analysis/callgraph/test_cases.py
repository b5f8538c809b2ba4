"""Small traces, each with one thing wrong, and what becomes of it in either mode."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from callgraph_support import Record, rows_of

from tracekit.analysis.callgraph import MODES, Mode
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame, ledger_frame, traces_frame

A, B, C, D, PROXY, CACHE = range(6)


def rpc(path: str, up: int | None, down: int | None, ms: float, *, interface: int = 0) -> Record:
    return Record(100, path, up, "rpc", down, interface, ms)


def twice(path: str, up: int | None, down: int | None, ms: float = 5) -> list[Record]:
    return [rpc(path, up, down, ms), rpc(path, up, down, -ms)]


def mc(path: str, up: int | None, ms: float = 0) -> Record:
    return Record(100, path, up, "mc", CACHE, None, ms)


ENTRY = twice("0", D, A)
Edge = tuple[str, int | None, int | None, str | None]


def edges(records: list[Record], mode: Mode = "repair") -> list[Edge]:
    """rpc_id, upstream, downstream, rpc_id of the parent."""
    calls = calls_frame(rebuild(rows_of({0: records}), mode=mode))
    paths = calls["rpc_id"].to_list()
    columns = calls.select("rpc_id", "upstream_key", "downstream_key", "parent").rows()
    return [(*names, None if up is None else paths[up]) for *names, up in columns]


def ledger(records: list[Record], mode: Mode = "repair") -> Counter[tuple[str, str]]:
    frame = ledger_frame(rebuild(rows_of({0: records}), mode=mode))
    return Counter({(defect, action): n for _, defect, action, n in frame.rows()})


CLEAN: list[Record] = [*ENTRY, *twice("0.1", A, B), mc("0.1.1", B)]

#: name: records, edges below the entry after repair, ledger of repair, ledger of naive
CASES: dict[
    str, tuple[list[Record], list[Edge], dict[tuple[str, str], int], dict[tuple[str, str], int]]
] = {
    "nothing": (
        CLEAN,
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {},
        {},
    ),
    "a call to itself is no defect": (
        [*ENTRY, *twice("0.1", A, A)],
        [("0.1", A, A, "0")],
        {},
        {},
    ),
    "calls in a circle are no defect": (
        [*ENTRY, *twice("0.1", A, B), *twice("0.1.1", B, A), *twice("0.1.1.1", A, B)],
        [("0.1", A, B, "0"), ("0.1.1", B, A, "0.1"), ("0.1.1.1", A, B, "0.1.1")],
        {},
        {},
    ),
    "one id for several calls": (
        [*ENTRY, *twice("0.1", A, B), mc("0.1", A, 0), mc("0.1", A, 1)],
        [("0.1", A, B, "0"), ("0.1", A, CACHE, "0")],
        {("reused_rpc_id", "kept apart"): 2, ("several_downstreams", "kept apart"): 1},
        {("reused_rpc_id", "merged"): 2, ("several_downstreams", "first taken"): 1},
    ),
    "every row twice": (
        [*CLEAN, *CLEAN],
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {("duplicate_record", "merged"): 5},
        {("duplicate_record", "merged"): 5},
    ),
    "ids that are no paths": (
        [*CLEAN, rpc("0..1", A, B, 1), rpc("x", A, B, 1), rpc("0." + "1." * 200 + "1", A, B, 1)],
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {("rpc_id_not_a_path", "left out"): 3, ("incomplete_graph", "left out"): 1},
        {("rpc_id_not_a_path", "left out"): 3, ("incomplete_graph", "left out"): 1},
    ),
    "the other end did not record": (
        [*ENTRY, rpc("0.1", A, B, 5)],
        [("0.1", A, B, "0")],
        {("missing_twin", "kept"): 1},
        {("missing_twin", "kept"): 1},
    ),
    "a call left no record": (
        [*ENTRY, mc("0.1.1", B)],
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {("missing_call", "inserted"): 1},
        {("missing_call", "kept"): 1, ("orphan", "kept"): 1},
    ),
    "the calling end names a proxy": (
        [*ENTRY, rpc("0.1", A, PROXY, 6), rpc("0.1", A, B, -5), mc("0.1.1", B)],
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {("several_downstreams", "settled"): 1},
        {("several_downstreams", "first taken"): 1, ("contradicts_parent", "kept"): 1},
    ),
    "the called end worked longer than the calling end waited: two calls": (
        [*ENTRY, rpc("0.1", A, PROXY, 4), rpc("0.1", A, B, -5)],
        [("0.1", A, B, "0"), ("0.1", A, PROXY, "0")],
        {
            ("several_downstreams", "kept apart"): 1,
            ("reused_rpc_id", "kept apart"): 1,
            ("missing_twin", "kept"): 2,
        },
        {
            ("several_downstreams", "first taken"): 1,
            ("reused_rpc_id", "merged"): 1,
            ("missing_twin", "kept"): 2,
        },
    ),
    "names the twin has": (
        [*ENTRY, rpc("0.1", A, None, 6), rpc("0.1", None, B, -5)],
        [("0.1", A, B, "0")],
        {("missing_upstream", "named by twin"): 1, ("missing_downstream", "named by twin"): 1},
        {("missing_upstream", "kept"): 1, ("missing_downstream", "kept"): 1},
    ),
    "names the calls above and below have": (
        [*ENTRY, *twice("0.1", None, None), mc("0.1.1", B)],
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {
            ("missing_upstream", "named by parent"): 2,
            ("missing_downstream", "named by calls below"): 2,
        },
        {("missing_upstream", "kept"): 2, ("missing_downstream", "kept"): 2},
    ),
    "a name a sibling has, where the call above left no record": (
        [*ENTRY, mc("0.1.1", B), mc("0.1.2", None)],
        [
            ("0.1", A, B, "0"),
            ("0.1.1", B, CACHE, "0.1"),
            ("0.1.2", B, CACHE, "0.1"),
        ],
        {("missing_call", "inserted"): 1, ("missing_upstream", "named by siblings"): 1},
        {("missing_call", "kept"): 1, ("missing_upstream", "kept"): 1, ("orphan", "kept"): 2},
    ),
    "numbered below its sibling": (
        [*ENTRY, mc("0.1", A), *twice("0.1.1", A, B), mc("0.1.1.1", B)],
        [
            ("0.1", A, CACHE, "0"),
            ("0.1.1", A, B, "0"),
            ("0.1.1.1", B, CACHE, "0.1.1"),
        ],
        {("contradicts_parent", "moved up"): 1},
        {("contradicts_parent", "kept"): 1},
    ),
    "a caller that is nowhere above": (
        [*ENTRY, *twice("0.1", A, B), *twice("0.1.1", C, D), mc("0.1.1.1", D)],
        [("0.1", A, B, "0"), ("0.1.1", C, D, "0.1"), ("0.1.1.1", D, CACHE, "0.1.1")],
        {("contradicts_parent", "kept"): 1},
        {("contradicts_parent", "kept"): 1},
    ),
    "two callers under one id: the call above knows one of them": (
        [*ENTRY, *twice("0.1", A, B), *twice("0.1", C, D), mc("0.1.1", B)],
        [("0.1", A, B, "0"), ("0.1", C, D, "0"), ("0.1.1", B, CACHE, "0.1")],
        {
            ("several_upstreams", "kept apart"): 1,
            ("several_downstreams", "kept apart"): 1,
            ("reused_rpc_id", "kept apart"): 1,
            ("contradicts_parent", "kept"): 1,
        },
        {
            ("several_upstreams", "first taken"): 1,
            ("several_downstreams", "first taken"): 1,
            ("reused_rpc_id", "merged"): 1,
        },
    ),
    "a nameless caller below two calls": (
        [*ENTRY, *twice("0.1", A, B), *twice("0.1", A, C, 7), mc("0.1.1", None)],
        [("0.1", A, B, "0"), ("0.1", A, C, "0"), ("0.1.1", None, CACHE, "0.1")],
        {
            ("several_downstreams", "kept apart"): 1,
            ("reused_rpc_id", "kept apart"): 1,
            ("missing_upstream", "kept"): 1,
            ("ambiguous_parent", "first taken"): 1,
        },
        {
            ("several_downstreams", "first taken"): 1,
            ("reused_rpc_id", "merged"): 1,
            ("missing_upstream", "kept"): 1,
        },
    ),
    "two calls that could have made it": (
        [
            *ENTRY,
            *(rpc("0.1", A, B, ms, interface=1) for ms in (5, -5)),
            *(rpc("0.1", A, B, ms, interface=2) for ms in (6, -6)),
            mc("0.1.1", B),
        ],
        [("0.1", A, B, "0"), ("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {("reused_rpc_id", "kept apart"): 1, ("ambiguous_parent", "first taken"): 1},
        {("reused_rpc_id", "merged"): 1},
    ),
    "a service passes on the id it was called with": (
        [*ENTRY, *twice("0.1", A, B), rpc("0.1", B, C, -4), rpc("0.1", C, D, -3)],
        [("0.1", A, B, "0"), ("0.1", B, C, "0.1"), ("0.1", C, D, "0.1")],
        {
            ("several_upstreams", "kept apart"): 1,
            ("several_downstreams", "kept apart"): 1,
            ("reused_rpc_id", "kept apart"): 2,
            ("missing_twin", "kept"): 2,
            ("contradicts_parent", "moved beside"): 2,
        },
        {
            ("several_upstreams", "first taken"): 1,
            ("several_downstreams", "first taken"): 1,
            ("reused_rpc_id", "merged"): 2,
            ("missing_twin", "kept"): 2,
        },
    ),
    "a name that the calls below outvote": (
        [*ENTRY, rpc("0.1", A, D, 6), *twice("0.1.1", B, C), mc("0.1.2", B)],
        [("0.1", A, B, "0"), ("0.1.1", B, C, "0.1"), ("0.1.2", B, CACHE, "0.1")],
        {("missing_twin", "kept"): 1, ("outvoted_downstream", "named by calls below"): 1},
        {("missing_twin", "kept"): 1, ("contradicts_parent", "kept"): 2},
    ),
    "a name that the calls above and beside outvote": (
        [*ENTRY, mc("0.1", A), mc("0.2", PROXY)],
        [("0.1", A, CACHE, "0"), ("0.2", A, CACHE, "0")],
        {("outvoted_upstream", "named by parent"): 1},
        {("contradicts_parent", "kept"): 1},
    ),
    "one record against one": (
        [rpc("0", None, A, -9), mc("0.1", B)],
        [("0.1", B, CACHE, "0")],
        {
            ("missing_upstream", "outside the trace"): 1,
            ("missing_twin", "kept"): 1,
            ("contradicts_parent", "kept"): 1,
        },
        {
            ("missing_upstream", "outside the trace"): 1,
            ("missing_twin", "kept"): 1,
            ("contradicts_parent", "kept"): 1,
        },
    ),
    "ends the wrong way round": (
        [
            *ENTRY,
            rpc("0.1", B, A, 6),
            rpc("0.1", A, B, -5),
            Record(1, "0.2", CACHE, "mc", A, None, 0),
        ],
        [("0.1", A, B, "0"), ("0.2", A, CACHE, "0")],
        {
            ("several_upstreams", "settled"): 1,
            ("several_downstreams", "settled"): 1,
            ("swapped_ends", "turned round"): 2,
        },
        {
            ("several_upstreams", "first taken"): 1,
            ("several_downstreams", "first taken"): 1,
            ("contradicts_parent", "kept"): 2,
        },
    ),
    "the ends name different callers: the call above decides": (
        [*ENTRY, rpc("0.1", D, B, 6), rpc("0.1", A, B, -5)],
        [("0.1", A, B, "0")],
        {("several_upstreams", "settled"): 1},
        {("several_upstreams", "first taken"): 1, ("contradicts_parent", "kept"): 1},
    ),
    "the ends name different services: the calls below decide": (
        [*ENTRY, rpc("0.1", A, B, 6), rpc("0.1", A, C, -5), mc("0.1.1", B)],
        [("0.1", A, B, "0"), ("0.1.1", B, CACHE, "0.1")],
        {("several_downstreams", "settled"): 1},
        {("several_downstreams", "first taken"): 1},
    ),
    "below a store": (
        [*ENTRY, mc("0.1", None), mc("0.1.1", None)],
        [("0.1", A, CACHE, "0"), ("0.1.1", None, CACHE, "0")],
        {
            ("missing_upstream", "named by parent"): 1,
            ("missing_upstream", "kept"): 1,
            ("contradicts_parent", "moved up"): 1,
        },
        {("missing_upstream", "kept"): 2},
    ),
    "nothing in common": (
        [*ENTRY, *twice("9.4", B, C)],
        [("9", None, B, None), ("9.4", B, C, "9")],
        {("several_entries", "kept"): 1, ("missing_call", "inserted"): 1},
        {("several_entries", "kept"): 1, ("missing_call", "kept"): 1, ("orphan", "kept"): 1},
    ),
}


def entry(records: list[Record]) -> list[Edge]:
    """The call of the entry, by its first record."""
    first = records[0]
    return [(first.rpc_id, first.upstream, first.downstream, None)]


@pytest.mark.parametrize("name", CASES)
def test_repair(name: str) -> None:
    records, expected, noted, _ = CASES[name]
    assert sorted(edges(records), key=str) == sorted([*entry(records), *expected], key=str)
    assert ledger(records) == noted


@pytest.mark.parametrize("name", CASES)
def test_naive(name: str) -> None:
    records, _, _, noted = CASES[name]
    assert ledger(records, "naive") == noted
    paths = [path for path, *_ in edges(records, "naive")]
    assert len(paths) == len(set(paths))


def test_the_call_that_reached_the_first_known_service_is_put_back() -> None:
    records = [*twice("0.1", A, B), mc("0.2", A)]
    assert edges(records)[0] == ("0", None, A, None)
    assert ledger(records)["missing_call", "inserted"] == 1
    assert edges(records[:2]) == [("0", None, A, None), ("0.1", A, B, "0")]
    # an entry is not always 0: what a call from outside reached is where its trace starts
    assert edges([rpc("0.1", None, B, 5)]) == [("0.1", None, B, None)]
    # nor does a record that knows one service only tell which end that is
    assert edges([rpc("0.1", A, None, 5)]) == [("0.1", A, None, None)]


def test_a_trace_without_any_path_has_no_calls_but_stands_in_the_traces() -> None:
    rows = rows_of({0: [rpc("zero", A, B, 1)], 1: CLEAN})
    for mode in MODES:
        graph = rebuild(rows, mode=mode)
        traces = traces_frame(graph, rows)
        assert traces.select("trace_key", "records", "calls", "trees", "connected").rows() == [
            (0, 1, 0, 0, False),
            (1, 5, 3, 1, True),
        ]


def test_what_is_said_of_a_trace() -> None:
    rows = rows_of({4: [*CASES["a caller that is nowhere above"][0], mc("0.2.1", C)]})
    split = rows.with_columns(part=pl.Series([3] * (rows.height - 1) + [8], dtype=pl.Int32))
    (row,) = traces_frame(rebuild(split), split).rows(named=True)
    assert row == {
        "trace_key": 4,
        "start_ms": 100,
        "end_ms": 100,
        "records": 8,
        "calls": 5,
        "inserted": 1,
        "left_out": 0,
        "contradicting": 1,
        "missing_calls": 1,
        "extra_calls": 0,
        "depth": 3,
        "services": 5,
        "trees": 1,
        "connected": False,
        "files": 2,
        "first_part": 3,
        "last_part": 8,
    }
