"""One policy on one order of arrival: done here, by another process, or on another machine."""

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

from tracekit.base.arrays import BoolArray
from tracekit.base.crew import OnProgress
from tracekit.base.seeds import stream
from tracekit.base.words import RESOURCES
from tracekit.cluster.arrivals import rearranged
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
from tracekit.replay.runs.placements import by_number


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The result of one policy: its rows of the run's frames.

    Parameters
    ----------
    row : dict
        What the summary says of it, but for the gaps to the bound.
    steps : DataFrame
    placements : DataFrame
        As ``tracekit.replay.runs.placements.by_number`` gives it.
    moves, stays : DataFrame
        As ``tracekit.replay.engine.steps`` gives them.
    timing : dict
    digest : str
        A hash of where and when each container was placed, and of how many were moved.
    """

    row: dict[str, Any]
    steps: pl.DataFrame
    placements: pl.DataFrame
    moves: pl.DataFrame
    stays: pl.DataFrame
    timing: dict[str, Any]
    digest: str

    def measures(self) -> Replayed:
        """The replay without steps, placements and moves, as orders after the first are kept."""
        return dataclasses.replace(
            self,
            steps=self.steps.clear(),
            placements=self.placements.clear(),
            moves=self.moves.clear(),
            stays=self.stays.clear(),
        )


@dataclass(frozen=True)
class ReplayTask:
    """A replay that can be sent elsewhere: where the workload is read, not the workload.

    ``replays`` is how many of its policy there are.
    """

    source: Source
    policy: Sent
    seed: int
    repeat: int
    replays: int = 1

    def run(self, on_progress: OnProgress) -> Replayed:
        """Read the workload, unless the last task here had the same, and replay."""
        entrant, seed, many = self.policy.entrant, self.seed, self.replays
        if self.repeat:
            ordered = _ordered(self.source, seed)
            return replay_one(ordered, entrant, seed, replays=many).measures()
        load = _loaded(self.source)
        return replay_one(load, entrant, seed, lambda: on_progress(1, 0, 0), replays=many)


@functools.lru_cache(maxsize=1)
def _loaded(source: Source) -> Workload:
    return source.load()


@functools.lru_cache(maxsize=1)
def _ordered(source: Source, seed: int) -> Workload:
    return in_order(_loaded(source), seed)


def forget() -> None:
    """Forget the workload of the last replay here."""
    _loaded.cache_clear()
    _ordered.cache_clear()


def in_order(load: Workload, seed: int) -> Workload:
    """The workload in the order of arrival that a seed gives."""
    return rearranged(load, stream(seed, "arrivals"))


def replay_one(
    load: Workload,
    entrant: Entrant,
    seed: int,
    each_step: Callable[[], None] = lambda: None,
    *,
    replays: int = 1,
) -> Replayed:
    """Replay one policy, drawing from a stream of its own, keyed by its spelling alone.

    ``replays`` is how many of the policy there will be: of many it is worth to compile more.
    Products of matrices take one thread here, as in a worker: several wait for each other by
    spinning, which costs a third more of the processors on 2,560 nodes and wins nothing.
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
    """As ``replay_one``, with how full each node was."""
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        return _replayed(load, entrant, seed, each_step, suited_placer(load, replays))


@functools.lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001 - a new one may bring its own
    """The libraries of this process that multiply matrices; finding them takes 2 ms."""
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
        # a stream for each spelling: two of one policy differ by chance alone
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
    """A short hash of parts in their order."""
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        whole.update(part)
    return whole.hexdigest()


def _of_run(run: Finished) -> dict[str, Any]:
    """The measures that are not of steps, as far as the workload knows what they need."""
    known = of_workload(run.load, *([] if run.conflicts is None else ["schedulers"]))
    return {name: one.of_run(run) for name, one in known.items() if one.of_run}


def labelled(frame: pl.DataFrame, policy: str) -> pl.DataFrame:
    """The frame with the policy as its first column."""
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


# The use that no container explains, and what is reserved for it.


def shares(load: Workload) -> dict[str, dict[str, float]]:
    """The mean background use of each resource, and the amount reserved for it.

    Shares of what the nodes have; for the manifest.
    """
    whole = np.maximum(load.nodes.capacity[:, : len(RESOURCES)].sum(axis=0, dtype=float), 1.0)
    used = load.use.background.mean(axis=1, dtype=float).sum(axis=1)
    kept = (
        whole * 0
        if load.nodes.reserved is None
        else load.nodes.reserved[:, : len(RESOURCES)].sum(axis=0)
    )
    return {
        "background": dict(zip(RESOURCES, (used / whole).tolist(), strict=True)),
        "reserved": dict(zip(RESOURCES, (kept / whole).tolist(), strict=True)),
    }


# Sources of differences between repeats: orders of arrival and drawn sizes.

#: What differs between repeats, as the manifest and tables say it.
ORDER, SIZES, SEED = "order of arrival", "sizes drawn from their intervals", "random seed"

#: Orders differ where at least this share of the containers can come in another order. Repeats in
#: which nearly all is the same would make nearly every difference look sure.
LEAST_SHARE = 0.5

#: Why one replay was all there is.
ALIKE = (
    "every order of arrival is nearly the same, as times of arrival are recorded and fewer than"
    f" {LEAST_SHARE:.0%} of the containers share theirs with another"
)


def varying(load: Workload) -> list[str]:
    """The differences between two orders of arrival of a workload; none where all is recorded."""
    differs = float(_free(load).mean()) >= LEAST_SHARE if load.containers.count else False
    return [*([ORDER] if differs else []), *([] if load.provenance.doubt is None else [SIZES])]


def _free(load: Workload) -> BoolArray:
    """Which containers can come in another order: by another time, or among those of one time."""
    _, at, each = np.unique(load.containers.arrival_ms, return_inverse=True, return_counts=True)
    free: BoolArray = each[at] > 1
    if load.containers.exchangeable is not None and int(load.containers.exchangeable.sum()) > 1:
        free |= load.containers.exchangeable
    return free
