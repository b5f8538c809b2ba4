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
