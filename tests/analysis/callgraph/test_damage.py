"""Records damaged in a stated way: repair finds no fewer of the true calls than simpler ways do."""

from __future__ import annotations

import pytest
from bench_damage import ROWS, SEEDS, measured
from callgraph_support import Record, rows_of

from tracekit.analysis.callgraph import Mode
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.run import calls_frame, traces_frame

#: The least recall of repair, where the damage leaves it a choice.
LEAST = {"wrong callee in 3.3 %": 0.968, "all at 5 %": 0.926}


@pytest.mark.parametrize("name", ROWS)
def test_repair_is_at_least_as_good_as_naive_and_majority(name: str) -> None:
    shares = measured(name, SEEDS[0])
    recall, precision = shares["repair"]
    for other in (shares["naive"], shares["majority"]):
        assert recall >= other[0]
        assert precision >= other[1]
    assert recall >= LEAST.get(name, 0)


def test_one_wrong_name_above_twenty_agreeing_records() -> None:
    """The entry's one record is wrong; ten calls below, each recorded by both ends, agree."""
    wrong, right = 9, 1
    records = [Record(0, "0", None, "http", wrong, 0, -50.0)]
    for number in range(1, 6):
        for path, caller in ((f"0.{number}", right), (f"0.{number}.1", 10 + number)):
            names = (caller, "rpc", 10 * path.count(".") + number, number)
            records += [Record(1, path, *names, 5.0), Record(1, path, *names, -4.0)]
    rows = rows_of({0: records})
    calls = calls_frame(rebuild(rows))
    assert calls.height == 11
    assert calls["downstream_key"][0] == right
    parents = calls["rpc_id"].gather(calls["parent"]).to_list()
    assert parents == [None, *(p.rpartition(".")[0] for p in calls["rpc_id"][1:])]
    (trace,) = traces_frame(rebuild(rows), rows).rows(named=True)
    assert (trace["left_out"], trace["contradicting"], trace["connected"]) == (0, 0, True)


@pytest.mark.parametrize("mode", ["naive", "repair"])
def test_what_is_left_out_is_listed(mode: Mode) -> None:
    records = [Record(0, "0", None, "http", 1, 0, -9.0), Record(1, "no path", 1, "mc", 2, None, 0)]
    graph = rebuild(rows_of({0: records, 1: records[:1]}), mode=mode)
    assert graph.ledger.of("incomplete_graph").tolist() == [1, 0]
