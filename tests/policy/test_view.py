"""A pod's requests, a policy's view of what is and was, and use of further resources."""

from __future__ import annotations

import dataclasses
import gc
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from replay_support import STEP_MS, changed, snapshot, workload

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.cluster.enlarged import multiplied, with_more
from tracekit.cluster.gangs import rearranged
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.source import shared
from tracekit.cluster.workload import Workload
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.pods import Pod, PodContainer
from tracekit.policy.view.snapshot import Container, Snapshot, best
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.sampling import PlainSampler
from tracekit.replay.runs.replayer import fingerprint

SEEN: list[tuple[int, int | None, list[list[float]]]] = []


@dataclass(frozen=True, kw_only=True)
class Curious(PlacementPolicy):
    """Looks at everything it is given, and writes down what it finds."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"usage", "placed"})
    source: ClassVar[str] = "this test"

    delay_ms: Annotated[int, About("How old measurements are at least.")] = 0
    log: Annotated[list[Snapshot], About("What it was shown.")] = field(default_factory=list)

    def metric_time_ms(self, now_ms: int) -> int:
        return now_ms - self.delay_ms

    def metric_samples(self) -> int:
        return 100

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        assert container.recorded_node is None
        self.log.append(snapshot)
        usage = snapshot.usage
        history = getattr(usage, "_fractions")  # noqa: B009 - looks where it should not
        SEEN.append((snapshot.time_ms, usage.time_ms, history[:, :, 0].tolist()))
        return -nodes


#: Two nodes, six containers, one each second; each uses half of 100 of a node's 1000.
LOAD = workload(
    [(1000, 1000), (1000, 1000)],
    [(at * STEP_MS, 100_000, 100, 100, 0) for at in range(6)],
    steps=6,
)


@pytest.fixture
def seen() -> list[tuple[int, int | None, list[list[float]]]]:
    SEEN.clear()
    return SEEN


def test_only_complete_steps_of_the_past_are_measured(
    seen: list[tuple[int, int | None, list[list[float]]]],
) -> None:
    Engine(LOAD, Curious(), np.random.default_rng(0)).run()
    assert [(now, newest) for now, newest, _ in seen] == [
        (0, None), (1000, 0), (2000, 1000), (3000, 2000), (4000, 3000), (5000, 4000)
    ]  # fmt: skip
    # the sample at 2000 holds the three containers of 0, 1000 and 2000
    assert seen[3][2] == [[0.05, 0.0], [0.1, 0.0], [pytest.approx(0.15), 0.0]]


def test_staleness_is_the_policys(seen: list[tuple[int, int | None, list[list[float]]]]) -> None:
    Engine(LOAD, Curious(delay_ms=2500), np.random.default_rng(0)).run()
    assert [newest for _, newest, _ in seen] == [None, None, None, 0, 1000, 2000]


def test_no_object_behind_a_snapshot_knows_the_future() -> None:
    """Walk all that can be reached from what the policy was shown first."""
    policy = Curious()
    engine = Engine(LOAD, policy, np.random.default_rng(0))
    engine._events_until(2 * STEP_MS)
    shown, after = policy.log[-1], reachable(policy.log[-1])
    assert shown.time_ms == 2 * STEP_MS
    assert not any(isinstance(thing, type(LOAD)) for thing in after)
    assert any(thing is engine.state.cluster.amounts for thing in after)  # the walk does walk
    whole = {
        id(one)
        for one in (
            LOAD.use.values,
            LOAD.use.background,
            LOAD.containers.request,
            LOAD.containers.arrival_ms,
        )
    }
    assert not whole & {id(thing) for thing in after}
    assert [row.tolist() for row in shown.placed.request] == [[100, 100], [100, 100]]


def reachable(start: object) -> list[object]:
    """Objects that references lead to, modules and classes left out."""
    objects: dict[int, object] = {}
    ahead = [start]
    while ahead:
        thing = ahead.pop()
        if id(thing) in objects or isinstance(thing, type(gc) | type):
            continue
        objects[id(thing)] = thing
        ahead.extend(gc.get_referents(thing))
        if isinstance(thing, np.ndarray) and thing.base is not None:
            ahead.append(thing.base)
    return list(objects.values())


def test_arrays_cannot_be_written() -> None:
    seen = snapshot([(10, 10)], [(1, 1)])
    with pytest.raises(ValueError, match="read-only"):
        seen.requested[0, 0] = 0


def test_what_is_not_declared_is_not_handed_over() -> None:
    full = snapshot([(10, 10)], [(1, 1)])
    seen = dataclasses.replace(full, known_usage=None, known_placed=None)
    with pytest.raises(TracekitError, match="'usage'"):
        _ = seen.usage
    with pytest.raises(TracekitError, match="'placed'"):
        _ = seen.placed


# How ties are broken.


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (np.array([1, 3, 3]), 1),
        (np.array([-5]), 0),
        (np.array([0.1 + 0.2, 0.3]), 0),  # equal after rounding, though 0.1 + 0.2 > 0.3
        (np.array([0.3, 0.1 + 0.2]), 0),
        (np.array([0.3, 0.3 + 1e-9]), 1),
    ],
)
def test_first_of_the_highest(scores: np.ndarray, expected: int) -> None:
    assert best(scores, "first", np.random.default_rng(0)) == expected


def test_reservoir_is_even_over_the_highest_only() -> None:
    rng = np.random.default_rng(1)
    scores = np.array([7, 1, 7, 7, 0, 7])
    chosen = [best(scores, "reservoir", rng) for _ in range(4000)]
    counts = np.bincount(chosen, minlength=6)
    assert counts[[1, 4]].tolist() == [0, 0]
    # 1000 each, standard deviation 27
    assert np.abs(counts[[0, 2, 3, 5]] - 1000).max() < 5 * 27


def one(*, restartable: bool = False, **requests: int) -> PodContainer:
    return PodContainer(requests=requests, restartable=restartable)


MIB_200 = 209_715_200

CASES = {
    "no containers": (Pod(), {}, {}),
    "sum of containers": (
        Pod(containers=(one(cpu_milli=100, memory_bytes=5), one(cpu_milli=50, memory_bytes=1))),
        {"cpu_milli": 150, "memory_bytes": 6},
        {"cpu_milli": 150, "memory_bytes": 6},
    ),
    "missing counts as the default, per container": (
        Pod(containers=(one(cpu_milli=300), one(memory_bytes=7))),
        {"cpu_milli": 300, "memory_bytes": 7},
        {"cpu_milli": 400, "memory_bytes": MIB_200 + 7},
    ),
    "an explicit 0 stays 0": (
        Pod(containers=(one(cpu_milli=0, memory_bytes=0),)),
        {"cpu_milli": 0, "memory_bytes": 0},
        {"cpu_milli": 0, "memory_bytes": 0},
    ),
    "the largest init container when it needs more": (
        Pod(
            containers=(one(cpu_milli=100, memory_bytes=100),),
            init_containers=(
                one(cpu_milli=300, memory_bytes=50),
                one(cpu_milli=200, memory_bytes=60),
            ),
        ),
        {"cpu_milli": 300, "memory_bytes": 100},
        {"cpu_milli": 300, "memory_bytes": 100},
    ),
    # init 2 runs beside the sidecar: 500 + 100; afterwards 200 + 100
    "a sidecar runs beside what follows it": (
        Pod(
            containers=(one(cpu_milli=200, memory_bytes=1),),
            init_containers=(
                one(cpu_milli=550, memory_bytes=1),
                one(cpu_milli=100, memory_bytes=1, restartable=True),
                one(cpu_milli=500, memory_bytes=1),
            ),
        ),
        {"cpu_milli": 600, "memory_bytes": 2},
        {"cpu_milli": 600, "memory_bytes": 2},
    ),
    "sidecars add to the containers": (
        Pod(
            containers=(one(cpu_milli=200, memory_bytes=1),),
            init_containers=(one(cpu_milli=100, memory_bytes=1, restartable=True),),
        ),
        {"cpu_milli": 300, "memory_bytes": 2},
        {"cpu_milli": 300, "memory_bytes": 2},
    ),
    "overhead comes on top": (
        Pod(
            containers=(one(cpu_milli=200, memory_bytes=1),),
            init_containers=(one(cpu_milli=500, memory_bytes=1),),
            overhead={"cpu_milli": 10},
        ),
        {"cpu_milli": 510, "memory_bytes": 1},
        {"cpu_milli": 510, "memory_bytes": 1},
    ),
    "an init container has defaults too": (
        Pod(containers=(one(cpu_milli=20, memory_bytes=1),), init_containers=(one(),)),
        {"cpu_milli": 20, "memory_bytes": 1},
        {"cpu_milli": 100, "memory_bytes": MIB_200},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_requests(name: str) -> None:
    pod, request, nonzero = CASES[name]
    assert pod.request() == request
    assert pod.nonzero_request() == nonzero


def test_limits_add_up_like_requests() -> None:
    pod = Pod(
        containers=(PodContainer(limits={"cpu_milli": 5}), PodContainer(limits={"cpu_milli": 2})),
        init_containers=(PodContainer(limits={"cpu_milli": 6, "memory_bytes": 3}),),
    )
    assert pod.limit() == {"cpu_milli": 7, "memory_bytes": 3}
    assert Pod(containers=(PodContainer(),)).limit() == {}


STEPS = 3
#: Use of network of three containers at each step; nothing is known of the second.
NET = np.array([[50, np.nan, 5], [60, np.nan, 0], [150, np.nan, 10]], dtype=np.float32)
ROWS = [(0, 9000, 10, 10), (0, 9000, 10, 10), (STEP_MS, 9000, 10, 10)]


def recording(further: np.ndarray | None = NET) -> Workload:
    """Two nodes of 100 of network, a third without any; requests of 20, 30 and 0."""
    load = workload([(100, 100)] * 3, ROWS, steps=STEPS)
    request = np.column_stack([load.containers.request, [20, 30, 0]])
    return changed(
        load,
        nodes={"capacity": np.column_stack([load.nodes.capacity, [100, 100, 0]])},
        containers={
            "request": request,
            "nonzero_request": request,
            "limit": request,
            "exchangeable": np.array([True, True, False]),
        },
        use={
            "values": np.nan_to_num(load.use.values),
            "further_resources": () if further is None else (2,),
            "further": None if further is None else further[None],
        },
        resources=(*load.resources, "net_kbit"),
    )


def measured(load: Workload, node: list[int]) -> dict[str, list[float]]:
    """Measures at every step where all run on these nodes, the last from its arrival on."""
    sampler = PlainSampler(load)
    everybody = np.ones(load.containers.count, dtype=np.bool_)
    list(sampler.sample(everybody & (load.containers.arrival_ms == 0), np.array(node), range(1)))
    list(sampler.sample(everybody, np.array(node), range(1, STEPS)))
    return {name: values.tolist() for name, values in sampler.measures().items()}


def test_recorded_use_counts_and_requests_where_there_is_none() -> None:
    measures = measured(recording(), [0, 0, 1])
    # the first node: 50 + 30, 60 + 30, 150 + 30; the second: nothing, 0, 10
    assert measures["network_max_fraction"] == pytest.approx([0.8, 0.9, 1.8])
    assert measures["network_mean_fraction"] == pytest.approx([0.4, 0.45, 0.95])
    assert measures["network_spread_fraction"] == pytest.approx([0.8, 0.9, 1.7])
    assert measures["network_overload_nodes"] == [0, 0, 1]
    assert measures["network_overload_fraction"] == pytest.approx([0, 0, 0.8 / 2])
    assert measures["network_allocated_share"] == pytest.approx([0.25] * 3), "requests, as always"
    assert measures["overloaded_nodes"] == [0, 0, 1]
    assert measures["qos_share"] == pytest.approx([1, 1, 1 / 3])


def test_a_bound_is_of_what_is_used_by_those_who_must_have_the_resource() -> None:
    load = recording()
    bounds = [row["network_max_fraction"] for row in bounds_of(load).rows]
    # the third asks for no network, and may be where there is none
    assert bounds == pytest.approx([80 / 200, 90 / 200, 180 / 200])
    everywhere = changed(load, nodes={"capacity": np.full((3, 3), 100)})
    bounds = [row["network_max_fraction"] for row in bounds_of(everywhere).rows]
    assert bounds == pytest.approx([80 / 300, 90 / 300, 190 / 300])


def test_the_movable_share_is_of_what_is_used() -> None:
    load = changed(recording(), rules={"daemon": np.array([False, True, False])})
    used = [50 + 30, 60 + 30 + 0, 150 + 30 + 10]
    assert bounds_of(load).movable["network"] == pytest.approx(1 - 90 / sum(used))


def test_workloads_made_of_another_carry_it(tmp_path: Path) -> None:
    load, rng = recording(), np.random.default_rng(0)
    made = {
        "another order": rearranged(load, rng),
        "on some nodes": on_nodes(load, np.array([1, 0])),
        "on more nodes": with_more(load, np.array([0])),
        "larger": multiplied(load, Fraction(2), rng),
    }
    with shared(load, tmp_path / "shared") as from_disk:
        made["another process"] = from_disk.load()
    request_by_name = dict(
        zip(load.containers.ids, load.containers.request[:, 2].tolist(), strict=True)
    )
    for name, one in made.items():
        measures = measured(one, [0] * one.containers.count)
        used = 0.0
        for at, called in enumerate(one.containers.ids):
            use = NET[-1, int(called.partition("+")[0][1:])]
            used += request_by_name[called.partition("+")[0]] if np.isnan(use) else float(use)
            assert one.containers.request[at, 2] == request_by_name[called.partition("+")[0]]
        assert measures["network_max_fraction"][-1] == pytest.approx(used / 100), name


def test_a_replay_is_kept_for_the_use_it_was_of() -> None:
    assert fingerprint(recording()) == fingerprint(recording())
    assert fingerprint(recording()) != fingerprint(recording(NET + 1))
    assert fingerprint(recording()) != fingerprint(recording(None))
