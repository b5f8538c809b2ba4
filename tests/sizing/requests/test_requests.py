"""Requests from recorded use, against plain loops, and from the command line to a replay."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain_requests import (
    GIB,
    PODS,
    STEPS,
    made_cluster,
    plain_judged,
    random_use,
    used,
)

import tracekit
from tracekit import ingest
from tracekit.analysis.metrics.correlation import bootstrap_interval, resampling_matrix
from tracekit.base.errors import TracekitError
from tracekit.base.study import read_study
from tracekit.cluster.source import source_of
from tracekit.sizing.policies import Advice, parse_sizing_policy
from tracekit.sizing.requests.judge import WINDOWS, interval, judged, services_of, windows_of
from tracekit.sizing.requests.read_use import NoUseError, read_use
from tracekit.store.folder import open_store
from tracekit.synth import write

NAMES = ("web", "db", "job", "free", "silent")
MAXIMUM = "percentile_request[percentile=1.0,margin=0.0]"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pods of five services on two nodes, 48 minutes."""
    folder = tmp_path_factory.mktemp("cluster")
    ingest(made_cluster(folder / "files"), folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def sized(store: Path) -> Path:
    out = store.parent / "sized"
    tracekit.requests(store, out=out)
    return out


@pytest.mark.parametrize("steps", [2, 40])  # in 2 a service may have one sample, or none
@pytest.mark.parametrize("seed", range(8))
def test_every_number_of_a_service_equals_plain_loops(seed: int, steps: int) -> None:
    use = random_use(seed, steps=steps)
    recommended = np.random.default_rng(seed).uniform(0.2, 1.8, (3, 2)) * (1.0, GIB)
    recommended[1, 0] = np.nan

    def rows_at(risk_share: float) -> list[dict[str, Any]]:
        quantiles, judgement = use.quantiles(0.5, 0.95, 1.0), judged(use, recommended)
        return services_of(
            "made",
            use,
            Advice(recommended),
            judgement,
            quantiles=quantiles,
            risk_share=risk_share,
            staying=np.zeros((3, 2), dtype=np.bool_),
        ).to_dicts()

    for row in rows_at(0.3):
        service, resource = "abc".index(row["service"]), ("cpu", "memory").index(row["resource"])
        plain = plain_judged(use, recommended, service, resource)
        for name, value in plain.items():
            assert row[name] == (None if value is None else pytest.approx(value)), name
        block = use.values[resource][:, use.service[use.measured] == service]
        samples = block[~np.isnan(block)].astype(float)
        if len(samples):
            expected = [np.quantile(samples, 0.5), np.quantile(samples, 0.95), samples.max()]
            assert [row[f"use_{one}"] for one in ("p50", "p95", "max")] == pytest.approx(expected)
        above = row["above_share"] or 0.0
        assert row["at_risk"] == (above > 0.3)
        at_the_limit = [one for one in rows_at(above) if (one["above_share"] or 0.0) == above]
        assert not any(one["at_risk"] for one in at_the_limit)


def test_percentiles_take_all_containers_of_a_service_and_the_oracle_what_it_is_shown() -> None:
    use = random_use(3)
    advice = parse_sizing_policy("percentile_request").recommend(use)
    most = parse_sizing_policy("oracle").recommend(use)
    assert advice is not None
    assert most is not None
    for service in range(3):
        block = use.values[0][:, use.service[use.measured] == service]
        samples = block[~np.isnan(block)].astype(float)
        expected = np.quantile(samples, 0.95) * 1.15 if len(samples) else math.nan
        assert advice.request[service, 0] == pytest.approx(expected, nan_ok=True)
        if len(samples):
            assert most.request[service, 0] == samples.max()


def test_intervals_are_of_the_windows() -> None:
    use = random_use(5, steps=43)
    windows = windows_of(use)
    assert len(windows) == WINDOWS
    assert sum(one.stop - one.start for one in windows) == 43
    judgement = judged(use, np.full((3, 2), 0.5))
    above, steps = judgement.above[:, :, 0].sum(axis=1), judgement.steps[:, :, 0].sum(axis=1)
    for at, window in enumerate(windows):
        values = use.values[0, window]
        assert steps[at] == (~np.isnan(values)).sum()
        assert above[at] == (values > 0.5).sum()
    drawn = resampling_matrix(np.random.default_rng([0, 6]), 6, 2_000)
    expected = bootstrap_interval(above[:, None], steps[:, None], drawn)[:2, 0]
    assert interval(above, steps, 0) == pytest.approx(tuple(expected))
    assert interval(above[:4], steps[:4], 0) == (None, None)


def test_a_cluster_from_its_files_to_its_services(sized: Path) -> None:
    study = read_study(sized)
    rows = study.frames["services"]
    assert set(rows["service"]) == {f"default/{name}" for name in NAMES}
    cut, end = STEPS // 2, STEPS
    web = [used(name, step)[0] for name in ("web-0", "web-1") for step in range(PODS[name][1], cut)]
    row = rows.filter(policy=MAXIMUM, service="default/web", resource="cpu").row(0, named=True)
    assert row["recommended"] == pytest.approx(max(web))
    assert row["containers"] == 2
    assert row["request_now"] == 2
    assert row["freed"] == pytest.approx(2 * (2 - max(web)))
    job = rows.filter(policy=MAXIMUM, service="default/job", resource="memory").row(0, named=True)
    # it runs for the first quarter of the judged time
    assert job["containers"] == pytest.approx((30 - cut) / (end - cut))
    assert job["freed"] == pytest.approx(
        (GIB - max(used("job-0", step)[1] for step in range(cut))) * job["containers"]
    )
    database = rows.filter(policy=MAXIMUM, service="default/db", resource="cpu").row(0, named=True)
    late = [used("db-0", step)[0] for step in range(cut, end)]
    assert database["above_share"] == 1
    assert database["at_risk"]
    # less than it requests was to be recommended
    assert database["kept_at_risk"]
    assert (database["recommended"], database["freed"]) == (None, 0.0)
    assert database["excess_max"] == pytest.approx(max(late) - 0.5)
    knows = rows.filter(policy="oracle", service="default/db", resource="cpu").row(0, named=True)
    assert knows["recommended"] == pytest.approx(max(late))
    assert knows["above_share"] == 0
    free = rows.filter(policy=MAXIMUM, service="default/free", resource="cpu").row(0, named=True)
    assert free["request_now"] is None
    assert free["freed"] == pytest.approx(-free["recommended"])
    now = rows.filter(policy="now", service="default/free", resource="cpu").row(0, named=True)
    assert now["above_share"] == 1
    silent = rows.filter(policy=MAXIMUM, service="default/silent", resource="cpu")
    assert silent.select("request_now", "recommended", "freed").row(0) == (1.0, None, 0.0)
    facts = study.about["facts"]
    assert (facts["services_without_request"], facts["services_without_past"]) == (1, 1)


def test_totals_are_the_sums_of_services(sized: Path) -> None:
    study = read_study(sized)
    summed = (
        study.frames["services"]
        .group_by("policy", "resource", maintain_order=True)
        .agg(
            pl.col("freed").sum(),
            (pl.col("above_share") * pl.col("judged_container_steps")).sum()
            / pl.col("judged_container_steps").sum(),
            pl.col("at_risk").sum().alias("services_at_risk"),
        )
    )
    both = study.frames["policies"].join(summed, on=["policy", "resource"], suffix="_summed")
    for name in ("freed", "above_share", "services_at_risk"):
        assert both[name].to_list() == pytest.approx(both[f"{name}_summed"].to_list())


def test_a_replay_requests_what_was_recommended(store: Path, sized: Path) -> None:
    study = read_study(sized)
    subject = study.about["subject"]
    for text, policy in ((f"sized:{sized}", subject), (f"sized:{sized}:oracle", "oracle")):
        load = source_of(open_store(store), None, assume=[f"requests={text}"]).load()
        rows = study.frames["services"].filter(policy=policy)
        columns = [load.resources.index(one) for one in ("cpu_milli", "memory_bytes")]
        for at, service in enumerate(load.containers.services):
            # who is at risk with less, or has no use to learn from, keeps what it has
            given = pl.coalesce("recommended", "request_now")
            requests = rows.filter(service=service).sort("resource").select(given).to_series()
            assert load.containers.request[at, columns].tolist() == [
                pytest.approx(requests[0] * 1000, abs=1.001),
                pytest.approx(requests[1], abs=1.001),
            ]
    with pytest.raises(TracekitError, match="'oracel'"):
        source_of(open_store(store), None, assume=[f"requests=sized:{sized}:oracel"]).load()


def test_what_will_not_do_is_refused(store: Path, tmp_path: Path) -> None:
    with pytest.raises(TracekitError):
        tracekit.requests(store, ["ddqn"], out=tmp_path / "sized")
    with pytest.raises(TracekitError):
        tracekit.requests(store, epochs=3, out=tmp_path / "sized")
    with pytest.raises(TracekitError):
        tracekit.requests(store, ["oracle"], by="calls", out=tmp_path / "sized")
    header = "timestamp,nodeid,node_cpu_usage,node_memory_usage"
    (tmp_path / "Node_0.csv").write_text(f"{header}\n0,n1,0.5,0.5\n")
    ingest(tmp_path / "Node_0.csv", tmp_path / "nodes")
    with pytest.raises(NoUseError):
        tracekit.requests(tmp_path / "nodes", out=tmp_path / "sized")
    chains = tmp_path / "chains"
    tracekit.synth(tmp_path / "trace", preset="tiny", tables=["resource", "call"])
    ingest(tmp_path / "trace", chains)
    with pytest.raises(NoUseError):
        tracekit.requests(chains)
    with pytest.raises(TracekitError):
        tracekit.requests(chains, ["oracle"], by="calls")
    assert not (tmp_path / "sized").exists()


def test_use_as_a_fraction_is_of_the_limit(tmp_path: Path) -> None:
    """As the trace of 2021 publishes it; sizes stand beside it."""
    write(tmp_path / "trace", preset="tiny", seed=5, tables=["node", "resource", "size"])
    ingest(tmp_path / "trace", tmp_path / "store")
    expected = tracekit.query(
        tmp_path / "store",
        "SELECT container, max(cpu_fraction) * any_value(coalesce(r.limit, r.request)) AS cores,"
        " max(memory_fraction) * any_value(coalesce(m.limit, m.request)) AS bytes"
        " FROM container_usage JOIN container_resource r USING (container)"
        " JOIN container_resource m USING (container)"
        " WHERE r.resource = 'cpu' AND m.resource = 'memory' GROUP BY ALL",
    )
    use = read_use(open_store(tmp_path / "store"))
    assert expected.height == len(use.measured)
    for at, column in enumerate(("cores", "bytes")):
        highest = np.nanmax(use.values[at], axis=0)
        assert np.sort(highest) == pytest.approx(np.sort(expected[column].to_numpy()), rel=1e-6)
