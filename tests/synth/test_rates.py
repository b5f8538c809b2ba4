from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from tracekit.synth.services import METRIC_PAIRS


@pytest.fixture(scope="module")
def rates(good_rows: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
    return good_rows("MSRTQps").with_columns(
        pl.col("value").cast(float), pl.col("timestamp").cast(int)
    )


def test_rates_are_whole_calls_per_minute(rates: pl.DataFrame) -> None:
    calls = rates.filter(pl.col("metric").str.ends_with("_MCR"))["value"].to_numpy() * 60

    assert np.abs(calls - np.rint(calls)).max() < 1e-9
    assert calls.max() > 100


def test_a_service_reports_the_metrics_of_its_kind(
    rates: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    result = rates.group_by(service_id="msname").agg(pl.col("metric").unique().sort())
    both = tiny_truth["service"].join(result, on="service_id")

    assert both.height == 12
    for kind, metrics in both.select("rate_kind", "metric").iter_rows():
        pairs = METRIC_PAIRS[kind]
        assert metrics == sorted(f"{pair}_{what}" for pair in pairs for what in ("MCR", "RT"))


def test_response_times_repeat_the_rates_for_mirrored_services(
    rates: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    keys = ["timestamp", "msname", "msinstanceid"]
    pair = {name: rates.filter(pl.col("metric") == f"HTTP_{name}") for name in ("MCR", "RT")}
    both = (
        pair["MCR"]
        .join(pair["RT"], on=keys)
        .join(tiny_truth["service"], left_on="msname", right_on="service_id")
    )
    same = both.group_by("mirrored").agg((pl.col("value") == pl.col("value_right")).mean())

    assert dict(same.iter_rows())[True] == 1
    assert dict(same.iter_rows()).get(False, 0) < 0.1


def test_cpu_follows_the_calls_at_the_planted_cost(
    rates: pl.DataFrame,
    good_rows: Callable[[str], pl.DataFrame],
    tiny_truth: dict[str, pl.DataFrame],
) -> None:
    usage = good_rows("MSResource").select(
        "msinstanceid",
        cpu=pl.col("instance_cpu_usage").cast(float),
        timestamp=(pl.col("timestamp").cast(int) + 59_999) // 60_000 * 60_000,
    )
    services = tiny_truth["service"].filter(pl.col("fit_share") > 0.3)
    joined = (
        rates.filter(pl.col("metric").is_in(["providerRPC_MCR"]))
        .join(usage, on=["msinstanceid", "timestamp"])
        .join(services, left_on="msname", right_on="service_id")
    )
    within = joined.with_columns(
        pl.col("cpu", "value") - pl.col("cpu", "value").mean().over("msinstanceid")
    )
    result = within.group_by("msname").agg(
        slope=(pl.col("cpu") * pl.col("value")).sum() / (pl.col("value") ** 2).sum(),
        planted=pl.col("cpu_fraction_per_call_s").first(),
    )

    assert result.height >= 2
    assert result["slope"].to_list() == pytest.approx(result["planted"].to_list(), rel=0.2)
