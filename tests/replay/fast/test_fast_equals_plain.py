"""The fast engine decides as the plain one, container by container, for every policy."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from constraint_support import constrained
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, widened, workload

from tracekit.base import registry
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import apart
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import all_policies
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance.node_utilization import HighNodeUtilization, LoadSpread
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import Clock, MakePlacer, PlainPlacer
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.fast import kernels
from tracekit.replay.fast.choose import fast_placer, rows_placer, scanning_placer
from tracekit.replay.fast.compiled_placer import CompiledPlacer, find_kernel
from tracekit.replay.fast.placement_loop import WORTHWHILE
from tracekit.replay.fast.search import CUTS, LEAVES, STALE

STEPS = 6
KERNELS = [*registry.module_names(kernels), "first_fit"]


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    """Clusters of a few sizes, containers of a few shapes that come in rows, and background."""
    nodes = draw(some.integers(1, 9))
    sizes = draw(some.lists(some.tuples(some.integers(20, 60), some.integers(20, 60)),
                            min_size=1, max_size=3))  # fmt: skip
    shapes = draw(some.lists(some.tuples(some.integers(0, 25), some.integers(0, 25)),
                             min_size=1, max_size=3))  # fmt: skip
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    rows: list[Row] = []
    for _ in range(draw(some.integers(1, 30))):
        shape = shapes[rng.integers(len(shapes))]
        arrival = int(rng.integers(0, 9)) * 600 if rng.random() < 0.9 else 0
        stretch = int(rng.integers(1, 25)) if rng.random() < 0.1 else 1
        lives = rng.integers((1, 0), (9000, nodes), (stretch, 2)).tolist()
        rows += [(arrival, arrival + life, *shape, node) for life, node in lives]
    background = rng.uniform(0, 20, (2, STEPS, nodes)).astype(np.float32)
    load = workload([sizes[at % len(sizes)] for at in range(nodes)], rows, steps=STEPS,
                    background=background)  # fmt: skip
    busy = rng.uniform(0, 1, load.use.values.shape).astype(np.float32)
    return changed(
        load,
        use={"values": load.use.values * busy},
        containers={
            "limit": load.containers.limit * rng.integers(0, 2, (len(rows), 1)),
            "nonzero_request": np.maximum(load.containers.request, draw(some.integers(0, 9))),
        },
        nodes={"reserved": rng.integers(0, 20, (nodes, 2)) if draw(some.booleans()) else None},
    )


#: What each bound reads: rounding, cut-offs, roots and weights of the load-aware policies.
INDEXED = (
    *sorted({*KERNELS, "balanced_allocation", "bra"} - {"cwt"}),
    *sorted(name for name, kind in all_policies().items() if kind().score_formula()),
    "best_fit[leftover=fraction]",
    "least_allocated[resources=cpu:1+memory:3]",
    "least_requested[max_score=100]",
    "lra[variant=legacy_int]",
    "most_requested[max_score=100]",
    "worst_fit[leftover=fraction]",
    "load_variation_risk_balancing[formula=prose,safe_variance_margin=3.0]",
    "load_variation_risk_balancing[safe_variance_sensitivity=0.0]",
    "low_risk_overcommitment[risk_limit_weights=cpu:1.0+memory:0.0]",
    "low_risk_overcommitment[smoothing_window_size=1]",
    "target_load_packing[target_utilization=100]",
    "target_load_packing[target_utilization=1]",
    "target_load_packing[requests_multiplier=0.0]",
)


@some.composite
def wide_workloads(draw: some.DrawFn) -> Workload:
    """So many nodes that they do not fit one leaf, alike or not, some without measurements."""
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    nodes, size = draw(some.integers(33, 150)), draw(some.sampled_from([60, 10_000, 2**31]))
    sizes = rng.integers(size // 2, size + 1, (draw(some.integers(1, 3)), 2))[:, None]
    capacity = [(int(cpu), int(memory)) for cpu, memory in sizes[np.arange(nodes) % len(sizes), 0]]
    rows: list[Row] = []
    for _ in range(draw(some.integers(20, 120))):
        arrival = int(rng.integers(0, 6)) * 900
        wanted = rng.integers(0, max(size // 3, 2), 2)
        rows.append((arrival, arrival + int(rng.integers(1, 9000)), *wanted.tolist(), 0))
    loaded = draw(some.sampled_from([0.0, 0.1, 0.7, 1.3]))
    background = rng.uniform(0, loaded, (2, STEPS, nodes)) * np.array(capacity).T[:, None]
    load = workload(capacity, rows, steps=STEPS, background=background.astype(np.float32))
    stated = rng.integers(0, 2, (len(rows), 1)) * rng.integers(1, 3)
    reserved = rng.integers(0, size // 4, (nodes, 2)) if draw(some.booleans()) else None
    containers = {
        "limit": load.containers.limit * stated,
        "nonzero_request": np.maximum(load.containers.request, draw(some.integers(0, size // 4))),
    }
    load = changed(load, containers=containers, nodes={"reserved": reserved})
    if draw(some.booleans()):  # no workload may say so; a node's measurements may be missing
        load.use.background[:, :, rng.random(nodes) < 0.3] = np.nan
        load.use.background[0, :, rng.random(nodes) < 0.3] = np.nan
    return load


class Eager(CompiledPlacer):
    """Builds the index for the first container, instead of once that pays."""

    def _updates_of_unbuilt(self, containers: int) -> int:  # noqa: ARG002
        return STALE


def eager_placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> CompiledPlacer:
    """Searches the index from the first container on."""
    load = state.workload
    kernel = find_kernel(state.policy, load.resources, load.nodes.allocatable)
    assert kernel is not None
    assert kernel.bound is not None
    return Eager(state, rng, clock, kernel)


def run(
    load: Workload, policy: str, placer: MakePlacer, rebalance: RebalancePolicy | None = None
) -> Outcome:
    rng = np.random.default_rng(3)
    return Engine(load, parse_policy(policy), rng, placer=placer, rebalance=rebalance).run()


def check_same(
    load: Workload,
    policy: str,
    placer: MakePlacer = fast_placer,
    rebalance: RebalancePolicy | None = None,
) -> None:
    plain, fast = (run(load, policy, made, rebalance) for made in (PlainPlacer, placer))
    assert fast.node.tolist() == plain.node.tolist()
    assert fast.time_ms.tolist() == plain.time_ms.tolist()
    assert fast.steps.equals(plain.steps)
    assert fast.moves.equals(plain.moves)
    assert len(fast.latencies_s) == len(plain.latencies_s)


@pytest.mark.slow
@pytest.mark.parametrize("policy", sorted(all_policies()))
@settings(max_examples=20)
@given(workloads(), some.sampled_from(["first", "reservoir"]))
def test_fast_equals_plain(policy: str, load: Workload, tie: str) -> None:
    check_same(load, f"{policy}[tie={tie}]")


def test_a_node_that_the_policy_closed_stays_closed_while_most_others_change() -> None:
    """By use, c0 fills n2: c1 finds n0; then n0 and n1 change, and n2 does not open for c3."""
    used = np.array([[16.5, 16.5, 18.5], [20, 20, 0]], dtype=np.float32)
    cpu_milli = (1, 1, 2, 1)
    rows = [(3100 + at, 9000, cpu, 0) for at, cpu in enumerate(cpu_milli)]
    load = workload([(20, 20)] * 3, rows, background=np.repeat(used[:, None, :], 4, axis=1))
    for placer in (PlainPlacer, fast_placer, rows_placer):
        assert run(load, "tbesk_exact[tie=first]", placer).node.tolist() == [2, 0, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("policy", INDEXED)
@settings(max_examples=8)
@given(wide_workloads())
def test_searching_from_the_first_container_equals_plain(policy: str, load: Workload) -> None:
    tied = policy[:-1] + ",tie=first]" if policy.endswith("]") else policy + "[tie=first]"
    plain, fast = run(load, tied, PlainPlacer), run(load, tied, eager_placer)
    cpu_is_kept = load.nodes.reserved is not None and bool(load.nodes.reserved[:, 0].any())
    by_capacity = policy.startswith("target_load_packing")
    assert fast.way == ("scan" if by_capacity and cpu_is_kept else "search")
    assert fast.node.tolist() == plain.node.tolist()


def test_each_node_stands_in_one_leaf_of_the_index() -> None:
    rng = np.random.default_rng(5)
    rows: list[Row] = [
        (20 * at, 20 * at + 9000, *rng.integers(1, 60, 2).tolist(), 0) for at in range(600)
    ]
    placers: list[CompiledPlacer] = []

    def recorded(state: ReplayState, own: np.random.Generator, clock: Clock) -> CompiledPlacer:
        placers.append(eager_placer(state, own, clock))
        return placers[-1]

    run(workload([(200, 200)] * 150, rows, steps=STEPS), "worst_fit[tie=first]", recorded)
    index = placers[0]._index
    leaves = int(index.counts[LEAVES])
    assert leaves == index.counts[CUTS] + 1 > 150 // index.members.shape[1] + 1
    members = [index.members[leaf, : index.size[leaf]] for leaf in range(leaves)]
    assert sorted(np.concatenate(members).tolist()) == list(range(150))
    assert [int(one.min()) for one in members if len(one)] == [
        int(index.first[leaf]) for leaf, one in enumerate(members) if len(one)
    ]


@pytest.mark.parametrize("resource", [0, 1])
def test_a_limit_of_one_resource_without_a_request_counts(resource: int) -> None:
    """Limits on n0 are above its capacity; a container without limits too is put there."""
    load = workload([(100, 100)] * 2, [(0, 9000, 9, 9), (3000, 9000, 0, 0)], steps=STEPS)
    limit = np.array([[200, 200], [0, 0]])
    for most, node in ((0, 0), (90, 1)):
        limit[1, resource] = most
        limited = changed(load, containers={"limit": limit.copy()})
        for placer in (PlainPlacer, fast_placer, rows_placer):
            outcome = run(limited, "low_risk_overcommitment[tie=first]", placer)
            assert outcome.node.tolist() == [0, node]


@pytest.mark.parametrize("policy", ["best_fit", "least_requested", "worst_fit"])
def test_many_containers_of_one_shape_are_placed_in_one_go_as_one_by_one(policy: str) -> None:
    rows: list[Row] = [(0, 9000, 5, 5, 0)] * (3 * WORTHWHILE)
    load = workload([(60, 60), (40, 50), (70, 30), (50, 50), (20, 90)], rows, steps=STEPS)
    check_same(load, f"{policy}[tie=first]")


@pytest.mark.parametrize("placer", [PlainPlacer, fast_placer])
def test_the_time_of_a_decision_is_that_of_its_batch_over_its_containers(
    placer: MakePlacer,
) -> None:
    """Between two readings of this clock lies one second."""
    seconds = itertools.count()
    load = workload([(60, 60)] * 4, [(900 * (at // 3), 9000, 5, 5) for at in range(9)], steps=STEPS)
    rng = np.random.default_rng(3)
    engine = Engine(
        load, parse_policy("first_fit"), rng, placer=placer, clock=lambda: next(seconds)
    )
    latencies = engine.run().latencies_s
    assert latencies == pytest.approx([1.0 if placer is PlainPlacer else 1 / 3] * 9)


@pytest.mark.parametrize("policy", ["load_variation_risk_balancing", "low_risk_overcommitment"])
def test_loads_that_vary_over_minutes_are_scored_alike(policy: str) -> None:
    """In a few seconds there is one measurement, which has no deviation."""
    rng = np.random.default_rng(7)
    rows: list[Row] = [(150 * at, 99_000, *rng.integers(1, 30, 2).tolist(), 0) for at in range(40)]
    background = rng.uniform(0, 60, (2, STEPS, 9)).astype(np.float32)
    load = workload([(100, 120), (150, 90), (120, 120)] * 3, rows, steps=STEPS,
                    background=background)  # fmt: skip
    times = {name: 60 * getattr(load.containers, name) for name in ("arrival_ms", "departure_ms")}
    use = {"step_ms": 60 * load.use.step_ms, "times_ms": 60 * load.use.times_ms}
    check_same(changed(load, containers=times, use=use), f"{policy}[tie=first]")


def test_criteria_are_found_by_their_other_names() -> None:
    """A trace of machines calls the columns ``disk`` and ``disk_io``."""
    rng = np.random.default_rng(44)
    rows = [(900 * at, 9000, *rng.integers(1, 9, 2).tolist(), 0) for at in range(6)]
    load = workload([(30, 46), (36, 23), (58, 41)] * 2, rows, steps=STEPS)
    wanted, room = rng.integers(0, 8, (6, 2)), rng.integers(9, 50, (6, 2))
    check_same(widened(load, room, wanted, "disk", "disk_io"), "cwt")


#: One policy of each way to a kernel; formulas differ in their functions, not in their tables.
EACH_WAY = sorted(
    {*KERNELS, "balanced_allocation", "bra", "default_scheduler", "least_allocated", "random"}
)


@pytest.mark.parametrize("policy", EACH_WAY)
def test_node_tables_column_by_column_are_compiled_too(policy: str) -> None:
    """A workload read from a store has them so; the compiled forms ask for row by row."""
    rng = np.random.default_rng(5)
    rows = [(900 * (at // 12), 9000, *rng.integers(1, 400, 2).tolist(), 0) for at in range(60)]
    load = workload([(1000, 900), (800, 1000)] * 20, rows, steps=STEPS)
    turned = changed(
        load,
        nodes={
            "capacity": np.asfortranarray(load.nodes.capacity),
            "reserved": np.asfortranarray(rng.integers(0, 90, load.nodes.capacity.shape)),
        },
        use={"background": np.asfortranarray(load.use.background)},
    )
    assert not turned.nodes.capacity.flags.c_contiguous
    compiled, by_rows = (run(turned, policy, made) for made in (fast_placer, rows_placer))
    assert compiled.node.tolist() == by_rows.node.tolist()
    assert compiled.steps.equals(by_rows.steps)


#: Weights that are whole and not; scores of 10; terms that follow placements, or are asked for
#: anew; nothing to say about containers without requests.
PROFILES = (
    "0.7*target_load_packing+0.3*load_variation_risk_balancing",
    "0.3*low_risk_overcommitment+0.2*target_load_packing+0.5*low_risk_overcommitment",
    "2*least_allocated+1*balanced_allocation",
    "1*balanced_allocation[tie=reservoir]",
    "1*least_requested+3*load_variation_risk_balancing+0.1*most_allocated",
    "0.3*least_allocated[resources=cpu:1+memory:3]+0.7*most_requested[max_score=100]",
)


@pytest.mark.slow
@pytest.mark.parametrize("policy", PROFILES)
@settings(max_examples=8)
@given(workloads(), wide_workloads())
def test_a_weighted_profile_is_compiled_of_its_parts(
    policy: str, load: Workload, wide: Workload
) -> None:
    for one in (load, wide):
        plain, fast = (run(one, policy, placer) for placer in (PlainPlacer, fast_placer))
        assert fast.way == "scan"
        assert fast.node.tolist() == plain.node.tolist()


def test_a_profile_whose_parts_hang_on_each_other_is_not_compiled() -> None:
    load = workload([(10, 10)] * 3, [(0, 10, 1, 1)], steps=STEPS)
    for text in ("1*cwt+1*least_allocated", "1*first_fit+2*least_allocated", "1*peaks"):
        assert find_kernel(parse_policy(text), load.resources, load.nodes.allocatable) is None


OWN = """
'''Own.'''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from tracekit.policy.placement import Formula, PlacementPolicy, quotient

SCALE = 7.0

@dataclass(frozen=True, kw_only=True)
class Mine(PlacementPolicy):
    '''Its own.'''
    reads: ClassVar = frozenset({"requests"})
    source: ClassVar = "our own idea"

    def score_formula(self):
        return Formula(part=part, resources=(("cpu", 1), ("memory", WEIGHT)), BETTER)

def part(size, wanted):
    return PART

def share(size, wanted):
    return SCALE * wanted / size

def near(apart, weights):
    return quotient(99, 1 + np.abs(apart))
"""
FORMULAS = [
    ("share(size, wanted)", 'better="fuller"', "search"),
    ("-share(size, wanted)", 'better="emptier", nonzero=True', "search"),
    ("np.sqrt(np.maximum(1 - share(size, wanted) / SCALE, 0))", 'better="emptier"', "search"),
    ("quotient(wanted * 10, size) % 3", "total=quotient", "scan"),
    ("share(size, wanted)", 'total=near, better="alike"', "search"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "better", "way"), FORMULAS)
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wide_workloads())
def test_a_formula_of_a_users_file_equals_its_scores(
    part: str, better: str, way: str, tmp_path: Path, load: Workload
) -> None:
    """All are files of one name in one process, so that none takes another's compiled code."""
    path = tmp_path / "mine.py"
    weight = "-1" if "alike" in better else "3"
    own = OWN.replace("PART", part).replace("BETTER", better).replace("WEIGHT", weight)
    path.write_text(own)
    plain, fast = (run(load, str(path), placer) for placer in (PlainPlacer, fast_placer))
    assert fast.way == way
    assert fast.node.tolist() == plain.node.tolist()


def test_a_formula_that_cannot_be_compiled_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        OWN.replace("PART", "np.vectorize(share)(size, wanted)")
        .replace("WEIGHT", "3")
        .replace("BETTER", "")
    )
    load = workload([(10, 10)], [(0, 10, 1, 1)], steps=STEPS)
    with pytest.raises(TracekitError):
        run(load, str(path), fast_placer)


@settings(max_examples=40)
@given(workloads(), some.sampled_from(sorted(all_policies())))
def test_scoring_every_node_equals_plain(load: Workload, policy: str) -> None:
    check_same(load, policy, scanning_placer)


#: Ways to move containers, none among them.
MOVES = (None, LoadSpread(interval_ms=1000, margin_fraction=0.0, samples=1),
         HighNodeUtilization(interval_ms=1000, thresholds=(("cpu", 60.0),)))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("placer", [fast_placer, scanning_placer, rows_placer])
@settings(max_examples=36)
@given(workloads(), some.sampled_from(sorted(all_policies())), some.integers(0, 2**32),
       some.sampled_from(MOVES))  # fmt: skip
def test_constraints_pins_priorities_and_gangs_mean_the_same(
    placer: MakePlacer, load: Workload, policy: str, seed: int, moves: RebalancePolicy | None
) -> None:
    made = constrained(load, np.random.default_rng(seed))
    check_same(made, policy, placer, None if policy == "observed" else moves)


@settings(max_examples=36)
@given(workloads(), some.sampled_from(sorted(KERNELS)), some.integers(0, 2**32))
def test_stretches_of_one_selector_are_placed_as_one_by_one(
    load: Workload, policy: str, seed: int
) -> None:
    """Neighbours of one class are placed in one go, unless a group may close nodes between them."""
    rng = np.random.default_rng(seed)
    classes = np.sort(rng.integers(-1, 2, load.containers.count))
    taints = rng.random((2, load.nodes.count)) < 0.6
    group = np.where(rng.random(load.containers.count) < 0.2, 0, -1)
    rule = apart(by="node", group=group, domain=np.arange(load.nodes.count), most=np.array([1]))
    selector = Allowed(label="selector", of=classes, mask=taints)
    given_parts = (selector, rule) if rng.random() < 0.5 else (selector,)
    check_same(
        changed(load, rules={"constraints": Constraints(parts=given_parts)}),
        policy,
    )
