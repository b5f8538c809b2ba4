from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import Row, changed, workload

from tracekit.base.errors import TracekitError
from tracekit.binding.choosers import NAMED, HostThenBind, Interference, parse_ways
from tracekit.binding.loop import VcpuOutcome, VcpuReplay, risen
from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.run import replay_vcpus
from tracekit.binding.vcpu_state import room_of, room_of_file
from tracekit.cluster.workload import Workload

MODEL = InterferenceModel(
    cpu=np.array([0.5, 0.6, 0.7]), k1=np.array([0.3, 0.2, 0.1]), k2=np.array([0.05, 0.04, 0.03])
)
SERVICES = ("s0", "s1", "s2")
FOREVER = 9000


def load(rows: list[Row], nodes: int = 2, vcpus: int = 8) -> Workload:
    return workload([(vcpus * 1000, 1000)] * nodes, rows, steps=4)


def run(given: Workload, chooser: object, **options: object) -> VcpuOutcome:
    service = np.array([SERVICES.index(name) for name in given.containers.services])
    room = room_of(given)
    rng = np.random.default_rng(0)
    return VcpuReplay(given, room, MODEL, service, chooser, rng, **options).run()  # type: ignore[arg-type]


def check_exclusive(given: Workload, outcome: VcpuOutcome) -> None:
    """At no time do two containers hold one vCPU; each is inside one socket."""
    for now in given.use.times_ms.tolist():
        held = [
            (int(outcome.node[at]), vcpu)
            for at in range(given.containers.count)
            if 0 <= outcome.placed_ms[at] <= now < given.containers.departure_ms[at]
            for vcpu in outcome.vcpus[at]
        ]
        assert len(held) == len(set(held))


def many(seed: int, count: int = 60, nodes: int = 4) -> Workload:
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(count):
        arrival = int(rng.integers(0, 4)) * 700
        life_ms = int(rng.integers(1, 4000))
        rows.append((arrival, arrival + life_ms, int(rng.integers(0, 4000)), 1))
    return load(rows, nodes=nodes, vcpus=16)


CHOOSERS = {
    "interference": Interference(),
    "delta": Interference(choice="delta", anti_affinity=False),
    **NAMED,
    "best window": HostThenBind(bind="least_interference", anti_affinity=False),
}


@pytest.mark.parametrize("name", CHOOSERS)
@pytest.mark.parametrize("seed", range(4))
def test_vcpus_belong_to_one_container_at_a_time(name: str, seed: int) -> None:
    given = many(seed)
    outcome = run(given, CHOOSERS[name])
    check_exclusive(given, outcome)
    placed = outcome.node >= 0
    assert placed.any()
    wanted = -(-given.containers.request[:, 0] // 1000)
    assert [len(vcpus) for vcpus in outcome.vcpus] == np.where(placed, wanted, 0).tolist()
    assert all(row["placed"] + row["pending"] >= 0 for row in outcome.steps)


@pytest.mark.parametrize("name", ["interference", "lowest_free", "least_allocated", "random_free"])
def test_services_do_not_meet_on_a_host(name: str) -> None:
    given = many(1)
    outcome = run(given, CHOOSERS[name])
    for now in given.use.times_ms.tolist():
        together = [
            (int(outcome.node[at]), given.containers.services[at])
            for at in range(given.containers.count)
            if 0 <= outcome.placed_ms[at] <= now < given.containers.departure_ms[at]
        ]
        assert len(together) == len(set(together))


def test_the_policy_avoids_siblings_while_there_is_room() -> None:
    given = load([(0, FOREVER, 2000, 1), (0, FOREVER, 2000, 1), (0, FOREVER, 2000, 1)])
    ways = {Interference(candidates="ids"): [0, 1], Interference(): [0, 4]}
    for chooser, first in ways.items():
        outcome = run(given, chooser)
        assert outcome.vcpus[0] == first
        assert len({(n, s) for n, s in zip(outcome.node, outcome.socket, strict=True)}) == 3
        assert outcome.inflation.tolist() == [0, 0, 0]


def test_a_socket_half_taken_has_room_for_whole_cores() -> None:
    """By id no window of a socket holds both threads of a core: then cores are shared."""
    given = load([(0, FOREVER, 2000, 1)] * 3, nodes=1)
    shared, whole = (run(given, one) for one in (Interference(candidates="ids"), Interference()))
    assert shared.inflation.sum() > whole.inflation.sum()


def test_who_finds_no_room_waits_until_some_is_freed() -> None:
    given = load([(0, 1500, 4000, 1), (0, FOREVER, 4000, 1), (0, FOREVER, 4000, 1)], nodes=1)
    outcome = run(given, Interference())
    assert outcome.placed_ms.tolist() == [0, 0, 1500]
    assert [row["pending"] for row in outcome.steps] == [1, 1, 0, 0]


def test_use_rises_with_interference_up_to_twice_the_request() -> None:
    rows: list[Row] = [(0, FOREVER, 2000, 1), (0, FOREVER, 2000, 1)]
    given = load(rows, nodes=1, vcpus=4)
    given = changed(given, nodes={"capacity": np.array([[4000, 1000]])})
    service = np.array([0, 1])
    room = room_of(given, sockets=1)
    outcomes = [
        VcpuReplay(given, room, MODEL, service, NAMED["lowest_free"],
                   np.random.default_rng(0), respond=respond).run()
        for respond in (True, False)
    ]  # fmt: skip
    inflation = [0.3 * 0.6, 0.2 * 0.5]
    assert outcomes[0].inflation == pytest.approx(inflation)
    peak = [outcome.steps[0]["cpu_max_fraction"] for outcome in outcomes]
    assert peak[0] - peak[1] == pytest.approx(2 * sum(inflation) / 4, abs=1e-6)
    assert outcomes[0].steps[0]["inflation_vcpus"] == pytest.approx(2 * sum(inflation))
    high = risen(np.array([3990.0]), np.array([0.5]), np.array([2]))
    assert high.tolist() == [10.0]


def test_what_is_measured_may_differ_from_what_decides() -> None:
    given = many(2)
    truth = dataclasses.replace(MODEL, k1=MODEL.k1 * 2, k2=MODEL.k2 * 2)
    plain, true = (run(given, NAMED["random_free"], truth=one) for one in (None, truth))
    assert true.node.tolist() == plain.node.tolist()
    assert true.vcpus == plain.vcpus
    ran = np.isfinite(plain.inflation)
    assert true.inflation[ran] == pytest.approx(2 * plain.inflation[ran])


def test_a_run_compares_the_first_policy_with_the_others() -> None:
    given = many(3, count=40, nodes=6)
    given = changed(
        given,
        containers={
            "exchangeable": np.ones(given.containers.count, np.bool_),
            "departure_ms": np.full(given.containers.count, FOREVER),
        },
        use={"values": np.nan_to_num(given.use.values)},
    )
    names = ["interference", "lowest_free", "first_fit+random_free"]
    compared = replay_vcpus(
        given, room_of(given), MODEL, SERVICES, parse_ways(names), seed=1, repeats=2
    )
    assert compared.summary["policy"].to_list() == names
    assert compared.repeats.height == 6
    assert set(compared.differences["against"]) == set(names[1:])
    one = compared.containers.filter(pl.col("policy") == "first_fit+random_free")
    assert one["vcpus"].list.len().sum() > 0
    again = replay_vcpus(
        given, room_of(given), MODEL, SERVICES, parse_ways(names), seed=1, repeats=2
    )
    assert compared.steps.equals(again.steps)
    assert compared.containers.equals(again.containers)
    fewer = replay_vcpus(
        given, room_of(given), MODEL, SERVICES, parse_ways(names[::2]), seed=1, repeats=2
    )
    # intervals are as wide as the number of comparisons asks; the differences are the same
    alone = [
        c for c in compared.differences.columns if c not in {"difference_low", "difference_high"}
    ]
    wanted = compared.differences.filter(pl.col("against") == names[2])
    assert fewer.differences.select(alone).equals(wanted.select(alone))
    assert compared.services.group_by("policy").agg(pl.col("containers").sum())[
        "containers"
    ].unique().to_list() == [given.containers.count]


def test_hosts_may_be_described_by_a_file(tmp_path: Path) -> None:
    given = load([(0, FOREVER, 2000, 1)])
    (tmp_path / "odd.txt").write_text(
        "# CPU,Core,Socket\n" + "".join(f"{v},{v // 2},{v // 4}\n" for v in range(8))
    )
    file = tmp_path / "hosts.csv"
    file.write_text("node_ip,cpu_num_total,socket_num,map\nn0,,,odd.txt\nn1,8,2,\n")
    room = room_of_file(given, file)
    assert room.mates[[0, 1, 8, 9], 0].tolist() == [1, 0, 12, 13]
    file.write_text("node_ip,cpu_num_total,socket_num\nn0,8,2\n")
    with pytest.raises(TracekitError, match="'n1'"):
        room_of_file(given, file)


def test_a_chooser_reads_back() -> None:
    texts = ("interference[choice=delta]", "host_then_bind[host=first_fit,bind=random_free]")
    assert [way.of for way in parse_ways(texts)] == [
        Interference(choice="delta"),
        HostThenBind(host="first_fit", bind="random_free"),
    ]
