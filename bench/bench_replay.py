"""How fast placements are decided, in ratios within one run against the plain engine.

``python -m bench.bench_replay`` prints the table; ``--quick`` takes a small workload, to see
that it runs. Every row checks that the plain engine, shown the same cluster, decides the same: at
decisions spread evenly over the whole replay, which are also those that it is timed on. Times are
CPU seconds of the thread, because others may use the machine. Whole replays at the trace's own size
come last; ``--whole`` leaves out the rest. ``--avx2`` measures the load-aware policies once more,
in a process that compiles as a processor without wider vectors does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tracekit.base.arrays import IntArray

sys.path.insert(0, str(Path(__file__).parent))

from machine import as_avx2, machine
from replay_load import Size, make_load
from replay_whole import HEADER as WHOLE_HEADER
from replay_whole import STEPS, whole_rows

from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.snapshot import fits
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import Clock, MakePlacer, WindowStart, decide, scored_nodes
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.fast.choose import fast_placer

FULL = Size()
QUICK = Size(containers=600, services=30, nodes=100, steps=8)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement; times in seconds per decision, ``whole_s`` of the whole replay."""

    name: str
    way: str
    fast_s: float
    whole_s: float
    plain_s: float
    decisions: int
    checked: int

    def text(self) -> str:
        """The row of the table."""
        return (
            f"{self.name:<52} {self.way:<7} {1 / self.fast_s:>10,.0f} {1 / self.plain_s:>8,.0f}"
            f" {self.plain_s / self.fast_s:>8,.0f} {self.decisions / self.whole_s:>10,.0f}"
            f" {self.checked:>6}"
        )


HEADER = (
    f"{'':<52} {'':<7} {'fast':>10} {'plain':>8} {'ratio':>8} {'with all':>10} {'same':>6}\n"
    f"{'policy, arrivals, nodes':<52} {'way':<7} {'per s':>10} {'per s':>8} {'':>8}"
    f" {'per s':>10} {'of':>6}"
)


class Checking:
    """A placer that repeats an outcome, and decides plainly now and then: as before, or it fails.

    Times of the plain decisions are what ``latencies_s`` holds.
    """

    way = "check"

    def __init__(self, state: ReplayState, outcome: Outcome, every: int) -> None:
        self.latencies_s: list[float] = []
        self._state, self._outcome, self._every = state, outcome, every
        self._rng, self._window_start = np.random.default_rng(0), WindowStart()
        self._windowed = type(state.policy).candidates is not PlacementPolicy.candidates

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Start every container where the outcome says."""
        state, node = self._state, self._outcome.node
        for index, now in zip(indices.tolist(), times_ms.tolist(), strict=True):
            if index % self._every == self._every - 1:
                self._check(index, now)
            elif self._windowed:
                self._look(index, now)
            if node[index] >= 0:
                state.start(index, int(node[index]), now)

    def changed(self, nodes: IntArray) -> None:
        """Nothing is kept."""

    def _look(self, index: int, now: int) -> None:
        """Move the turn on, as the decision that is not made would have."""
        state = self._state
        room = fits(state.snapshot(now), state.container(index))
        scored_nodes(state.policy, np.flatnonzero(room), len(room), self._window_start)

    def _check(self, index: int, now: int) -> None:
        state = self._state
        snapshot, container = state.snapshot(now), state.container(index)
        for column in range(2 if "usage" in state.policy.reads else 0):
            snapshot.usage.average(column, state.policy.metric_samples())
            snapshot.usage.deviation(column, state.policy.metric_samples())
        began = time.thread_time()
        node = decide(state.policy, snapshot, container, self._rng, window_start=self._window_start)
        self.latencies_s.append(time.thread_time() - began)
        expected = int(self._outcome.node[index])
        if (-1 if node is None else node) != expected:
            raise AssertionError(f"{state.policy}: {index} goes to {node}, not {expected}")


def measure(
    name: str, load: Workload, policy: PlacementPolicy, placer: MakePlacer, checks: int
) -> Row:
    """Replay fast, then repeat it with plain decisions in between."""
    began = time.thread_time()
    engine = Engine(load, policy, np.random.default_rng(0), placer=placer, clock=time.thread_time)
    fast = engine.run()
    whole = time.thread_time() - began

    def checking(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Checking:  # noqa: ARG001
        return Checking(state, fast, max(load.containers.count // checks, 1))

    plain = Engine(load, policy, np.random.default_rng(0), placer=checking).run()
    return Row(
        name=name,
        way=fast.way,
        fast_s=float(np.mean(fast.latencies_s)),
        whole_s=whole,
        plain_s=float(np.median(plain.latencies_s)),
        decisions=len(fast.latencies_s),
        checked=len(plain.latencies_s),
    )


REQUESTS = ("least_allocated", "balanced_allocation", "most_allocated", "best_fit", "first_fit")
SCAN = ("least_allocated", "balanced_allocation")
LOAD = (
    "load_variation_risk_balancing",
    "target_load_packing",
    "low_risk_overcommitment",
    "cwt",
    "default_scheduler[tie=first]",
)


def rows(size: Size, checks: int, only: str) -> Iterator[Row]:
    """The measurements, one after another; compiled code is called once before."""
    tasks = [(size, name, fast_placer) for name in REQUESTS]
    tasks += [(size, name, partial(fast_placer, search=False)) for name in SCAN]
    tasks += [(size, name, fast_placer) for name in LOAD]
    tasks += [(replace(size, order="grouped"), name, fast_placer) for name in REQUESTS[:2]]
    tasks += [(replace(size, sizes=12), "least_allocated", fast_placer)]
    for factor in (0.1, 10.0):
        nodes, containers = int(size.nodes * factor), int(size.containers * min(factor, 1))
        resized = replace(size, nodes=nodes, containers=containers, steps=min(24, size.steps))
        tasks += [(resized, "least_allocated", fast_placer)]
    made: tuple[Size, Workload] | None = None
    warm = make_load(QUICK, np.random.default_rng(0))
    for wanted, text, placer in tasks:
        name = f"{text}, {wanted.order}, {wanted.nodes:,}" + (
            f" of {wanted.sizes} sizes" if wanted.sizes > 1 else ""
        )
        if not any(part in name for part in only.split("|")):
            continue
        if made is None or made[0] != wanted:
            made = wanted, make_load(wanted, np.random.default_rng(0))
        policy = parse_policy(text)
        Engine(warm, policy, np.random.default_rng(0), placer=placer).run()
        yield measure(name, made[1], policy, placer, checks)


def main(arguments: list[str] | None = None) -> None:
    """Print the table as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small workload")
    parser.add_argument("--only", default="", help="rows whose name has one of these in it, by |")
    parser.add_argument("--avx2", action="store_true", help="then load-aware rows as with AVX2")
    parser.add_argument("--checks", type=int, default=60, help="plain decisions per row")
    parser.add_argument("--whole", action="store_true", help="only the whole replays")
    given = parser.parse_args(arguments)
    size = QUICK if given.quick else FULL
    print(machine())
    if not given.whole:
        print(HEADER)
        for row in rows(size, given.checks, given.only):
            print(row.text(), flush=True)
    print(WHOLE_HEADER)
    for line in whole_rows(size, only=given.only, steps=size.steps if given.quick else STEPS):
        print(line, flush=True)
    if given.avx2:
        print(flush=True)
        again_with_avx2([*(["--quick"] if given.quick else []), f"--checks={given.checks}"])


def again_with_avx2(options: list[str]) -> None:
    """The rows of policies that read measured load, from a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, f"--only={'|'.join(LOAD)}", *options]
        subprocess.run(command, env=as_avx2(Path(cache)), check=True)


if __name__ == "__main__":
    main()
