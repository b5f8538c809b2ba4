"""The table of assumptions: each has a meaning, also what no option sets."""

from __future__ import annotations

from tracekit.report.contents import assumed
from tracekit.report.data import Data


def test_what_is_worked_out_has_a_meaning() -> None:
    load = {"assumptions": {"full_cpu_cores": 104.0, "step_ms": 0, "step_used_ms": 60_000}}
    shown = assumed.assumptions(Data(run={"workload": load, "policies": []}))
    rows = {row[0].text: [cell.text for cell in row] for row in shown.rows}
    assert rows["step_used_ms"][1:] == [
        "1 min",
        "Time between two samples of the replay: what came of step_ms.",
        "worked out",
    ]
    assert all(row[2] for row in rows.values())


def test_what_the_caller_put_in_the_place_of_what_is_recorded_is_not_missing() -> None:
    given = {"requests": "uniform", "request_cpu_cores": 4.0}
    known = {"requests": "assumed", "limits": "assumed"}
    load = {"assumptions": given, "quantities": known}
    run = {"workload": load, "policies": []}
    data = Data(run=run, info={"quantities": {"requests": "recorded", "limits": "absent"}})
    assert assumed.rests_sentence(data) == (
        "The trace has requests; --assume requests=uniform replaced them. The trace does not say"
        " limits: that is assumed, and another value may change the result."
    )
    origins = {row[0].text: row[3].text for row in assumed.assumptions(data).rows}
    assert origins["request_cpu_cores"] == (
        "default, in place of what the trace has (--assume requests=uniform)"
    )
    silent = Data(run=run, info={"quantities": {"requests": "absent"}})
    assert assumed.rests_sentence(silent).startswith("The trace does not say requests or limits:")


def test_lost_nodes_are_named_and_not_counted_beside() -> None:
    lost = [{"node": "n4", "after_ms": 180_000, "drawn": True}]
    load = {"facts": {"nodes_lost": 1}, "lost": lost}
    run = {"workload": load, "policies": []}
    assert assumed.counts(Data(run=run)) == ["1 node is lost: n4 after 3 min, which the seed drew"]
    # a run of an earlier version has the number alone
    del load["lost"]
    assert assumed.counts(Data(run=run)) == ["1 node was lost on the way"]
