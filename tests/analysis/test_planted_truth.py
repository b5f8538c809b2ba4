"""What synth planted is found again, through archives, ingest and analysis; errors are stated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from tracekit.analysis.run import Analysis, analyze
from tracekit.base.arrays import stream
from tracekit.cluster.source import source_of
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run
from tracekit.synth import generate, write
from tracekit.synth.presets import Preset
from tracekit.synth.services import NODE_SHAPES

pytestmark = pytest.mark.slow

#: Few services with many containers, so that sizes can be told within six hours.
PRESET = Preset(
    title="for the analytics' tests",
    nodes=100,
    services=16,
    containers=800,
    hours=6,
    traces=20,
    call_minutes_per_file=360,
)
#: Most nodes are of this shape, which shares are of.
COMMONEST_CORES = NODE_SHAPES[0].cpu_cores


@dataclass
class World:
    store: Store
    analysis: Analysis
    truth: dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("synth")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "get_preset", lambda _name: PRESET)
        write(folder / "trace", preset="test", seed=3)
    ingest(folder / "trace", folder / "store")
    truth = {
        name: pl.read_parquet(folder / "trace" / "truth" / f"{name}.parquet")
        for name in ("node", "service", "container")
    }
    store = open_store(folder / "store")
    return World(store, analyze(store), truth)


def largest(errors: pl.Series) -> float:
    return float(np.abs(errors.drop_nulls().to_numpy()).max())


def test_nodes_exactly(world: World) -> None:
    """Zones, and r, G, means, medians, deviations and maxima to 1e-9."""
    result = world.analysis.frames["usage/node_profile"].rename({"node": "node_id"})
    both = result.join(world.truth["node"], on="node_id", suffix="_true", validate="1:1")
    assert both.height == PRESET.nodes
    assert both["zone"].equals(both["zone_true"], check_names=False)
    # one node has a row more, at a stray time; it holds the node's means and so keeps r
    same = both.filter(pl.col("samples") == pl.col("samples_true"))
    assert same.height == both.height - 1
    moments = [f"{r}_{m}" for r in ("cpu", "memory") for m in ("mean", "median", "std", "max")]
    for frame, names in ((both, ["pearson_r"]), (same, ["util_diff", *moments])):
        for name in names:
            assert largest(frame[name] - frame[f"{name}_true"]) < 1e-9, name


def test_containers_exactly(world: World) -> None:
    result = world.analysis.frames["usage/container_profile"].rename({"container": "container_id"})
    both = result.join(world.truth["container"], on="container_id", suffix="_true", validate="1:1")
    assert both.height == PRESET.containers
    assert both["node"].equals(both["node_id"], check_names=False)
    assert both["service"].equals(both["service_id"], check_names=False)
    # a few broken rows are not in the store, so a mean may differ by what they weigh
    whole = both.filter(pl.col("samples") == pl.col("samples_true"))
    assert whole.height > 0.9 * both.height
    for name in ("cpu_mean", "memory_mean"):
        assert largest(whole[name] - whole[f"{name}_fraction"]) < 1e-9


def test_services_have_their_containers(world: World) -> None:
    result = world.analysis.frames["services/profile"].rename({"service": "service_id"})
    both = result.join(world.truth["service"], on="service_id", suffix="_true", validate="1:1")
    assert both["containers"].to_list() == both["containers_true"].to_list()


def test_late_containers_are_the_only_deployments(world: World) -> None:
    late = world.truth["container"].filter(pl.col("first_ms") > 0)
    assert late.height
    causes = world.analysis.frames["usage/node_causes"].filter(
        pl.col("cause").str.contains("deploy")
    )
    assert set(causes["cause"]) == {"deploy+"}
    assert set(causes["node"]) == set(late["node_id"])


@pytest.mark.parametrize(("r_squared", "error"), [(0.5, 0.25), (0.9, 0.05)])
def test_what_a_call_costs(world: World, r_squared: float, error: float) -> None:
    """Slopes within 25 % where calls explain half of a service's CPU, 5 % where nine tenths."""
    result = world.analysis.frames["services/demand"].rename({"service": "service_id"})
    both = result.join(world.truth["service"], on="service_id", validate="1:1")
    assert both.height == PRESET.services
    following = both.filter(pl.col("r_squared") >= r_squared)
    assert following.height >= 2
    assert largest(following["cpu_per_call"] / following["cpu_fraction_per_call_s"] - 1) < error
    falling = following.filter(pl.col("cpu_fraction_per_call_s") < 0)
    assert (falling["cpu_per_call"] < 0).all()


def test_sizes_of_containers(world: World) -> None:
    """CPU: told sizes within half of the common one; intervals hold the truth as they say."""
    fit = world.analysis.frames["service_sizes_fit"]
    cpu = fit.filter(resource="cpu").row(0, named=True)
    assert cpu["verdict"] == "told"
    sizes = world.analysis.frames["service_sizes"].filter(resource="cpu")
    truth = world.truth["service"].select(
        service="service_id", true=pl.col("cpu_limit_cores") / COMMONEST_CORES
    )
    both = sizes.join(truth, on="service", validate="1:1")
    smallest, largest_size = both["true"].min(), both["true"].max()
    assert smallest < cpu["node_share"] < largest_size
    rows = both.filter(verdict="told")
    assert rows.height == cpu["services_told"] >= 4
    assert largest(rows["node_share"] - rows["true"]) < 0.5 * cpu["node_share"]
    held = (both["node_share_low"] <= both["true"]) & (both["node_share_high"] >= both["true"])
    assert held.sum() >= both.height - 2
    # sizes that differ are told apart: larger ones are found larger
    assert np.corrcoef(rows["node_share"], rows["true"])[0, 1] > 0.9
    assert sizes.filter(verdict="cannot tell")["node_share"].null_count() == (
        sizes.height - rows.height
    )


def test_a_replay_takes_the_sizes_that_are_told(world: World) -> None:
    """Told services have their size, others the common one; use in cores is as it was planted."""
    assumed = source_of(world.store, None, assume=["requests=recorded"]).load()
    load = source_of(world.store, None, assume=["requests=inferred"]).load()
    sizes = world.analysis.frames["service_sizes"].filter(resource="cpu", verdict="told")
    result = dict(sizes.select("service", "node_share").rows())
    common = world.analysis.frames["service_sizes_fit"].filter(resource="cpu")["node_share"][0]
    for service, wanted in zip(
        load.containers.services, load.containers.request[:, 0].tolist(), strict=True
    ):
        if service in result:
            expected = max(result[service], 0.1 * common) * COMMONEST_CORES * 1000
            assert wanted == pytest.approx(expected, abs=1.5)
    cpu = "requests: cpu_milli"
    assert (load.provenance.quantities[cpu], assumed.provenance.quantities[cpu]) == (
        "inferred",
        "recorded",
    )
    assert load.provenance.quantities["requests: memory_bytes"] == "assumed"
    assert load.provenance.facts["containers_with_memory_size_told"] == 0
    same = {name: at for at, name in enumerate(assumed.containers.ids)}
    order = np.array([same[name] for name in load.containers.ids])
    planted = np.nansum(assumed.use.values[0][:, order])
    assert np.nansum(load.use.values[0]) == pytest.approx(planted, rel=0.15)


def test_drawn_sizes_cover_what_was_planted(world: World) -> None:
    """The planted size of nearly every service lies among the middle 95 of 100 that are drawn."""
    load = source_of(world.store, None, assume=["requests=inferred"]).load()
    assert load.provenance.doubt is not None
    drawn = np.stack([load.provenance.doubt.drawn(stream(at, "cover"))[:, 0] for at in range(200)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    truth = dict(world.truth["service"].select("service_id", "cpu_limit_cores").rows())
    names = dict(zip(load.provenance.doubt.group.tolist(), load.containers.services, strict=True))
    planted = np.array([truth[names[at]] * 1000 for at in range(len(low))])
    result = load.provenance.doubt.estimated[:, 0]
    held = (low <= planted) & (planted <= high)
    assert held[result].sum() >= result.sum() - 1
    assert held.mean() >= 0.8


def test_memory_sizes_cannot_be_told(world: World) -> None:
    """A made-up node's memory does not follow its containers', and no size is made up for it."""
    fit = world.analysis.frames["service_sizes_fit"].filter(resource="memory").row(0, named=True)
    assert (fit["verdict"], fit["node_share"], fit["services_told"]) == ("cannot tell", None, 0)


def test_placement_of_the_largest_service(world: World) -> None:
    replayed = run(world.store, "services/placement")
    largest = world.truth["service"].sort("containers", "service_id", descending=[True, False])
    assert replayed["service"].unique().to_list() == [largest["service_id"][0]]
    expected = world.truth["container"].filter(service_id=largest["service_id"][0])
    edges = expected.select("container_id", "node_id").sort("container_id").rows()
    assert replayed.select("container", "node").rows() == edges
