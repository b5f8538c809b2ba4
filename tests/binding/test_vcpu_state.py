"""The compiled search against plain enumeration, on random hosts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from plain_vcpus import (
    plain_candidates,
    score_instance,
    score_socket,
    windows,
)
from vcpu_support import GOLDEN, topologies

from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.vcpu_state import CANDIDATES, VcpuState
from tracekit.interference.options import Aggregation
from tracekit.interference.room import Bound, make_room, pressure
from tracekit.interference.topology import Topology, linux_numbering

SERVICES = 6
EVERY: tuple[Aggregation, ...] = ("mean", "occupancy", "sum")


def model(rng: np.random.Generator, agg: Aggregation) -> InterferenceModel:
    return InterferenceModel(
        cpu=rng.uniform(0.1, 1.0, SERVICES),
        k1=rng.uniform(-0.1, 0.4, SERVICES),
        k2=rng.uniform(0, 0.1, SERVICES),
        agg=agg,
    )


@dataclass
class Plain:
    """The same cluster as dictionaries."""

    hosts: list[Topology]
    placed: list[dict[str, list[int]]]
    services: list[dict[str, int]]


def drawn(
    hosts: list[Topology], agg: Aggregation, seed: int
) -> tuple[VcpuState, Plain, np.random.Generator]:
    """Hosts in use, reached by binding some containers and letting some of them go."""
    rng = np.random.default_rng(seed)
    names = [f"h{at}" for at in range(len(hosts))]
    room = make_room(names, dict(zip(names, hosts, strict=True)))
    count = 30
    service, size = rng.integers(0, SERVICES, count), rng.integers(1, 5, count)
    state = VcpuState(room, model(rng, agg), service, size)
    plain = Plain(hosts, [{} for _ in hosts], [{} for _ in hosts])
    for instance in range(20):
        socket = int(rng.integers(len(room.socket_vcpus)))
        free = rng.permutation(state.free_places(socket))[: size[instance]]
        if len(free) == size[instance]:
            state.bind(instance, socket, np.sort(free))
        if rng.random() < 0.3:
            state.unbind(int(rng.integers(instance + 1)))
    for instance in np.flatnonzero(state.socket >= 0).tolist():
        host = int(room.socket_host[state.socket[instance]])
        plain.placed[host][str(instance)] = state.vcpus_of(instance)
        plain.services[host][str(instance)] = int(service[instance])
    return state, plain, rng


hosts = some.lists(topologies, min_size=1, max_size=3)
aggregations = some.sampled_from(EVERY)


@pytest.mark.slow
@settings(max_examples=150)
@given(hosts, aggregations, some.integers(0, 2**32))
def test_what_everybody_feels_equals_the_definition(
    given_hosts: list[Topology], agg: Aggregation, seed: int
) -> None:
    state, plain, _ = drawn(given_hosts, agg, seed)
    for host, topology in enumerate(plain.hosts):
        for name in plain.placed[host]:
            wanted = score_instance(
                topology, plain.placed[host], plain.services[host], state.model, name
            )
            assert state.inflation[int(name)] == pytest.approx(wanted, abs=1e-9)
    for socket, host in enumerate(state.room.socket_host.tolist()):
        number = int(plain.hosts[host].sockets[socket - state.sockets_of(host)[0]])
        wanted = score_socket(
            plain.hosts[host], plain.placed[host], plain.services[host], state.model, number
        )
        assert state.occupancy.now[socket] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    hosts,
    aggregations,
    some.booleans(),
    some.sampled_from([1, 2, 3]),
    some.sampled_from(["ids", "cores", "both"]),
    some.integers(0, 2**32),
)
def test_the_search_equals_plain_enumeration(
    given_hosts: list[Topology],
    agg: Aggregation,
    delta: bool,
    step: int,
    candidates: str,
    seed: int,
) -> None:
    state, plain, rng = drawn(given_hosts, agg, seed)
    instance = 20 + int(rng.integers(10))
    request, service = int(state._wanted[instance]), int(state.occupancy.service[instance])
    windows: list[tuple[float, int, int, Any]] = [
        (score, host, socket, window)
        for host, topology in enumerate(plain.hosts)
        for score, socket, window in plain_candidates(
            topology,
            plain.placed[host],
            plain.services[host],
            state.model,
            request,
            service,
            delta=delta,
            step=step,
            candidates=candidates,
        )
    ]
    chosen = state.least_interference(
        instance, delta=delta, step=step, candidates=CANDIDATES[candidates]
    )
    if not windows:
        assert chosen is None
        return
    assert chosen is not None
    socket, places = chosen
    host = int(state.room.socket_host[socket])
    window = tuple((places - state.room.offset[host]).tolist())
    scores = {(h, w): score for score, h, _, w in windows}
    least = min(windows, key=lambda one: one[0])
    assert scores[host, window] == pytest.approx(least[0], abs=1e-9)
    close = [one for one in windows if one[0] <= least[0] + 3e-12]
    if len({one[0] for one in close}) == 1:
        assert (host, window) == (close[0][1], close[0][3])


@pytest.mark.slow
@settings(max_examples=40)
@given(hosts, aggregations, some.integers(0, 2**32))
def test_what_is_kept_of_sockets_stays_true(
    given_hosts: list[Topology], agg: Aggregation, seed: int
) -> None:
    state, _, rng = drawn(given_hosts, agg, seed)
    for instance in range(20, 30):
        cached = state.least_interference(instance)
        fresh = VcpuState(state.room, state.model, state.occupancy.service, state._wanted)
        for other in np.flatnonzero(state.socket >= 0).tolist():
            socket = int(state.socket[other])
            places = state.occupancy.places[other, : state.occupancy.size[other]].copy()
            fresh.bind(other, socket, places)
        anew = fresh.least_interference(instance)
        assert (cached is None) == (anew is None)
        if cached is not None and anew is not None:
            assert cached[0] == anew[0]
            assert cached[1].tolist() == anew[1].tolist()
            state.bind(instance, *cached)
        if rng.random() < 0.5:
            state.unbind(int(rng.integers(20)))


def test_the_floor_and_the_one_pass_agree() -> None:
    rng = np.random.default_rng(5)
    names = [f"h{at}" for at in range(40)]
    room = make_room(names, dict.fromkeys(names, linux_numbering(104, 2)))
    count = 600
    service, size = rng.integers(0, SERVICES, count), rng.integers(1, 9, count)
    for agg in EVERY:
        state = VcpuState(room, model(rng, agg), service, size)
        for instance in range(count):
            window = state.least_interference(instance, apart=False)
            assert window is not None
            state.bind(instance, *window)
        place = np.flatnonzero(state.occupancy.owner >= 0)
        bound = Bound(state.occupancy.owner[place], place, count)
        core, socket = pressure(room, bound, state.model.cpu[service], state.model.agg)
        inflation = state.model.k1[service] * core + state.model.k2[service] * socket
        assert state.inflation == pytest.approx(inflation, abs=1e-9)


@pytest.mark.slow
def test_golden_socket_score() -> None:
    case = GOLDEN["patent.socket_score"]
    names = list(case["input"]["cpu_svc"])
    both = np.array([case["input"]["coef(k1,k2)"][name] for name in names])
    fitted = InterferenceModel(
        cpu=np.array(list(case["input"]["cpu_svc"].values())), k1=both[:, 0], k2=both[:, 1]
    )
    placed = case["input"]["placed"].values()
    service = np.array([names.index(name) for name, _ in placed])
    room = make_room(["h"], {"h": linux_numbering(16, 2)})
    state = VcpuState(room, fitted, service, np.array([len(vcpus) for _, vcpus in placed]))
    for instance, (_, vcpus) in enumerate(placed):
        state.bind(instance, 0, np.array(vcpus))
    assert state.occupancy.now[0] == pytest.approx(case["expected"]["score_socket"], abs=1e-9)
    wanted = [one["score"] for one in case["expected"]["per_instance"].values()]
    assert state.inflation == pytest.approx(wanted, abs=1e-9)


CASE = GOLDEN["patent.socket_score"]


def golden_model() -> tuple[InterferenceModel, list[str]]:
    """The model of the golden case, and its services."""
    names = list(CASE["input"]["cpu_svc"])
    both = [CASE["input"]["coef(k1,k2)"][name] for name in names]
    model = InterferenceModel(
        cpu=np.array([CASE["input"]["cpu_svc"][name] for name in names]),
        k1=np.array([k1 for k1, _ in both]),
        k2=np.array([k2 for _, k2 in both]),
    )
    return model, names


def test_worked_windows() -> None:
    """Worked number of the specification, appendix B: 104 vCPUs, 0 to 3 used, request 8."""
    topology = linux_numbering(104, 2)
    free = [vcpu for vcpu in topology.vcpus_of(0).tolist() if vcpu > 3]
    listed = windows(free, 8)
    assert len(listed) == 21
    assert listed[0] == tuple(range(4, 12))
    assert listed[8] == (20, 21, 22, 23, 24, 25, 52, 53)
    assert listed[-1] == tuple(range(70, 78))


@given(some.sets(some.integers(0, 60)), some.integers(1, 9), some.integers(1, 9))
def test_how_many_windows(free: set[int], request: int, step: int) -> None:
    listed = windows(list(free), request, step)
    wanted = math.floor((len(free) - request) / step) + 1 if len(free) >= request else 0
    assert len(listed) == wanted
    for window in listed:
        assert list(window) == sorted(set(window) & free)
        assert len(window) == request


def test_golden_scores() -> None:
    model, names = golden_model()
    topology = linux_numbering(CASE["input"]["N"], CASE["input"]["S"])
    placed = {name: vcpus for name, (_, vcpus) in CASE["input"]["placed"].items()}
    services = {n: names.index(service) for n, (service, _) in CASE["input"]["placed"].items()}
    for name, wanted in CASE["expected"]["per_instance"].items():
        score = score_instance(topology, placed, services, model, name)
        assert score == pytest.approx(wanted["score"], abs=1e-9)
    score = score_socket(topology, placed, services, model, CASE["input"]["socket"])
    assert score == pytest.approx(CASE["expected"]["score_socket"], abs=1e-9)
    assert score_socket(topology, placed, services, model, 1) == 0


def test_no_candidate_where_the_service_runs_already() -> None:
    model, names = golden_model()
    topology = linux_numbering(16, 2)
    service = names.index("A")
    assert plain_candidates(topology, {"a": [0]}, {"a": service}, model, 2, service) == []
