"""A small run made up of values, in which memory decides, beside what studies there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from tracekit.report.data import Data
from tracekit.study import Study

LOAD = {
    "name": "store",
    "nodes": 10,
    "steps": 5,
    "containers": 40,
    "store": "a store",
    "loader": None,
    "assume": [],
    "made_up": False,
    "quantities": {},
    "assumptions": {"start": "empty"},
}
#: Memory decides: lra is best, bra within chance of it, cwt worse; random overloads nodes.
PEAKS = {
    "lra": [0.40, 0.40, 0.41, 0.40, 0.40, 0.41],
    "bra": [0.42, 0.39, 0.41, 0.40, 0.42, 0.39],
    "cwt": [0.62, 0.61, 0.62, 0.63, 0.62, 0.61],
    "random": [0.3] * 6,
}


def memory_decides(studies: Mapping[str, Study], others: Sequence[tuple[str, Study]] = ()) -> Data:
    """A run of four policies, of which lra is recommended."""
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": 50.0 * (name == "random"),
            "memory_max_fraction": peak,
        }
        for name, peaks in PEAKS.items()
        for at, peak in enumerate(peaks)
    ]
    repeats = pl.DataFrame(rows)
    run = {
        "workload": LOAD,
        "repeats": 6,
        "repeats_cover": ["order of arrival"],
        "policies": [{"policy": name, "name": name, "parameters": {}} for name in PEAKS],
    }
    return Data(
        run=run,
        run_frames={"summary": repeats.filter(repeat=0).drop("repeat"), "repeats": repeats},
        studies=studies,
        other_studies=others,
    )
