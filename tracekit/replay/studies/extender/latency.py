"""How long a decision takes with and without the extender, its metrics cached or not (table 3-1).

Nothing goes over a network here: fetching metrics means adding up the use of every running
container per node. So the order of the three ways can be compared with the author's, their size
cannot.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Snapshot
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.engine.decision import decide
from tracekit.replay.engine.placer import Clock

#: What the author measured in each way, means of 9 runs.
PRINTED_MS: Mapping[str, float] = {"default": 0.945, "cached": 4.439, "refetched": 1110.439}
_POLICY = {"default": "default_scheduler", "cached": "cmdn", "refetched": "cmdn"}


@dataclass(frozen=True, kw_only=True)
class _Situation:
    """A cluster half filled: where containers run, and the step of the metrics."""

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


def decision_times(
    workload: Workload,
    rng: np.random.Generator,
    *,
    decisions: int = 200,
    clock: Clock = time.perf_counter,
) -> pl.DataFrame:
    """Time of single decisions: the default scheduler, the extender cached, refetched.

    Half of the containers run, dealt out to the nodes in turn; each of the others in turn, up to
    ``decisions`` of them, is decided on and not placed, so that all three decide the same.

    Returns
    -------
    DataFrame
        mode, decision, took_ms: with metrics fetched before it, their time counts.

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
    cached = here.fetch()
    policies = {mode: parse_policy(name) for mode, name in _POLICY.items()}
    waiting = np.arange(len(here.running), workload.containers)[:decisions]
    rows = []
    for turn, index in enumerate(waiting.tolist()):
        container = _container(workload, index)
        for mode, policy in policies.items():
            began = clock()
            usage = here.fetch() if mode == "refetched" else cached
            decide(policy, replace(here.snapshot, known_usage=usage), container, rng)
            rows.append({"mode": mode, "decision": turn, "took_ms": 1000 * (clock() - began)})
    return pl.DataFrame(rows)


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
