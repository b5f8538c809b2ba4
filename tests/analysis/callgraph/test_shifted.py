"""Records under a wrong rpc id get their own back; what many traces have is left alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from callgraph_support import Record, rows_of
from damaged_calls import made_up
from damaged_paths import ANY_SHIFT, shifted
from plain_callgraph import both_ways

from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame

ENTRY = Record(0, "0", None, "http", 1, 0, -90.0)


def both_ends(path: str, caller: int, callee: int, time_ms: int, waited_ms: float) -> list[Record]:
    names = (caller, "rpc", callee, callee)
    return [Record(time_ms, path, *names, time) for time in (waited_ms, -waited_ms)]


def stored(path: str, caller: int, store: int, time_ms: int) -> Record:
    return Record(time_ms, path, caller, "mc", store, None, 1.0)


def rebuilt(records: list[Record]) -> tuple[pl.DataFrame, list[tuple[str, str, int]]]:
    rows = rows_of({0: records})
    found, plain = both_ways(rows, "repair")
    assert found == plain
    noted = [(d, a, n) for (d, a), n in found[0].ledger.items() if d == "shifted_rpc_id"]
    return calls_frame(rebuild(rows)), noted


@pytest.mark.parametrize("wrong", ["0.1", "0.3", "0"])
def test_a_record_goes_to_the_one_gap_among_the_calls_of_its_caller(wrong: str) -> None:
    beside = [*both_ends("0.1", 1, 2, 10, 5.0), *both_ends("0.3", 1, 4, 40, 3.0)]
    calls, noted = rebuilt([ENTRY, *beside, stored(wrong, 1, 9, 20)])
    assert calls["rpc_id"].to_list() == ["0", "0.1", "0.2", "0.3"]
    assert noted == [("shifted_rpc_id", "put in a gap", 1)]


@pytest.mark.parametrize(
    "records",
    [
        # context that was not passed on: two calls share one rpc id, and no number is missing
        [*both_ends("0.1", 1, 2, 10, 5.0), stored("0.1", 1, 9, 12), stored("0.2", 1, 9, 20)],
        # calls made again and again, of which each lost an end
        [both_ends(f"0.{n}", 1, 2, 10 * n, 5.0)[n % 2] for n in range(1, 5)],
        # two quick calls apart in time, of which each lost another end
        [both_ends("0.1", 1, 2, 10, 5.0)[0], both_ends("0.2", 1, 2, 200, 5.0)[1]],
        # a call to itself that was lost
        [*both_ends("0.1", 1, 1, 10, 50.0), stored("0.1.1.2", 1, 9, 20)],
        # a message queue numbers its calls otherwise
        [stored("0.1", 1, 9, 20), Record(20, "0.2.112625527", 1, "mq", 7, None, -4.0)],
    ],
)
def test_what_many_traces_have_is_left_alone(records: list[Record]) -> None:
    _, noted = rebuilt([ENTRY, *records])
    assert noted == []


def test_arrays_and_the_plain_way_agree_on_shifted_rpc_ids() -> None:
    damage = shifted(0.2, *ANY_SHIFT)
    rng = np.random.Generator(np.random.PCG64(3))
    traces = made_up(np.random.Generator(np.random.PCG64(2)), 150)
    records = {
        # few services and coarse times make some evidence ambiguous
        number: [
            r._replace(
                upstream=None if r.upstream is None else r.upstream % 9,
                downstream=None if r.downstream is None else r.downstream % 9,
                interface=None if r.interface is None else r.interface % 2,
                time_ms=r.time_ms // 500 if number % 2 else r.time_ms,
            )
            for r in damage(rng, trace.records)
        ]
        for number, trace in traces.items()
    }
    found, plain = both_ways(rows_of(records), "repair")
    assert found == plain
    done = {
        action for one in found.values() for defect, action in one.ledger if "shifted" in defect
    }
    assert done == {"named by twin", "put in a gap", "moved up"}
