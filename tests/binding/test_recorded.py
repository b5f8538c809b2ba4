"""Binding as it was recorded, and the cost of recorded neighbours, which recorded use contains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import Row, changed, workload

import tracekit
from tracekit.base.arrays import FloatArray
from tracekit.binding import RecordedUse
from tracekit.binding.choosers import Bindings, parse_ways, recorded_bindings, recorded_chooser
from tracekit.binding.loop import VcpuOutcome, VcpuReplay
from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.run import VcpuRun, replay_vcpus
from tracekit.binding.tables import OldNeighbours, RecordedUseDecision, held_by_use
from tracekit.binding.vcpu_state import request_vcpus, room_of
from tracekit.cluster.workload import Workload
from tracekit.commands.bind import bind
from tracekit.store.folder import open_store

#: Two containers of two cores, one of three, all there at once.
ROWS: list[Row] = [(0, 9000, 2000, 1), (0, 9000, 2000, 1), (0, 9000, 3000, 1)]


def replayed(bindings: Bindings) -> VcpuOutcome:
    """Two hosts of eight vCPUs: 0, 1, 4, 5 are the first socket."""
    load = workload([(8000, 1000)] * 2, ROWS, steps=4)
    model = InterferenceModel(cpu=np.array([0.5]), k1=np.array([0.3]), k2=np.array([0.1]))
    room = room_of(load)
    chooser = recorded_chooser(load, room, bindings)
    service = np.zeros(load.containers.count, dtype=np.int64)
    size = chooser.size(request_vcpus(load.containers.request, load.resources))
    rng = np.random.default_rng(0)
    return VcpuReplay(load, room, model, service, chooser, rng, size=size).run()


def names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    load = workload([(8000, 1000)] * 2, ROWS, steps=4)
    return load.containers.ids, load.nodes.ids


def test_containers_go_where_they_were() -> None:
    (a, b, c), (n0, n1) = names()
    outcome = replayed({a: (n1, "0,4"), b: (n1, "2-3"), c: (n0, "1,4-5")})
    assert outcome.node.tolist() == [1, 1, 0]
    assert outcome.vcpus == [[0, 4], [2, 3], [1, 4, 5]]
    assert (outcome.socket >= 0).all()


UNBOUND = {
    "somebody has one of them": "4-5",
    "across sockets": "1-2",
    "not on this host": "8-9",
    "no list": "x",
}


@pytest.mark.parametrize("case", UNBOUND)
def test_who_cannot_have_them_is_on_the_host_unbound(case: str) -> None:
    (a, b, c), (n0, n1) = names()
    outcome = replayed({a: (n0, "0,4"), b: (n0, UNBOUND[case]), c: (n1, "2-3,6")})
    assert outcome.node.tolist() == [0, 0, 1]
    assert outcome.vcpus == [[0, 4], [], [2, 3, 6]]
    assert outcome.socket[1] == -1


def test_containers_have_as_many_as_they_had() -> None:
    (a, b, c), (n0, _) = names()
    outcome = replayed({a: (n0, "0"), b: (n0, "2-3,6-7"), c: (n0, "1,4-5")})
    assert outcome.vcpus == [[0], [2, 3, 6, 7], [1, 4, 5]]
    assert outcome.steps[0]["bound_vcpus"] == 8


def test_who_was_nowhere_stays_out() -> None:
    (a, b, _), (n0, _) = names()
    outcome = replayed({a: (n0, "0,4"), b: ("elsewhere", "2-3")})
    assert outcome.node.tolist() == [0, -1, -1]


@pytest.mark.slow
def test_a_trace_with_vcpus_is_fitted_and_bound_without_further_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    trace = tmp_path / "trace"
    trace.mkdir()
    created, used = [], []
    for container in range(24):
        node, socket, at = container % 3, container // 3 % 2, container // 6
        cpus = [16 * socket + 4 * at, 16 * socket + 4 * at + 1, 16 * socket + 4 * at + 32]
        created.append(f"0,Create,{container},{node},3,0.02,0.01,{'|'.join(map(str, cpus))}")
        used += [
            f"{39600 + 300 * step},{container},{rng.uniform(5, 80):.2f},50,10,1,1,1,1,1,1,1"
            for step in range(12)
        ]
    events = [f"0,{node},add,,64,0.69,1" for node in range(3)]
    for name, lines in (
        ("server_event", events),
        ("container_event", created),
        ("container_usage", used),
    ):
        (trace / f"{name}.csv").write_text("\n".join(lines) + "\n")
    tracekit.ingest(trace, tmp_path / "store")
    assert recorded_bindings(open_store(tmp_path / "store"))["0"] == ("0", "0-1,32")
    fit = tracekit.fit(tmp_path / "store", tmp_path / "fit", resolved=True)
    assert fit.mode == "bound"
    assert fit.rows.height == 24 * 12
    assert (fit.rows["cpu_ss"] > 0).any()
    run = bind(tmp_path / "store", fit=tmp_path / "fit")
    assert run.policies[-1] == "recorded"
    recorded = run.containers.filter(policy="recorded")
    as_it_was = dict(recorded.select("container", "vcpus").iter_rows())
    assert as_it_was["0"] == [0, 1, 32]
    assert as_it_was["23"] == [28, 29, 60]
    assert set(recorded.select("container", "node").rows()) == {
        (str(one), str(one % 3)) for one in range(24)
    }


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up trace and its store; bindings are in the truth alone."""
    folder = tmp_path_factory.mktemp("recorded")
    tracekit.synth(folder / "trace", preset="tiny")
    tracekit.ingest(folder / "trace", folder / "store")
    return folder


@pytest.mark.slow
def test_the_recorded_binding_is_that_of_the_rows_of_the_fit(made_up: Path, tmp_path: Path) -> None:
    """The audit's figure: what is lost as recorded, from the planted truth by plain sums."""
    truth = made_up / "trace" / "truth"
    files = {"binding": truth / "monitoring.csv", "topology": truth / "topology.csv"}
    tracekit.fit(made_up / "store", tmp_path / "fit", **files)  # type: ignore[arg-type]
    planted = pl.read_parquet(truth / "binding.parquet").filter(pl.col("cpu_list") != "")
    bindings = pl.read_parquet(tmp_path / "fit" / "bindings.parquet")
    expected = planted.select("container_id", "node_id", "cpu_list").sort("container_id")
    assert bindings.select("container", "node", "vcpus").rows() == expected.rows()
    result = bind(
        made_up / "store",
        ["recorded", "whole_cores"],
        fit=tmp_path / "fit",
        truth=truth / "binding.parquet",
        assume=["start=observed"],
    )
    load = result.workload
    always = (load.containers.departure_ms > load.use.times_ms[-1]) & (
        load.containers.arrival_ms <= load.use.times_ms[0]
    )
    throughout = {name for name, place in zip(load.containers.ids, always, strict=True) if place}
    hosts = planted.group_by("node_id").agg(pl.col("container_id").is_in(throughout).all())
    whole = hosts.filter("container_id")["node_id"].to_list()
    place = result.containers.filter(pl.col("policy") == "recorded", pl.col("node").is_in(whole))
    both = place.join(planted, left_on="container", right_on="container_id")
    assert both.height > 10
    lost = both["k1"] * both["cpu_sc"] + both["k2"] * both["cpu_ss"]
    assert both["inflation_fraction"].to_numpy() == pytest.approx(lost.to_numpy(), abs=1e-9)
    assert not result.held.taken_off
    assert result.held.high is not None
    assert result.held.high < 0.5


SERVICES = ("s0", "s1", "s2")
MODEL = InterferenceModel(
    cpu=np.array([0.5, 0.6, 0.7]), k1=np.array([0.3, 0.2, 0.1]), k2=np.array([0.05, 0.04, 0.03])
)
SEED = 3


def cluster(nodes: int = 6) -> tuple[Workload, Bindings]:
    """Hosts of 16 vCPUs, six containers of two vCPUs on each, scattered."""
    rng = np.random.default_rng(SEED)
    rows: list[Row] = [(0, 9000, 2000, 1)] * (6 * nodes)
    load = workload([(16_000, 1000)] * nodes, rows, steps=4)
    room = room_of(load)
    bindings: dict[str, tuple[str, str]] = {}
    for node in range(nodes):
        pairs = [
            rng.permutation(np.flatnonzero(room.socket[:16] == socket)).reshape(-1, 2)[:3]
            for socket in (0, 1)
        ]
        for at, pair in enumerate(np.concatenate(pairs).tolist()):
            name = load.containers.ids[6 * node + at]
            bindings[name] = load.nodes.ids[node], ",".join(map(str, sorted(pair)))
    return load, bindings


def measured(load: Workload, bindings: Bindings, share: float, noise: float = 0.0) -> Workload:
    """The workload as a monitor sees it: use holds ``share`` of what neighbours cost."""
    rng = np.random.default_rng(SEED)
    cost = old(load, bindings).cost_milli(0)
    usage = load.use.values.copy()
    usage[0] += (share * cost + rng.normal(0, noise, load.containers.count)).astype(np.float32)
    return changed(load, use={"values": usage})


def old(load: Workload, bindings: Bindings) -> OldNeighbours:
    service = np.array([SERVICES.index(one) for one in load.containers.services])
    return OldNeighbours(load, room_of(load), MODEL, service, bindings)


def run(
    load: Workload,
    bindings: Bindings,
    *names: str,
    use: RecordedUse = "with_neighbours",
    repeats: int = 1,
) -> VcpuRun:
    return replay_vcpus(
        load,
        room_of(load),
        MODEL,
        SERVICES,
        parse_ways(names),
        seed=1,
        repeats=repeats,
        recorded=bindings,
        recorded_use=use,
    )


def use_of_the_node(result: VcpuRun, name: str) -> FloatArray:
    """Of a workload with one node: millicores at each step."""
    steps = result.steps.filter(policy=name)
    return np.asarray(steps["cpu_max_fraction"].to_numpy() * result.workload.nodes.capacity[0, 0])


def test_as_it_was_comes_out_as_it_was_measured() -> None:
    load, bindings = cluster(nodes=1)
    seen = measured(load, bindings, share=1.0)
    result = run(seen, bindings, "recorded")
    assert result.held.taken_off
    recorded = np.nansum(seen.use.values[0], axis=1)
    assert use_of_the_node(result, "recorded") == pytest.approx(recorded, rel=1e-6)


def test_another_binding_costs_what_it_costs_and_no_more() -> None:
    load, bindings = cluster(nodes=1)
    name = "host_then_bind[bind=whole_cores,anti_affinity=false]"
    result = run(measured(load, bindings, share=1.0), bindings, name)
    own = np.nansum(load.use.values[0], axis=1)
    lost = result.steps["inflation_vcpus"].to_numpy() * 1000
    assert (lost > 0).all()
    assert use_of_the_node(result, name) == pytest.approx(own + lost, rel=1e-6)


@pytest.mark.parametrize(("share", "taken_off"), [(1.0, True), (0.0, False)])
def test_the_data_show_whether_use_holds_it(share: float, taken_off: bool) -> None:
    load, bindings = cluster(nodes=40)
    held = held_by_use(old(measured(load, bindings, share, noise=60.0), bindings), "auto")
    assert held.taken_off == taken_off
    assert held.low is not None
    assert held.high is not None
    assert held.low <= share <= held.high
    (fact,) = held.facts()
    assert fact.because == ("neighbours_taken_off" if taken_off else "neighbours_not_in_use")
    assert (fact.about["slope"], fact.about["slope_low"]) == (held.share, held.low)


def test_what_cannot_be_told_is_taken_off() -> None:
    load, bindings = cluster(nodes=1)
    few = dict(list(bindings.items())[:3])
    assert held_by_use(old(load, few), "auto") == RecordedUseDecision(taken_off=True, containers=3)
    assert not list(held_by_use(old(load, {}), "auto").facts())


def test_who_comes_in_another_order_keeps_his_own_cost() -> None:
    load, bindings = cluster()
    seen = measured(load, bindings, share=1.0)
    seen = changed(seen, containers={"exchangeable": np.ones(seen.containers.count, np.bool_)})
    result = run(seen, bindings, "recorded", repeats=3)
    same = result.repeats["cpu_spread_mean_fraction"].to_numpy()
    assert same == pytest.approx(np.full(3, same[0]), rel=1e-6)


def test_of_two_on_one_vcpu_neither_is_believed() -> None:
    load, bindings = cluster(nodes=1)
    first, second = load.containers.ids[:2]
    clash = {**bindings, second: bindings[first]}
    cost = old(load, clash).cost_milli(0)
    assert cost[:2].tolist() == [0, 0]
    assert (cost[2:] > 0).any()
