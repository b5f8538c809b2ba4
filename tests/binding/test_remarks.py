"""What a replay down to the vCPU rests on: a fit that is to be doubted, hosts that are assumed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from replay_support import workload

from tracekit.binding.occupancy import model_of_fit
from tracekit.binding.vcpu_state import assumed_hosts
from tracekit.interference.run import FIT_FOLDER

COEFFICIENTS = {"service": ["web"], "cpu_mean": [0.5], "k1": [0.1], "k2": [0.2]}


@pytest.mark.parametrize(
    ("verdict", "pooled", "doubted"),
    [("usable", "weak", ""), ("weak", "usable", ""), ("weak", "weak", "weak")],
)
def test_a_fit_is_doubted_where_no_part_of_it_is_usable(
    tmp_path: Path, verdict: str, pooled: str, doubted: str
) -> None:
    reason = "no effect beyond chance"
    frames = {
        "coefficients": pl.DataFrame(COEFFICIENTS),
        "pooled": pl.DataFrame({"k1": [0.1], "k2": [0.2], "verdict": [pooled], "reason": [reason]}),
    }
    about = {"options": {"agg": "mean"}, "mode": "proxy", "verdicts": {verdict: 1}}
    document = {"schema": FIT_FOLDER.schema, "tool_version": "0", **about}
    FIT_FOLDER.write(tmp_path / "fit", document, frames)
    model = model_of_fit(tmp_path / "fit", ["web"])
    assert (model.verdict, model.reason) == (doubted, reason if doubted else "")


@pytest.mark.parametrize(("sockets", "left_out"), [(2, 3), (1, None)])
def test_vcpus_that_are_left_out_are_counted(sockets: int, left_out: int | None) -> None:
    load = workload([(7910, 1000), (16_000, 1000)], [(0, 9000, 1000, 1)])
    fact = assumed_hosts(load, sockets=sockets, threads_per_core=sockets)
    assert fact.value == fact.about["threads"] == sockets
    assert (fact.about["left_out_vcpus"], fact.about["every_vcpus"]) == (left_out, 23)
