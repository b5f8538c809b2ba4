"""The first screen of a sizing run without the agent says which policy serves best."""

from __future__ import annotations

import polars as pl

from tracekit.report.contents import sizing
from tracekit.report.data import Data
from tracekit.report.sizing_run import SizingRun


def _run(**policies: tuple[float, float]) -> Data:
    rows = [
        {"policy": name, "measure": measure, "mean": mean}
        for name, means in policies.items()
        for measure, mean in zip(("qos", "container_cpu_fraction"), means, strict=True)
    ]
    facts = {"test_containers": 63, "training_containers": 142, "periods": 1440}
    manifest = {"seeds": [0], "set": {"facts": facts}}
    return Data(sizing=SizingRun(manifest, {"summary": pl.DataFrame(rows)}))


def test_who_serves_best_stands_beside_who_keeps_least_idle() -> None:
    told = sizing.answer(_run(oracle=(1.0, 0.99), calm=(0.996, 0.5), tight=(0.985, 0.7)))
    assert told.asked == "Which policy should set the limits of containers?"
    assert told.sentence.replace("\u00a0", " ") == (
        "calm serves 99.6 % of cycles in full, with 50.0 % of the CPU in use; tight, whose limits"
        " are the fullest, 98.5 % of cycles in full, with 70.0 % of the CPU in use."
    )
    assert "One seed gives no interval" in told.sure


def test_one_that_is_best_by_both_is_said_so() -> None:
    told = sizing.answer(_run(calm=(0.996, 0.5), tight=(0.985, 0.3)))
    assert told.sentence.replace("\u00a0", " ").endswith("no other's limits are fuller.")
