"""The replay of one policy on one order of arrival, in this process or in another one."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import ThreadpoolController

from tracekit.base.arrays import BoolArray, IntArray, stream
from tracekit.base.crew import OnProgress
from tracekit.base.words import RESOURCES
from tracekit.cluster.gangs import rearranged
from tracekit.cluster.source import Source
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import (
    Entrant,
    Sent,
)
from tracekit.policy.view.usage import OverTime
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer
from tracekit.replay.engine.queueing import StalePlacer
from tracekit.replay.engine.steps import Outcome, summarize
from tracekit.replay.fast.choose import suited_placer
from tracekit.replay.measures import Finished, of_workload


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The result of one policy's replay: its rows of the run's frames.

    Parameters
    ----------
    row : dict
        The row of the summary, without the gaps to the bound.
    steps : DataFrame
    placements : DataFrame
        As ``tracekit.replay.runs.one.by_number`` gives it.
    moves, stays : DataFrame
        As ``tracekit.replay.engine.steps`` gives them.
    timing : dict
    digest : str
        A hash of the node and the time of each placement, and of the number of moves.
    """

    row: dict[str, Any]
    steps: pl.DataFrame
    placements: pl.DataFrame
    moves: pl.DataFrame
    stays: pl.DataFrame
    timing: dict[str, Any]
    digest: str

    def without_frames(self) -> Replayed:
        """Return a copy with empty frames, which keeps ``row``, ``timing`` and ``digest``."""
        return dataclasses.replace(
            self,
            steps=self.steps.clear(),
            placements=self.placements.clear(),
            moves=self.moves.clear(),
            stays=self.stays.clear(),
        )


@dataclass(frozen=True)
class ReplayTask:
    """A replay for another process, which reads the workload from its source.

    ``replays`` is the number of replays of the policy in this run.
    """

    source: Source
    policy: Sent
    seed: int
    repeat: int
    replays: int = 1

    def run(self, on_progress: OnProgress) -> Replayed:
        """Replay the policy and return the result.

        The workload is read, unless this process has it from its last task.
        """
        entrant, seed, many = self.policy.entrant, self.seed, self.replays
        if self.repeat:
            ordered = _ordered(self.source, seed)
            return replay_one(ordered, entrant, seed, replays=many).without_frames()
        load = _loaded(self.source)
        return replay_one(load, entrant, seed, lambda: on_progress(1, 0, 0), replays=many)


@functools.lru_cache(maxsize=1)
def _loaded(source: Source) -> Workload:
    return source.load()


@functools.lru_cache(maxsize=1)
def _ordered(source: Source, seed: int) -> Workload:
    return in_order(_loaded(source), seed)


def forget() -> None:
    """Free the workload that this process has cached for its next task."""
    _loaded.cache_clear()
    _ordered.cache_clear()


def in_order(load: Workload, seed: int) -> Workload:
    """Return the workload in another order of arrival, drawn with the seed."""
    return rearranged(load, stream(seed, "arrivals"))


def replay_one(
    load: Workload,
    entrant: Entrant,
    seed: int,
    each_step: Callable[[], None] = lambda: None,
    *,
    replays: int = 1,
) -> Replayed:
    """Replay a workload under one policy.

    The policy draws from a random stream of its own, keyed by its spelling. Products of matrices
    use one thread, as in a worker: several threads cost a third more of the processors on 2,560
    nodes, because they wait by spinning, and save no time.

    Parameters
    ----------
    each_step : callable
        Called after every sampling step.
    replays : int
        The number of replays of the policy; with many, compiling more of the policy pays.
    """
    return replay_nodes(load, entrant, seed, each_step, replays=replays)[0]


def replay_nodes(
    load: Workload,
    entrant: Entrant,
    seed: int,
    each_step: Callable[[], None] = lambda: None,
    *,
    replays: int = 1,
) -> tuple[Replayed, OverTime]:
    """Replay as ``replay_one`` does, and return also the use of each node over time."""
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        return _replayed(load, entrant, seed, each_step, suited_placer(load, replays))


@functools.lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001 - new modules may bring more
    """The libraries of this process that multiply matrices; the search for them takes 2 ms."""
    return ThreadpoolController()


def _replayed(
    load: Workload,
    entrant: Entrant,
    seed: int,
    each_step: Callable[[], None],
    placer: MakePlacer,
) -> tuple[Replayed, OverTime]:
    policy, rebalance = entrant.placement, entrant.rebalance
    several = entrant.schedulers
    engine = Engine(
        load,
        policy,
        # each spelling has its own stream, so two spellings of one policy differ by chance
        stream(seed, str(policy)),
        placer=placer if several is None else functools.partial(StalePlacer, schedulers=several),
        rebalance=rebalance,
    )
    outcome = engine.run(each_step)
    about = {
        "policy": str(entrant),
        "parameters": entrant.spelled_out(),
        "placed": int((outcome.node >= 0).sum()),
    }
    measured = summarize(outcome.steps)
    of_run = _of_run(
        Finished(
            load=load,
            node=outcome.node,
            measured=measured,
            move_downtime_ms=0 if rebalance is None else rebalance.move_downtime_ms,
            taken_off=outcome.taken_off,
            over_time=outcome.over_time,
            conflicts=None if several is None else outcome.conflicts,
        )
    )
    replayed = Replayed(
        row={**about, "pending": of_run["pending"], **measured, **of_run},
        steps=labelled(outcome.steps, str(entrant)),
        placements=by_number(outcome.node, outcome.time_ms),
        moves=outcome.moves,
        stays=outcome.stays,
        timing=_timing(str(entrant), outcome),
        digest=_digest(outcome, measured["moves"]),
    )
    return replayed, outcome.over_time


def _digest(outcome: Outcome, moves: int) -> str:
    placed = (np.ascontiguousarray(one, dtype=np.int64) for one in (outcome.node, outcome.time_ms))
    return digest_of([*(one.tobytes() for one in placed), str(moves).encode()])


def digest_of(parts: Iterable[bytes]) -> str:
    """Return a hash of 32 hexadecimal digits of the parts, in their order."""
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        whole.update(part)
    return whole.hexdigest()


def _of_run(run: Finished) -> dict[str, Any]:
    """The measures of the whole run, as far as the workload has the data that they need."""
    measures = of_workload(run.load, *([] if run.conflicts is None else ["schedulers"]))
    return {name: one.of_run(run) for name, one in measures.items() if one.of_run}


def labelled(frame: pl.DataFrame, policy: str) -> pl.DataFrame:
    """Return the frame with the policy as its first column."""
    return frame.select(pl.lit(policy).alias("policy"), pl.all())


def _timing(policy: str, outcome: Outcome) -> dict[str, Any]:
    spent_ms = np.array(outcome.latencies_s or [0.0]) * 1000
    return {
        "policy": policy,
        "decisions": len(outcome.latencies_s),
        "latency_p50_ms": float(np.quantile(spent_ms, 0.5)),
        "latency_p95_ms": float(np.quantile(spent_ms, 0.95)),
        "latency_mean_ms": float(spent_ms.mean()),
        "total_ms": float(spent_ms.sum()),
    }


def shares(load: Workload) -> dict[str, dict[str, float]]:
    """Return the mean background use of each resource and the reserve, as shares of capacity.

    Returns
    -------
    dict
        ``background`` and ``reserved``: a share for each resource.
    """
    whole = np.maximum(load.nodes.capacity[:, : len(RESOURCES)].sum(axis=0, dtype=float), 1.0)
    used = load.use.background.mean(axis=1, dtype=float).sum(axis=1)
    reserve = (
        whole * 0
        if load.nodes.reserved is None
        else load.nodes.reserved[:, : len(RESOURCES)].sum(axis=0)
    )
    return {
        "background": dict(zip(RESOURCES, (used / whole).tolist(), strict=True)),
        "reserved": dict(zip(RESOURCES, (reserve / whole).tolist(), strict=True)),
    }


#: The sources of differences between repeats, in the words of the manifest and the tables.
ORDER, SIZES, SEED = "order of arrival", "sizes drawn from their intervals", "random seed"

#: Orders of arrival count as different where at least this share of the containers may arrive in
#: another order. Repeats that are nearly equal would make nearly every difference significant.
LEAST_SHARE = 0.5

#: Why a run has one order of arrival only.
ALIKE = (
    "every order of arrival is nearly the same, as times of arrival are recorded and fewer than"
    f" {LEAST_SHARE:.0%} of the containers share theirs with another"
)


def varying(load: Workload) -> list[str]:
    """Return why results differ between orders of arrival; empty where the order hardly matters.

    The causes are ``ORDER``, if enough containers could have arrived in another order, and
    ``SIZES``, if the workload's sizes are in doubt.
    """
    differs = float(_free(load).mean()) >= LEAST_SHARE if load.containers.count else False
    return [*([ORDER] if differs else []), *([] if load.provenance.doubt is None else [SIZES])]


def _free(load: Workload) -> BoolArray:
    """The containers whose place in the order of arrival may change, shape (containers,).

    These share their time of arrival with another container, or have an assumed time.
    """
    _, at, each = np.unique(load.containers.arrival_ms, return_inverse=True, return_counts=True)
    free: BoolArray = each[at] > 1
    if load.containers.exchangeable is not None and int(load.containers.exchangeable.sum()) > 1:
        free |= load.containers.exchangeable
    return free


PLACED, PENDING = "placed", "pending"


def by_number(node: IntArray, time_ms: IntArray) -> pl.DataFrame:
    """Return one row for each container, in workload order; null if it was never placed.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        -1 for never.

    Returns
    -------
    DataFrame
        node (the position of the node in the workload), time_ms.
    """
    frame = pl.DataFrame({"node": node.astype(np.int32), "time_ms": time_ms})
    never = pl.all() < 0
    return frame.select(pl.when(~never).then(pl.all()))


def by_name(load: Workload, frames: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return the rows of placements.parquet, with names in place of the positions of ``by_number``.

    Parameters
    ----------
    frames : iterable of (str, DataFrame)
        Each policy with its frame of ``by_number``.
    """
    nodes = pl.Series("node", load.nodes.ids, dtype=pl.String)
    container = pl.Series("container", load.containers.ids, dtype=pl.String)
    service = pl.Series("service", load.containers.services, dtype=pl.String)
    outcome = pl.when(pl.col("node").is_null()).then(pl.lit(PENDING)).otherwise(pl.lit(PLACED))
    return pl.concat(
        [
            pl.select(policy=pl.repeat(policy, len(container), dtype=pl.String)).hstack(
                [container, service, nodes.gather(frame["node"]), frame["time_ms"],
                 frame.select(outcome.alias("outcome")).to_series()]
            )
            for policy, frame in frames
        ]
    )  # fmt: skip


def moves_by_name(load: Workload, frames: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return the rows of moves.parquet: the evictions by the rebalancer of each policy, in order.

    Parameters
    ----------
    frames : iterable of (str, DataFrame)
        Each policy with its frame of ``tracekit.replay.engine.steps.Moves``.
    """
    nodes = pl.Series(load.nodes.ids, dtype=pl.String)
    containers = pl.Series(load.containers.ids, dtype=pl.String)
    return pl.concat(
        frame.select(
            pl.lit(policy).alias("policy"),
            "time_ms",
            containers.gather(frame["container"]).alias("container"),
            nodes.gather(frame["from_node"]).alias("from_node"),
            nodes.gather(frame["to_node"]).alias("to_node"),
            "strategy",
        )
        for policy, frame in frames
    )


def moves_by_class(moves: pl.DataFrame, staying: pl.DataFrame) -> pl.DataFrame:
    """Count moves by strategy and outcome, and containers that stay by reason.

    Returns
    -------
    DataFrame
        policy, strategy, outcome (moved, waits, same_node, stays), reason (for stays),
        containers (distinct ones) and moves.
    """
    to = pl.col("to_node")
    outcome = pl.when(to.is_null()).then(pl.lit("waits")).when(to == pl.col("from_node"))
    gone = moves.group_by(
        "policy",
        "strategy",
        outcome.then(pl.lit("same_node")).otherwise(pl.lit("moved")).alias("outcome"),
        pl.lit(None, pl.String).alias("reason"),
        maintain_order=True,
    ).agg(pl.col("container").n_unique().cast(pl.Int64).alias("containers"),
          pl.len().cast(pl.Int64).alias("moves"))  # fmt: skip
    left = staying.select(
        "policy", "strategy", pl.lit("stays").alias("outcome"), "reason", "containers",
        pl.lit(None, pl.Int64).alias("moves"),
    )  # fmt: skip
    return pl.concat([gone, left]).sort("policy", "strategy", "outcome", maintain_order=True)
