"""What neighbours cost, from a made-up trace to the page."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.commands.run import run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    run("synth:tiny", out, policies=["first_fit"])
    return out


@pytest.mark.slow
def test_a_whole_run_fits_and_binds_what_a_made_up_trace_knows(whole: Path) -> None:
    for name in ("fit/manifest.json", "fit/coefficients.parquet", "bound/summary.parquet"):
        assert (whole / name).is_file()
    lost = dict(pl.read_parquet(whole / "bound" / "summary.parquet")
                .select("policy", "inflation_vcpus").iter_rows())  # fmt: skip
    assert lost["interference"] < min(lost["lowest_free"], lost["least_allocated"])
    assert 'id="figure-interference_inflation"' in (whole / "report.html").read_text()
