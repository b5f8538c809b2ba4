"""A workload from Parquet files: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from facts_support import the
from workload_support import PARQUET, parquet_folder

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.cluster.loaders import load_workload
from tracekit.cluster.parquet.workload import workload_from_parquet
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.source import source_of
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.runs.run import replay


def test_all_of_it_is_read(tmp_path: Path) -> None:
    load = workload_from_parquet(parquet_folder(tmp_path / "load"))
    assert load.name == "load"
    assert load.times_ms.tolist() == [0, 1000, 2000, 3000]
    assert load.resources == ("cpu_milli", "memory_bytes", "pods", "gpu")
    assert load.capacity.tolist() == [[1000, 100, 5, 0], [2000, 100, UNLIMITED, 2]]
    assert load.container_ids == ("early", "silent", "late")
    assert load.recorded_node.tolist() == [0, -1, 1]
    assert load.departure_ms.tolist() == [2000, 3000, 4000]
    assert load.request.tolist() == [[0, 20, 1, 0], [0, 0, 1, 0], [100, 10, 1, 1]]
    assert load.nonzero_request[:, 0].tolist() == [100, 0, 100]  # early states no cpu
    assert load.limit[:, 0].tolist() == [0, 0, 200]
    assert load.usage[0, 1:, 2].tolist() == [70.0, 70.0, 90.0]
    assert load.usage[0, :3, 1].tolist() == [0.0, 0.0, 0.0]
    assert load.background[0].tolist() == [[0.0, 500.0]] * 4
    assert load.facts["containers_without_usage"] == 1
    assert load.recorded


def test_what_use_is_missing_is_counted(tmp_path: Path) -> None:
    asked = column("containers", "cpu_milli", [100, None, 300])
    early = {**PARQUET["usage"], "time_ms": [0, 1000, 0, 3000]}
    load = workload_from_parquet(parquet_folder(tmp_path / "load", containers=asked, usage=early))
    silent = load.container_ids.index("silent")
    assert load.usage[0, :, silent].tolist()[:3] == [300.0] * 3  # what it requests stands in
    assert load.facts == {
        "containers_without_usage": 1,
        "containers_with_request_as_use": 1,
        "container_steps_held": 2,  # of late, which has a sample of step 3 alone in its life
        "usage_samples_outside_lives": 1,  # of late, which arrives at 1000
    }
    assert load.quantities["use of 1 of 3 containers"] == "assumed"


def test_limits_may_be_left_out(tmp_path: Path) -> None:
    stated = {k: v for k, v in PARQUET["containers"].items() if "limit" not in k}
    load = workload_from_parquet(parquet_folder(tmp_path / "load", containers=stated))
    assert load.limit.tolist() == [[0, 0, 0, 0]] * 3


def column(file: str, name: str, values: list[Any] | None) -> dict[str, list[Any]]:
    rest = {key: value for key, value in PARQUET[file].items() if key != name}
    return rest if values is None else {**rest, name: values}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a file is missing": ({"usage": None}, "usage.parquet' is not there"),
    "a column is missing": (
        {"nodes": column("nodes", "node", None)}, "nodes.parquet has no column 'node'"
    ),
    "a wrong type": (
        {"usage": column("usage", "cpu_milli", ["1", "2", "3", "4"])},
        "usage.parquet: column cpu_milli is String, expected Float64",
    ),
    "a time since 1970": (
        {"usage": column("usage", "time_ms", [0, 1000, 2000, 1_700_000_000_000])},
        "times go from 0 to 1700000000000 ms, which is 1,700,000,001 steps of 1000 ms",
    ),
    "NaN usage": (
        {"usage": column("usage", "memory_bytes", [1.0, float("nan"), 2.0, 3.0])},
        "usage.parquet: column memory_bytes has 1 missing values, the first in row 1",
    ),
    "a strange node": (
        {"containers": column("containers", "node", ["n9", "n0", None])},
        "containers.parquet speaks of node 'n9'",
    ),
    "a strange container": (
        {"usage": column("usage", "container", ["x", "early", "late", "late"])},
        "usage.parquet speaks of container 'x'",
    ),
    "a node twice": (
        {"nodes": column("nodes", "node", ["n0", "n0"]),
         "containers": column("containers", "node", ["n0", "n0", None]), "background": None},
        "node 'n0' is there twice",
    ),
    "text beside the resources": (
        {"nodes": column("nodes", "shelf", ["eu-1", "eu-2"])},
        "nodes.parquet: column shelf is text, 'eu-1' for example; a further column is an extended",
    ),
    "times since 1970 in one file alone": (
        {"usage": column("usage", "time_ms", [1_760_000_000_000 + at for at in (0, 1, 2, 3)])},
        "at most 2,000,000 are replayed",
    ),
    "departure before arrival": (
        {"containers": column("containers", "departure_ms", [500, 2000, 3000])},
        "container 'late' departs at 500 ms",
    ),
    "no capacity": (
        {"nodes": column("nodes", "cpu_milli", [0, 1])}, "node 'n0' has cpu_milli 0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    changes, message = BROKEN[name]
    with pytest.raises(TracekitError) as raised:
        workload_from_parquet(parquet_folder(tmp_path / "load", **changes))
    assert message in raised.value.what


def test_not_a_parquet_file(tmp_path: Path) -> None:
    folder = parquet_folder(tmp_path / "load")
    (folder / "nodes.parquet").write_text("node\n")
    with pytest.raises(TracekitError, match="is not a Parquet file"):
        workload_from_parquet(folder)


def test_prices_are_read_where_some_are_known(tmp_path: Path) -> None:
    nodes = {**PARQUET["nodes"], "price_per_hour": [1.5, None]}
    load = source_of(None, parquet_folder(tmp_path / "load", nodes=nodes)).load()
    assert load.resources == ("cpu_milli", "memory_bytes", "pods", "gpu")
    assert load.price_per_hour is not None
    assert load.price_per_hour[0] == 1.5
    assert load.price_per_hour[1] != load.price_per_hour[1]
    unpriced = the(load.remarks, "unpriced")
    assert (unpriced.value, unpriced.about["of"]) == (1, 2)
    assert workload_from_parquet(parquet_folder(tmp_path / "none")).price_per_hour is None


def test_what_ran_at_the_beginning_stays_where_the_folder_has_it(tmp_path: Path) -> None:
    """As with a store: of three containers 'early' is there and has a node; 'late' comes later."""
    text, rng = str(parquet_folder(tmp_path / "load")), np.random.default_rng(0)
    plain = load_workload(text, rng)
    chosen = {"start": "empty", "step_ms": 0, "arrival_span_ms": 7_200_000}
    assert (plain.pinned, dict(plain.assumptions)) == (None, chosen)
    load = load_workload(text, rng, assume=["start=observed"])
    assert load.container_ids == ("early", "silent", "late")
    assert load.pinned is not None
    assert load.pinned.tolist() == [0, -1, -1]
    assert dict(load.assumptions) == {**chosen, "start": "observed"}
    # the policy would have put it on the other node
    outcome = replay(load, [parse_entrant("worst_fit")], seed=0).placements
    nodes = dict(outcome.filter(policy="worst_fit").select("container", "node").iter_rows())
    assert nodes["early"] == load.node_ids[0]
    anew = replay(plain, [parse_entrant("worst_fit")], seed=0).placements
    assert (
        dict(anew.filter(policy="worst_fit").select("container", "node").iter_rows())["early"]
        == load.node_ids[1]
    )


def test_what_was_there_at_the_beginning_arrives_as_in_a_store(tmp_path: Path) -> None:
    """Over the span, in a drawn order, so that policies that read use have some to see."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    ids = [f"c{at}" for at in range(6)]
    late = [*[0] * 5, 500_000]
    pl.DataFrame({"node": ["n"], "cpu_milli": [8000], "memory_bytes": [2**34]}).write_parquet(
        folder / "nodes.parquet"
    )
    pl.DataFrame(
        {"container": ids, "service": ["web"] * 6, "node": ["n"] * 6, "arrival_ms": late}
    ).with_columns(
        pl.lit(None, pl.Int64).alias("departure_ms"),
        pl.lit(500).alias("cpu_milli"),
        pl.lit(2**20).alias("memory_bytes"),
    ).write_parquet(folder / "containers.parquet")
    pl.DataFrame(
        [(one, at * 100_000, 100.0 + at, 1e6) for one in ids for at in range(11)],
        schema=["container", "time_ms", "cpu_milli", "memory_bytes"],
        orient="row",
    ).filter((pl.col("container") != "c5") | (pl.col("time_ms") >= 500_000)).write_parquet(
        folder / "usage.parquet"
    )
    tracekit.ingest(folder, tmp_path / "store")
    assume = ("arrival_span_ms=400000",)
    load = source_of(None, folder, assume=assume, seed=3).load()
    stored = source_of(tmp_path / "store", None, assume=assume, seed=3).load()
    assert load.arrival_ms.tolist() == [0, 80_000, 160_000, 240_000, 320_000, 500_000]
    for one in ("arrival_ms", "departure_ms", "exchangeable"):
        assert getattr(load, one).tolist() == getattr(stored, one).tolist(), one
    assert load.settled_ms == stored.settled_ms == 320_000
    assert sorted(load.container_ids) == ids
    assert load.container_ids != tuple(ids)
    # in another order one that now comes last may be there from the beginning
    last = int(load.columns_of(np.array([4]))[0])
    assert load.usage[0, :, last].tolist() == pytest.approx([100.0 + at for at in range(11)])


def test_an_observed_start_of_which_nothing_is_known_is_refused(tmp_path: Path) -> None:
    folder = parquet_folder(
        tmp_path / "load", containers=column("containers", "node", [None, None, None])
    )
    with pytest.raises(TracekitError, match="of nothing that was there at the beginning"):
        load_workload(str(folder), np.random.default_rng(0), assume=["start=observed"])


def test_the_end_is_the_latest_of_arrivals_departures_and_use(tmp_path: Path) -> None:
    """By the rule of a store: who comes or goes after the last sample is there at a step."""
    late = {**column("containers", "arrival_ms", [7500, 0, 0]), "departure_ms": [None, 6000, 2000]}
    folder = parquet_folder(tmp_path / "load", containers=late)
    load = workload_from_parquet(folder)
    assert load.times_ms.tolist() == list(range(0, 9000, 1000))
    at = load.container_ids.index("late")
    assert load.present(8)[at]
    assert np.isfinite(load.usage[:, 8, at]).all()
    few = workload_from_parquet(folder, step_ms=4000)
    assert few.times_ms.tolist() == [0, 4000, 8000]


def test_the_beginning_is_the_first_sample_of_use(tmp_path: Path) -> None:
    """Who came before is there then, and who had gone before is not replayed."""
    later = column("usage", "time_ms", [at + 2000 for at in PARQUET["usage"]["time_ms"]])
    load = workload_from_parquet(parquet_folder(tmp_path / "load", usage=later))
    assert load.times_ms[0] == 2000
    assert "early" not in load.container_ids
    assert load.arrival_ms.min() == 2000
    assert load.facts["containers_departed_before"] == 1


def test_who_lives_between_two_steps_is_counted(tmp_path: Path) -> None:
    """A container from 1100 to 1900 is at no step of 1000 ms."""
    short = {**column("containers", "arrival_ms", [0, 0, 1100]), "departure_ms": [2000, 3000, 1900]}
    folder = parquet_folder(tmp_path / "load", containers=short)
    load = source_of(None, folder).load()
    assert load.facts["containers_between_samples"] == 1
