"""How long a decision takes with and without the Liang extender, its metrics cached or not.

The experiment of the extender's author, on the replay's own machinery. There, a decision took
0.945 ms with the default scheduler, 4.439 ms with the extender on cached metrics, and 1110.439 ms
when it asked Prometheus each time (means of 9 runs). Here nothing goes over a network: fetching
metrics means adding up the use of every running container per node, as a monitoring system would.
So the order of the three can be compared with the author's, their size cannot.

``python tests/bench/bench_latency.py`` prints the table for the workload paper000.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tracekit.arrays import IntArray
from tracekit.errors import TracekitError
from tracekit.replay.engine.decision import decide
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.view.cluster import Cluster
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.view.usage import SeriesUsage
from tracekit.replay.workload.loaders.paper000 import Paper000
from tracekit.replay.workload.workload import Workload
from tracekit.seeds import stream

Clock = Callable[[], float]

#: What the author measured, in ms.
_PUBLISHED_MEAN_MS = {"default": 0.945, "cached": 4.439, "refetched": 1110.439}


@dataclass(frozen=True, kw_only=True)
class _Situation:
    """A cluster half filled: where containers run, what is requested, the step of the metrics."""

    workload: Workload
    snapshot: Snapshot
    running: IntArray
    node: IntArray
    step: int

    def fetch(self) -> SeriesUsage:
        """Measure every node anew from the containers that run on it."""
        load = self.workload
        used = [
            load.background[resource, self.step]
            + np.bincount(
                self.node,
                np.nan_to_num(load.use_at(self.step)[resource, self.running]),
                minlength=load.nodes,
            )
            for resource in range(2)
        ]
        fractions = np.stack(used, axis=1) / load.capacity[:, :2]
        return SeriesUsage(fractions[None], int(load.times_ms[self.step]))


def liang_latency(
    workload: Workload,
    rng: np.random.Generator,
    *,
    policy: str = "cmdn",
    decisions: int = 200,
    clock: Clock = time.perf_counter,
) -> pl.DataFrame:
    """Latency of single decisions: the default scheduler, the extender cached, refetched.

    Half of the containers run, dealt out to the nodes in turn; each of the others in turn, up to
    ``decisions`` of them, is decided on and not placed, so that all three decide the same.

    Parameters
    ----------
    policy : str
        A policy of the extender, as ``NAME[param=value,...]``.
    clock : callable
        Seconds; wall clock by default. Its readings are all that differs from run to run.

    Returns
    -------
    DataFrame
        mode, policy, decisions; latency_p50_ms, latency_p95_ms of choosing a node; refresh_p50_ms
        of fetching metrics before it; both_p50_ms of the two; published_mean_ms of the author.

    Raises
    ------
    TracekitError
        When the workload has fewer than two containers.
    """
    if workload.containers < 2:
        raise TracekitError(
            f"the latency experiment needs 2 containers, the workload has {workload.containers}"
        )
    here = _half_filled(workload)
    waiting = np.arange(len(here.running), workload.containers)[:decisions]
    default, extender = parse_policy("default_scheduler"), parse_policy(policy)
    return pl.DataFrame(
        [
            _row("default", here, default, waiting, rng=rng, clock=clock),
            _row("cached", here, extender, waiting, rng=rng, clock=clock),
            _row("refetched", here, extender, waiting, rng=rng, clock=clock),
        ]
    )


def _half_filled(workload: Workload) -> _Situation:
    running = np.arange(workload.containers // 2)
    node = running % workload.nodes
    cluster = Cluster(
        resources=workload.resources, capacity=workload.capacity, allocatable=workload.capacity
    )
    for index, at in zip(running.tolist(), node.tolist(), strict=True):
        cluster.change(
            at,
            workload.request[index],
            workload.nonzero_request[index],
            workload.limit[index],
            sign=1,
        )
    step = len(workload.times_ms) // 2
    now = int(workload.times_ms[step])
    return _Situation(
        workload=workload, snapshot=cluster.snapshot(now), running=running, node=node, step=step
    )


def _container(workload: Workload, index: int) -> Container:
    return Container(
        id=workload.container_ids[index],
        service=workload.services[index],
        request=workload.request[index],
        nonzero_request=workload.nonzero_request[index],
        limit=workload.limit[index],
    )


def _row(
    mode: str,
    here: _Situation,
    policy: PlacementPolicy,
    waiting: IntArray,
    *,
    rng: np.random.Generator,
    clock: Clock,
) -> dict[str, object]:
    cached, fetching = here.fetch(), mode == "refetched"
    refresh, decide_s = np.zeros(len(waiting)), np.zeros(len(waiting))
    for turn, index in enumerate(waiting.tolist()):
        container = _container(here.workload, index)
        began = clock()
        usage = here.fetch() if fetching else cached
        fetched = clock()
        decide(policy, replace(here.snapshot, known_usage=usage), container, rng)
        refresh[turn], decide_s[turn] = fetched - began, clock() - fetched
    return {
        "mode": mode,
        "policy": str(policy),
        "decisions": len(waiting),
        "latency_p50_ms": 1000 * float(np.quantile(decide_s, 0.5)),
        "latency_p95_ms": 1000 * float(np.quantile(decide_s, 0.95)),
        "refresh_p50_ms": 1000 * float(np.quantile(refresh, 0.5)) if fetching else 0.0,
        "both_p50_ms": 1000 * float(np.quantile(refresh * fetching + decide_s, 0.5)),
        "published_mean_ms": _PUBLISHED_MEAN_MS[mode],
    }


if __name__ == "__main__":
    found = liang_latency(Paper000().drawn(stream(0, "workload")), np.random.default_rng(0))
    with pl.Config(tbl_cols=-1, tbl_width_chars=200, tbl_hide_column_data_types=True):
        print(found)
