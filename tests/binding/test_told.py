"""What a replay down to the vCPU tells of the fit and the hosts that it rests on."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from replay_support import workload

from tracekit.binding.hosts import assumed_told
from tracekit.binding.model import model_of_fit
from tracekit.fit.folder import FIT_FOLDER

COEFFICIENTS = {"service": ["web"], "cpu_mean": [0.5], "k1": [0.1], "k2": [0.2]}


def fit(out: Path, verdict: str, pooled: str) -> Path:
    frames = {
        "coefficients": pl.DataFrame(COEFFICIENTS),
        "pooled": pl.DataFrame(
            {"k1": [0.1], "k2": [0.2], "verdict": [pooled], "reason": ["no effect beyond chance"]}
        ),
    }
    said = {"options": {"agg": "mean"}, "mode": "proxy", "verdicts": {verdict: 1}}
    FIT_FOLDER.write(out, {"schema": FIT_FOLDER.schema, "tool_version": "0", **said}, frames)
    return out


@pytest.mark.parametrize("verdicts", [("usable", "weak"), ("weak", "usable")])
def test_a_fit_of_which_a_part_is_usable_is_not_doubted(
    tmp_path: Path, verdicts: tuple[str, str]
) -> None:
    assert model_of_fit(fit(tmp_path / "fit", *verdicts), ["web"]).doubt == ""


def test_a_fit_of_which_no_part_is_usable_is_doubted(tmp_path: Path) -> None:
    model = model_of_fit(fit(tmp_path / "fit", "weak", "weak"), ["web"])
    assert model.doubt.startswith(
        "the fit is weak, of all services together: no effect beyond chance;"
    )


def test_vcpus_that_are_left_out_are_counted() -> None:
    load = workload([(7910, 1000), (16_000, 1000)], [(0, 9000, 1000, 1)])
    told = assumed_told(load, sockets=2, threads_per_core=2)
    assert "2 sockets of cores with 2 threads; 3 of 23 vCPUs do not divide evenly" in told
    assert "left out" not in assumed_told(load, sockets=1, threads_per_core=1)
