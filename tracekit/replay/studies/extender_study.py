"""The experiments of the extender's author: load of nodes, and time of a decision.

Figures 3-2 and 3-3 show the load of nodes after each pod, under the extender and under the default
scheduler. The author used three nodes and nine pods, and does not print the pods' sizes: this study
draws sizes as ``paper000`` does. It repeats the experiment in many orders of arrival, so that
chance can be judged.

Table 3-1 shows how long a decision takes without the extender, with cached metrics, and with
metrics that are fetched. This study uses no network: to fetch metrics means to add up the use of
all running containers of each node. The order of the three times can be compared with the author's;
their size cannot.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray, stream
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study
from tracekit.cluster.named import Paper000
from tracekit.cluster.source import drawn_workload
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Snapshot
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import Clock, decide
from tracekit.replay.fast.choose import fast_placer
from tracekit.replay.studies import ExtenderStudy
from tracekit.replay.studies.placement_study import use_by_count

#: The author's time of a decision in each mode, the mean of 9 runs.
PRINTED_MS: Mapping[str, float] = {"default": 0.945, "cached": 4.439, "refetched": 1110.439}
_POLICY = {"default": "default_scheduler", "cached": "cmdn", "refetched": "cmdn"}


@dataclass(frozen=True, kw_only=True)
class _Situation:
    """A cluster that runs half of its containers: their nodes, and the step of the metrics."""

    workload: Workload
    snapshot: Snapshot
    running: IntArray
    node: IntArray
    step: int

    def fetch(self) -> SeriesUsage:
        """Return the use of every node, added up from the containers that run on it."""
        load = self.workload
        used = [
            load.use.background[resource, self.step]
            + np.bincount(
                self.node,
                np.nan_to_num(load.use.at(self.step)[resource, self.running]),
                minlength=load.nodes.count,
            )
            for resource in range(2)
        ]
        fractions = np.stack(used, axis=1) / load.nodes.capacity[:, :2]
        return SeriesUsage(fractions[None], int(load.use.times_ms[self.step]))


def decision_times(
    workload: Workload,
    rng: np.random.Generator,
    *,
    decisions: int = 200,
    clock: Clock = time.perf_counter,
) -> pl.DataFrame:
    """Time each decision in three modes: default scheduler, cached metrics, fetched metrics.

    Half of the containers run, spread over the nodes in turn. Up to ``decisions`` of the other
    containers are decided on, one after the other, in each mode. None of them is placed, so that
    the three modes decide on the same cluster.

    Returns
    -------
    DataFrame
        mode, decision, took_ms. The time of fetched metrics includes fetching them.

    Raises
    ------
    TracekitError
        When the workload has fewer than two containers.
    """
    if workload.containers.count < 2:
        raise TracekitError(
            "the latency experiment needs 2 containers,"
            f" the workload has {workload.containers.count}"
        )
    here = _half_filled(workload)
    cached = here.fetch()
    policies = {mode: parse_policy(name) for mode, name in _POLICY.items()}
    waiting = np.arange(len(here.running), workload.containers.count)[:decisions]
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
    running = np.arange(workload.containers.count // 2)
    node = running % workload.nodes.count
    cluster = Cluster(
        resources=workload.resources,
        capacity=workload.nodes.capacity,
        allocatable=workload.nodes.capacity,
    )
    for index, at in zip(running.tolist(), node.tolist(), strict=True):
        cluster.change(
            at,
            workload.containers.request[index],
            workload.containers.nonzero_request[index],
            workload.containers.limit[index],
            sign=1,
        )
    step = len(workload.use.times_ms) // 2
    now = int(workload.use.times_ms[step])
    return _Situation(
        workload=workload, snapshot=cluster.snapshot(now), running=running, node=node, step=step
    )


def _container(workload: Workload, index: int) -> Container:
    return Container(
        id=workload.containers.ids[index],
        service=workload.containers.services[index],
        request=workload.containers.request[index],
        nonzero_request=workload.containers.nonzero_request[index],
        limit=workload.containers.limit[index],
    )


NAME = "extender"
POLICIES = ("default_scheduler", "bnp", "cmdn[balanced=true]")
#: The resources of the author's figures, with their columns in the workload.
RESOURCES = {"cpu": "cpu_milli", "net": "net_kbit"}
_LOAD = pl.col("load_fraction")


def study_extender(
    study: ExtenderStudy | None = None,
    *,
    clock: Clock = time.perf_counter,
    progress: Progress = SILENT,
) -> Study:
    """Run the extender study: loads of nodes under three policies, and times of decisions.

    Returns
    -------
    Study
        ``loads``: requests over capacity of each node after each arrival, by policy and order.
        ``curves``: the lowest and the highest of these loads, as means over orders (figures 3-2 and
        3-3). ``decisions``: each timed decision. ``latency``: mean and median by mode (table 3-1).
        Times are wall-clock times.
    """
    study = study or ExtenderStudy()
    with progress.task("placements", study.orders, "orders") as task:
        rows: list[pl.DataFrame] = []
        for order in range(study.orders):
            rows += _loads(study, order)
            task.advance(1)
    loads = pl.concat(rows)
    times = decision_times(
        drawn_workload(Paper000(), stream(study.seed, "workload")),
        stream(study.seed, NAME),
        decisions=study.decisions,
        clock=clock,
    )
    return Study(
        name=NAME,
        about={**asdict(study), "policies": list(POLICIES)},
        frames={
            "loads": loads,
            "curves": _curves(loads),
            "decisions": times,
            "latency": _latency(times),
        },
    )


def _loads(study: ExtenderStudy, order: int) -> Iterator[pl.DataFrame]:
    drawn = drawn_workload(
        Paper000(
            seed=study.seed,
            nodes=study.nodes,
            containers=study.containers,
            target_alloc_fraction=study.target_alloc_fraction,
        ),
        stream(study.seed, f"order {order}"),
    )
    for name in POLICIES:
        policy = parse_policy(name)
        outcome = Engine(
            drawn, policy, stream(study.seed, f"{name} {order}"), placer=fast_placer
        ).run()
        yield _by_count(drawn, outcome.node).with_columns(
            policy=pl.lit(name), order=pl.lit(order, pl.Int64)
        )


def _by_count(load: Workload, node: np.ndarray) -> pl.DataFrame:
    """Load of each node after the arrival of 1, 2, ... containers."""
    columns = {name: load.resources.index(column) for name, column in RESOURCES.items()}
    return pl.DataFrame(
        [
            {
                "containers": count,
                "resource": name,
                "node": load.nodes.ids[at],
                "load_fraction": use,
            }
            for count in range(1, load.containers.count + 1)
            for name, column in columns.items()
            for at, use in enumerate(use_by_count(load, node, count)[:, column].tolist())
        ]
    )


def _curves(loads: pl.DataFrame) -> pl.DataFrame:
    keys = ["policy", "resource", "containers"]
    each = loads.group_by(*keys, "order", maintain_order=True).agg(
        _LOAD.min().alias("low_fraction"), _LOAD.max().alias("high_fraction")
    )
    return each.group_by(keys, maintain_order=True).agg(
        pl.col("low_fraction", "high_fraction").mean(),
        (pl.col("high_fraction") - pl.col("low_fraction")).mean().alias("spread_fraction"),
    )


def _latency(times: pl.DataFrame) -> pl.DataFrame:
    printed = pl.DataFrame({"mode": list(PRINTED_MS), "printed_mean_ms": PRINTED_MS.values()})
    return (
        times.group_by("mode", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("decisions"),
            pl.col("took_ms").mean().alias("mean_ms"),
            pl.col("took_ms").median().alias("median_ms"),
            pl.col("took_ms").quantile(0.95).alias("p95_ms"),
        )
        .join(printed, on="mode", maintain_order="left")
    )
