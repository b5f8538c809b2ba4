"""The decision that is planted in the demo's cluster, against replays of its store."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from replay_support import changed

import tracekit
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.view.usage import rank_of
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.sampling import add_up
from tracekit.store.folder import open_store
from tracekit.synth import write
from tracekit.synth.presets import get_preset
from tracekit.synth.room_requests import GPU, TAINTED
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import make_world


class Demo(NamedTuple):
    """The store of the demo, its requests as recommended, and the truth."""

    store: Path
    sized: Path
    truth: dict[str, pl.DataFrame]

    def load(self, *, recommended: bool = False, order: int = 0) -> Workload:
        assume = [f"requests=sized:{self.sized}"] if recommended else []
        return source_of(open_store(self.store), None, assume=assume, seed=order).load()

    def row(self) -> dict[str, float]:
        return self.truth["decision"].row(0, named=True)

    def kept(self, load: Workload) -> IntArray:
        """The positions of nodes that are not spare."""
        spare = dict(self.truth["decision_node"].select("node_id", "spare").iter_rows())
        return np.flatnonzero([not spare[node] for node in load.nodes.ids])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    out = tmp_path_factory.mktemp("demo")
    write(out / "trace", tables=["node", "resource", "size"])
    tracekit.ingest(out / "trace", out / "store")
    tracekit.requests(out / "store", out=out / "sized", by="use")
    truth = {
        path.stem: pl.read_parquet(path) for path in (out / "trace" / "truth").glob("d*.parquet")
    }
    return Demo(out / "store", out / "sized", truth)


def fullest(load: Workload, node: IntArray, steps: IntArray) -> tuple[FloatArray, FloatArray]:
    """CPU as 99th percentile over these steps, and the highest memory, of each node."""
    everyone = np.arange(load.containers.count)
    # who comes late uses nothing before
    load = changed(load, use={"values": np.nan_to_num(load.use.values)})
    use = (
        add_up(load, everyone, node, range(len(load.use.times_ms)))[steps]
        / load.nodes.capacity[:, :2]
    )
    return np.sort(use[..., 0], axis=0)[rank_of(len(steps))], use[..., 1].max(axis=0)


def test_production_is_below_the_ceiling(demo: Demo) -> None:
    load, row = demo.load(), demo.row()
    settled = np.flatnonzero(load.use.times_ms >= load.use.settled_ms)
    cpu, memory = fullest(load, load.containers.recorded_node, settled)
    assert cpu.max() <= row["ceiling_cpu_fraction"]
    assert memory.max() <= row["ceiling_memory_fraction"]
    # special nodes are busy before the replay is judged; all others never
    whole, _ = fullest(load, load.containers.recorded_node, np.arange(len(load.use.times_ms)))
    special = dict(demo.truth["decision_node"].select("node_id", "special").iter_rows())
    full = {load.nodes.ids[at] for at in np.flatnonzero(whole > row["ceiling_cpu_fraction"])}
    assert full == {node for node, why in special.items() if why is not None}
    assert len(full) == row["special_nodes"]


def test_less_than_half_of_what_is_requested_is_used(demo: Demo) -> None:
    load = demo.load()
    used = sum(
        float(np.nansum(load.use.at(step)[0])) for step in range(0, len(load.use.times_ms), 60)
    )
    assert (
        used / len(range(0, len(load.use.times_ms), 60))
        < 0.25 * load.containers.request[:, 0].sum()
    )


def test_services_with_over_stated_requests_are_the_planted_ones(demo: Demo) -> None:
    rows = pl.read_parquet(demo.sized / "services.parquet")
    cpu = rows.filter(pl.col("resource") == "cpu", pl.col("policy") == "percentile_request")
    both = demo.truth["decision_service"].join(cpu, left_on="service_id", right_on="service")
    assert both.height == 64
    assert 0.3 < both["over_stated"].to_numpy().mean() < 0.9
    ratio = (both["recommended"] / both["right_cpu_cores"]).to_numpy()
    assert np.quantile(ratio, [0.1, 0.5, 0.9]) == pytest.approx([1, 1, 1], abs=0.3)
    cut = both["recommended"] < both["asked_cpu_cores"] / 1.4
    assert (cut == both["over_stated"]).to_numpy().mean() > 0.9


def test_the_planted_homes_hold_the_ceiling(demo: Demo) -> None:
    load, row = demo.load(recommended=True), demo.row()
    few = on_nodes(load, demo.kept(load))
    assert few.nodes.count == row["enough_nodes"]
    at = {node: number for number, node in enumerate(few.nodes.ids)}
    home = dict(demo.truth["decision_container"].iter_rows())
    node = np.array([at[home[container]] for container in few.containers.ids])
    cpu, memory = fullest(few, node, np.flatnonzero(few.use.times_ms >= few.use.settled_ms))
    assert cpu.max() <= row["ceiling_cpu_fraction"]
    assert memory.max() <= row["ceiling_memory_fraction"]


@pytest.mark.parametrize("order", [0, 1])
def test_requests_decide_whether_the_planted_count_is_enough(demo: Demo, order: int) -> None:
    """Of the scheduler in use: it places by request, so requests come first."""
    row, scheduler = demo.row(), parse_policy("default_scheduler")
    fullest_of = {}
    for recommended in (False, True):
        load = demo.load(recommended=recommended, order=order)
        for name, nodes in (("all", np.arange(load.nodes.count)), ("few", demo.kept(load))):
            some = on_nodes(load, nodes)
            replayed = Engine(some, scheduler, np.random.default_rng(order)).run()
            fullest_of[recommended, name] = replayed.over_time.cpu_p99.max()
    ceiling = row["ceiling_cpu_fraction"]
    # one order of arrival of several: a node may be above by a little
    slack = 0.01
    assert fullest_of[False, "few"] > ceiling + slack
    assert fullest_of[False, "all"] <= ceiling + slack
    assert fullest_of[True, "few"] <= ceiling + slack


def test_prices_and_what_is_saved(demo: Demo) -> None:
    load, row = demo.load(), demo.row()
    assert load.nodes.price_per_hour is not None
    assert load.nodes.price_per_hour.sum() == pytest.approx(row["hourly_price"])
    saved = load.nodes.price_per_hour.sum() - load.nodes.price_per_hour[demo.kept(load)].sum()
    assert saved == pytest.approx(row["hourly_saving"])
    sold = demo.truth["decision_node"].filter(pl.col("special").is_null())
    assert sold["sold_as"].n_unique() == sold["hourly_price"].n_unique() == 2


@pytest.mark.parametrize("seed", [1, 7])
def test_what_is_planted_obeys_the_rules(seed: int) -> None:
    """Requests fit, and nobody has a home that is spare, lacks a GPU or has a foreign taint."""
    world = make_world(get_preset("small"), Seeds(seed))
    planted, kind = world.planted, world.node_sizes.shape
    assert planted is not None
    service = world.containers.service
    used = np.zeros_like(world.node_sizes.capacity)
    np.add.at(used, world.containers.node, world.service_sizes.request[service])
    assert (used <= world.node_sizes.capacity).all()
    assert 0.75 < used[:, 0].sum() / world.node_sizes.capacity[:, 0].sum() < 0.9
    assert not planted.spare[planted.home].any()
    assert not (planted.spare & world.node_sizes.special).any()
    bound = planted.bound_to[service]
    for node in (world.containers.node, planted.home):
        assert (kind[node][bound >= 0] == bound[bound >= 0]).all()
        assert (kind[node][bound < 0] != TAINTED).all()
    assert set(bound) == {-1, GPU, TAINTED}
