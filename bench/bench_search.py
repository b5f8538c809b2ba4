"""How fast batches are placed by search, beside the same through a general library.

``python bench/bench_search.py`` prints the table; ``--quick`` takes few containers, to see
that it runs. Through a library a fitness is one Python call per candidate; mealpy is used where it
is installed (it is not needed for anything else), and its own bald eagle search in any case stands
in for how such libraries work: see ``_one_by_one``. Times are CPU seconds of the process.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, stream
from tracekit.cluster.named import Paper000
from tracekit.cluster.source import drawn_workload
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import Batch
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.placement._parts.searching import decode
from tracekit.policy.search.problem import Problem
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.state import ReplayState

POLICY = "tbesk[population=30,iterations=50,patience=0,batch_size=10]"
EAGLES, ITERATIONS, BATCH = 30, 50, 10


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few containers")
    few = parser.parse_args().quick
    small = _load(31, 60 if few else 1800)
    large = _load(130 if few else 13_000, 60 if few else 2000)
    _replay(_load(4, 20))  # compiles
    print(f"{'what':<48} {'containers/s':>12} {'seconds':>9}")
    for load in (small, large):
        spent = _replay(load)
        name = f"tbesk, {load.containers.count:,} containers on {load.nodes.count:,} nodes"
        print(f"{name:<48} {load.containers.count / spent:>12,.0f} {spent:>9.2f}")
    _beside(small, 1 if few else 5)


def _load(nodes: int, containers: int) -> Workload:
    target = max(0.75 * min(containers / (58 * nodes), 1.0), 0.01)
    drawn = Paper000(nodes=nodes, containers=containers, target_alloc_fraction=target)
    return drawn_workload(drawn, stream(0, "workload"), "arrival_span_ms=0")


def _replay(load: Workload) -> float:
    engine = Engine(load, parse_policy(POLICY), np.random.default_rng(0))
    began = time.process_time()
    outcome = engine.run()
    assert (outcome.node >= 0).all()
    return time.process_time() - began


def _beside(load: Workload, repeats: int) -> None:
    """One batch by tracekit, and the same number of iterations of the same search elsewhere."""
    policy: Any = parse_policy(POLICY)
    state = ReplayState(load, policy)
    batch = Batch(containers=tuple(state.container(at) for at in range(BATCH)))
    snapshot = state.snapshot(0)
    rng = np.random.default_rng(0)
    own = _timed(lambda: policy.select(snapshot, batch, rng), repeats)
    fitness = _one_by_one(policy, snapshot, batch)
    ways: dict[str, Callable[[], Any]] = {
        "tracekit's search, fitness one candidate a call": lambda: policy.minimize(
            Problem(
                lower=np.zeros(BATCH),
                upper=np.full(BATCH, float(load.nodes.count)),
                cost=lambda rows: np.array([-fitness(row) for row in rows]),
            ),
            rng,
        ),
    }
    library = _library(fitness, load.nodes.count)
    if library is None:
        print("mealpy is not installed: pip install --no-deps mealpy opfunu")
    else:
        ways["mealpy's OriginalBES (no tent, no t: 3 of 4 calls)"] = library
    print(f"\n{'one batch of 10, 30 eagles, 50 iterations':<48} {'ms':>9} {'times as long':>14}")
    print(f"{'tracekit':<48} {1000 * own:>9.1f} {1:>14.1f}")
    for name, way in ways.items():
        spent = _timed(way, 1)
        print(f"{name:<48} {1000 * spent:>9.1f} {spent / own:>14.1f}")


def _timed(way: Callable[[], Any], repeats: int) -> float:
    way()
    began = time.process_time()
    for _ in range(repeats):
        way()
    return (time.process_time() - began) / repeats


def _one_by_one(
    policy: FitnessPolicy, snapshot: Any, batch: Batch
) -> Callable[[FloatArray], float]:
    """The fitness of one candidate, container by container, as an objective is usually written."""
    ground = policy.ground(snapshot, np.arange(len(snapshot.capacity)))
    mu, nu = policy.mu(ground), policy.nu(ground)
    asked = [policy.request(ground, one) for one in batch.containers]
    kinds = [policy.kinds(ground, one) for one in batch.containers]
    nodes = len(ground.total)

    def fitness(position: FloatArray) -> float:
        used, score = ground.used.copy(), 0.0
        for at, node in enumerate(decode(np.asarray(position), nodes).tolist()):
            left = ground.total[node] - used[node]
            if (asked[at] > left).any():
                score -= 10.0
                continue
            load = (asked[at] + used[node]) / ground.total[node]
            score += float((mu[kinds[at][node]] * (1 - asked[at] / left)).sum())
            score += float((nu * (policy.tcrit - load)).sum())
            used[node] += asked[at]
        return score

    return fitness


def _library(fitness: Callable[[FloatArray], float], nodes: int) -> Callable[[], Any] | None:
    if importlib.util.find_spec("mealpy") is None:
        return None
    mealpy: Any = importlib.import_module("mealpy")

    def solve() -> Any:
        problem = {
            "obj_func": lambda row: -fitness(row),
            "bounds": mealpy.FloatVar(lb=[0.0] * BATCH, ub=[float(nodes)] * BATCH),
            "minmax": "min",
            "log_to": None,
        }
        return mealpy.BES.OriginalBES(epoch=ITERATIONS, pop_size=EAGLES).solve(problem, seed=1)

    return solve


if __name__ == "__main__":
    main()
