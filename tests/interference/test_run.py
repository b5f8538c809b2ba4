"""The fit of a made-up trace, from its files to a folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.commands.bind import bind
from tracekit.interference.run import FRAMES, Fit, write_fit
from tracekit.store.folder import open_store
from tracekit.store.query import Database


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up trace and its store."""
    folder = tmp_path_factory.mktemp("fit")
    tracekit.synth(folder / "trace", preset="tiny", seed=3)
    tracekit.ingest(folder / "trace", folder / "store")
    return folder


def bound(folder: Path, out: Path | None = None, **options: object) -> Fit:
    truth = folder / "trace" / "truth"
    return tracekit.fit(
        folder / "store",
        out,
        binding=truth / "monitoring.csv",
        topology=truth / "topology.csv",
        **options,  # type: ignore[arg-type]
    )


def truth(folder: Path) -> pl.DataFrame:
    table = pl.read_parquet(folder / "trace" / "truth" / "binding.parquet")
    return (
        table.rename({"service_id": "service"}).group_by("service").agg(pl.col("k1", "k2").first())
    )


def test_what_synth_plants_is_found(folder: Path) -> None:
    fit = bound(folder)
    assert fit.mode == "bound"
    assert fit.rejects.is_empty()
    both = fit.fitted.services.filter(pl.col("basis") == "own").join(
        truth(folder), on="service", suffix="_planted"
    )
    assert both.height >= 3
    for name in ("k1", "k2"):
        off = (both[name] - both[f"{name}_planted"]) / both[f"{name}_error"]
        assert off.abs().max() < 5  # type: ignore[operator]
    pooled = fit.fitted.pooled.row(0, named=True)
    assert pooled["verdict"] == "usable"
    assert pooled["k1"] > 2 * pooled["k2"] > 0


def test_pressures_are_those_that_were_planted(folder: Path) -> None:
    rows = bound(folder).rows.select("instance", "cpu_sc", "cpu_ss")
    table = pl.read_parquet(folder / "trace" / "truth" / "binding.parquet")
    both = rows.join(table, left_on="instance", right_on="container_id", suffix="_planted")
    assert both.height == rows.height
    for name in ("cpu_sc", "cpu_ss"):
        assert both[name].to_numpy() == pytest.approx(both[f"{name}_planted"].to_numpy(), abs=0.02)


def test_without_binding_it_is_a_proxy_and_says_so(folder: Path, tmp_path: Path) -> None:
    proxy = tracekit.fit(folder / "store", tmp_path / "fit")
    assert proxy.mode == "proxy"
    assert proxy.fitted.services["k1"].null_count() == proxy.fitted.services.height
    assert "usable" not in set(proxy.fitted.services["verdict"])
    assert proxy.remarks[0].because == "fit_proxy"
    for name in FRAMES:
        frame = pl.read_parquet(tmp_path / "fit" / f"{name}.parquet")
        assert set(frame["mode"]) <= {"proxy"}
    document = json.loads((tmp_path / "fit" / "manifest.json").read_text())
    assert document["mode"] == "proxy"


def test_proxy_rows_are_what_plain_code_gives(folder: Path) -> None:
    usage = tracekit.query(folder / "store", "usage/container_profile")
    with Database(open_store(folder / "store")) as database:
        sizes = database.frame(
            "SELECT container, request FROM container_resource WHERE resource = 'cpu'"
        )
        has = database.frame("SELECT node, amount FROM node_resource WHERE resource = 'cpu'")
    cores, node_cores = dict(sizes.iter_rows()), dict(has.iter_rows())
    assert len(set(cores.values())) > 1
    fitted_rows = tracekit.fit(folder / "store").rows
    part = tracekit.fit(folder / "store", agg="occupancy").rows
    profile = dict(usage.group_by("service").agg(pl.col("cpu_mean").mean()).iter_rows())
    samples = usage.select("container", "node", "service").rows()
    share = dict(part.select("instance", "cpu_ss").iter_rows())
    for row in fitted_rows.sample(20, seed=1).iter_rows(named=True):
        own = cores[row["instance"]]
        others = [
            (profile[s], cores[c])
            for c, n, s in samples
            if n == row["host"] and c != row["instance"]
        ]
        busy = sum(one * size for one, size in others)
        mean = busy / sum(size for _, size in others) if others else 0.0
        assert row["vcpus"] == own
        assert row["cpu_ss"] == pytest.approx(mean, abs=1e-9)
        occupied = busy / (node_cores[row["host"]] - own)
        assert share[row["instance"]] == pytest.approx(occupied, abs=1e-9)


OPTIONS: list[dict[str, object]] = [
    {"agg": "occupancy"},
    {"agg": "sum"},
    {"load": True},
    {"resolved": True, "load": True},
    {"nonneg": True},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_proxy_with_options(folder: Path, options: dict[str, object]) -> None:
    proxy = tracekit.fit(folder / "store", **options)  # type: ignore[arg-type]
    assert proxy.rows.height > 0
    assert proxy.rows["predicted"].is_finite().all()
    if options.get("resolved"):
        assert proxy.rows["window_ms"].n_unique() > 1
    if options.get("load"):
        assert proxy.fitted.pooled["k_load"][0] > 0


def test_rows_over_time_are_averaged_or_kept(folder: Path, tmp_path: Path) -> None:
    source = folder / "trace" / "truth"
    once = pl.read_csv(source / "monitoring.csv")
    rng = np.random.default_rng(1)
    noise = [pl.Series(rng.normal(0, 0.005, once.height)) for _ in range(4)]
    pl.concat(
        once.with_columns(
            cpu_util=(pl.col("cpu_util") + one).clip(1e-3), time_ms=pl.lit(60_000 * at)
        )
        for at, one in enumerate(noise)
    ).write_csv(tmp_path / "binding.csv")
    files = {"binding": tmp_path / "binding.csv", "topology": source / "topology.csv"}
    averaged = tracekit.fit(folder / "store", **files)  # type: ignore[arg-type]
    resolved = tracekit.fit(folder / "store", **files, resolved=True)  # type: ignore[arg-type]
    assert averaged.rows.height == once.height
    assert resolved.rows.height == 4 * once.height
    one, many = (each.fitted.pooled.row(0, named=True) for each in (averaged, resolved))
    assert many["k1"] == pytest.approx(one["k1"], abs=0.03)
    assert 0.6 < many["k1_error"] / one["k1_error"] < 1.7


def test_a_fit_is_written_with_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        bound(folder, tmp_path / name, compare="ridge")
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").write_text("")
    with pytest.raises(TracekitError):
        write_fit(bound(folder), tmp_path / "mine")


def test_the_policy_loses_less_than_its_baselines(folder: Path, tmp_path: Path) -> None:
    """Decided by the fit, measured by what was planted."""
    bound(folder, tmp_path / "fit")
    result = bind(
        folder / "store",
        ("interference", "lowest_free", "least_allocated"),
        fit=tmp_path / "fit",
        truth=folder / "trace" / "truth" / "binding.parquet",
        out=tmp_path / "bound",
        repeats=6,
        seed=1,
    )
    lost = result.differences.filter(pl.col("measure") == "inflation_vcpus")
    assert lost["separated"].all()
    assert (lost["share_mean"] < -0.2).all()
    assert (lost["difference_high"] < 0).all()
    assert (tmp_path / "bound" / "containers.parquet").is_file()
