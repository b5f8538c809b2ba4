"""The choice of a placer for a policy and a workload, and the placer with cached rows of scores."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.placement import PlacementPolicy, Scores
from tracekit.policy.placement._extender import SplitPolicy
from tracekit.policy.view.snapshot import Container, Snapshot, best, fits
from tracekit.policy.view.usage import NodeUsage
from tracekit.replay.engine.placer import (
    Clock,
    MakePlacer,
    Placer,
    PlainPlacer,
    WindowStart,
    scored_nodes,
)
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.fast import shapes_of

#: About how much memory the cached rows may take.
ROWS_BYTES = 256 * 2**20


@dataclass
class Row:
    """Cached room and scores of all nodes for one shape, valid up to a ``ChangeLog`` position."""

    room: BoolArray
    scores: NDArray[Any] | None
    known_to: int


class _Joined(NamedTuple):
    """Cached joint scores that depend on measurements alone, with their shape and nodes."""

    shape: int
    usage: NodeUsage
    nodes: IntArray
    scores: Scores


class ChangeLog:
    """A log of the nodes whose state changed; a ``RowsPlacer`` scores only these again."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._log = np.empty(1024, dtype=np.int64)
        self._marked = np.zeros(nodes, dtype=np.bool_)
        self.length = 0

    def add(self, nodes: IntArray) -> None:
        """Append nodes that changed."""
        while self.length + len(nodes) > len(self._log):
            self._log = np.concatenate([self._log, np.empty_like(self._log)])
        self._log[self.length : self.length + len(nodes)] = nodes
        self.length += len(nodes)

    def since(self, position: int) -> IntArray:
        """Return the nodes that were added from a position on: distinct, ascending."""
        if self.length - position >= self._nodes:
            return np.arange(self._nodes)
        self._marked[self._log[position : self.length]] = True
        changed = np.flatnonzero(self._marked)
        self._marked[changed] = False
        return changed


class RowsPlacer:
    """A placer that caches each shape's scores of all nodes; not for policies that ignore room."""

    def __init__(self, state: ReplayState, rng: np.random.Generator, clock: Clock) -> None:
        self.latencies_s: list[float] = []
        self._state, self._rng, self._clock = state, rng, clock
        policy, nodes = state.policy, state.workload.nodes.count
        self.way = "joint" if policy.joint else "rows"
        self._split = policy if isinstance(policy, SplitPolicy) else None
        self._shape = shapes_of(state.workload).of
        self._by_service = bool({"placed", "recorded"} & policy.reads)
        self._by_cells = "cells" in policy.reads
        self._windowed = type(policy).candidates is not PlacementPolicy.candidates
        self._log = ChangeLog(nodes)
        self._rows: OrderedDict[Hashable, Row] = OrderedDict()
        self._most = max(ROWS_BYTES // (9 * nodes), 16)
        self._epoch: tuple[int, int | None] | None = None
        self._window_start = WindowStart()
        self._cached: _Joined | None = None
        # built-in policies read the containers of scored nodes only; a user's policy may read all
        self._local = (
            "placed" in policy.reads
            and policy.file is None
            and not (policy.joint or self._windowed)
        )

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for one container after another."""
        for index, now in zip(indices.tolist(), times_ms.tolist(), strict=True):
            state, container = self._state, self._state.container(index)
            self._forget_old(now)
            row, changed = self._row(index, container)
            snapshot = self._shown(now, changed)
            began = self._clock()
            node = self._decide(index, snapshot, container, row, changed)
            self.latencies_s.append(self._clock() - began)
            if node is not None:
                state.start(index, node, now)
                self._log.add(np.array([node]))

    def changed(self, nodes: IntArray) -> None:
        """Note that containers left these nodes, or came to them other than by this placer."""
        self._log.add(nodes)

    def _forget_old(self, now: int) -> None:
        """Drop all rows when the policy sees new measurements."""
        if "usage" in self._state.policy.reads:
            epoch = self._state.usage_epoch(now)
            if epoch != self._epoch:
                self._epoch = epoch
                self._rows.clear()

    def _shown(self, now: int, changed: IntArray) -> Snapshot:
        """The snapshot for the policy; with the containers of changed nodes only, where it may."""
        few = 2 * len(changed) <= self._state.workload.nodes.count
        if self._local and few:
            return self._state.snapshot_of(now, changed)
        return self._state.snapshot(now)

    def _decide(
        self, index: int, snapshot: Snapshot, container: Container, row: Row, changed: IntArray
    ) -> int | None:
        """The decision of ``tracekit.replay.engine.placer.decide``, from the cached row."""
        state, policy = self._state, self._state.policy
        self._update(row, changed, snapshot, container)
        open_nodes = state.open_nodes(index)
        room = row.room if open_nodes is None else row.room & open_nodes
        nodes = scored_nodes(policy, np.flatnonzero(room), len(room), self._window_start)
        if len(nodes) <= 1:
            return int(nodes[0]) if len(nodes) else None
        if policy.skips(snapshot, container):
            scores: NDArray[Any] = np.zeros(len(nodes), dtype=np.int64)
        elif self._split is not None and row.scores is not None:
            joined = self._joined(index, snapshot, container, nodes)
            scores = policy.normalize(self._split.together(row.scores[nodes], joined))
        elif row.scores is None:
            scores = policy.normalize(policy.score(snapshot, container, nodes))
        else:
            scores = policy.normalize(row.scores[nodes])
        return int(nodes[best(scores, policy.tie, self._rng)])

    def _joined(
        self, index: int, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> Scores:
        """Joint scores of the candidates; cached while shape, measurements and nodes are equal."""
        split, shape = self._split, int(self._shape[index])
        assert split is not None  # noqa: S101 - as the caller saw
        if not split.joined_is_cacheable(snapshot):
            return split.joined(snapshot, container, nodes)
        cached = self._cached
        if (
            cached is None
            or cached.shape != shape
            or cached.usage is not snapshot.usage
            or not np.array_equal(cached.nodes, nodes)
        ):
            scores = split.joined(snapshot, container, nodes)
            cached = self._cached = _Joined(shape, snapshot.usage, nodes, scores)
        return cached.scores

    def _row(self, index: int, container: Container) -> tuple[Row, IntArray]:
        """The row of the container's shape, and the nodes whose entries are stale."""
        key: Hashable = int(self._shape[index])
        if self._by_service:
            key = (key, container.service, container.recorded_node)
        if self._by_cells:
            key = (key, container.numa_cells)
        nodes = self._state.workload.nodes.count
        row = self._rows.pop(key, None)
        if row is None:
            row = Row(np.zeros(nodes, np.bool_), None, 0)
            changed = np.arange(nodes)
        else:
            changed = self._log.since(row.known_to)
        self._rows[key] = row
        if len(self._rows) > self._most:
            self._rows.popitem(last=False)
        return row, changed

    def _update(
        self, row: Row, changed: IntArray, snapshot: Snapshot, container: Container
    ) -> None:
        """Score changed nodes with room; joint and windowed policies score when they decide."""
        policy = self._state.policy
        row.known_to = self._log.length
        if not len(changed):
            return
        if 2 * len(changed) > len(row.room):
            # checking all nodes is faster than selecting most of them
            row.room[changed] = fits(snapshot, container)[changed]
        else:
            row.room[changed] = fits(snapshot, container, changed)
        if policy.filters():
            fitting = changed[row.room[changed]]
            row.room[fitting] = policy.admits(snapshot, container, fitting)
        unkept = self._windowed or (policy.joint and self._split is None)
        if unkept or policy.skips(snapshot, container):
            return
        rescored = changed[row.room[changed]]
        if not len(rescored):
            return
        rescore = policy.score if self._split is None else self._split.alone
        scores = rescore(snapshot, container, rescored)
        if row.scores is None:
            row.scores = np.zeros(len(row.room), dtype=scores.dtype)
        row.scores[rescored] = scores


#: CPU seconds that compiled code saves in one decision, about: 0.0001 for best_fit on 130 nodes,
#: 0.00035 for load_variation_risk_balancing on 500 nodes.
_SAVED_S = 0.0002

#: The least saving, in CPU seconds, for which a policy is compiled. Compiling its scores takes 1.5
#: to 5 s; compiling the loop that all policies share takes 12 s, once on a machine.
_WORTH_COMPILING_S = 5.0

#: Containers times nodes from which on an index saves a second of a replay. Compiling the index
#: takes another 20 s, once on a machine.
_WORTH_AN_INDEX = 200_000_000


def suited_placer(load: Workload, replays: int = 1) -> MakePlacer:
    """Return the kind of placer that is fastest for a workload, compilation included.

    All placers make the same decisions.

    Parameters
    ----------
    replays : int
        About how often the policy is replayed on such a workload.
    """
    if replays * load.containers.count * _SAVED_S < _WORTH_COMPILING_S:
        return rows_placer
    if load.containers.count * load.nodes.count < _WORTH_AN_INDEX:
        return scanning_placer
    return fast_placer


def fast_placer(
    state: ReplayState, rng: np.random.Generator, clock: Clock, *, search: bool = True
) -> Placer:
    """Return a ``CompiledPlacer`` if the policy has a kernel, else that of ``rows_placer``.

    Without ``search`` the compiled placer scores every node for every decision.
    """
    from tracekit.replay.fast.compiled_placer import (  # noqa: PLC0415 - numba is slow
        CompiledPlacer,
        find_kernel,
    )
    from tracekit.replay.fast.sampling import CompiledSampler  # noqa: PLC0415 - same

    state.samples.sampler = CompiledSampler(state.workload)
    policy, load = state.policy, state.workload
    kernel = None
    if "calls" not in policy.reads:
        kernel = find_kernel(policy, load.resources, load.nodes.allocatable)
    if kernel is None:
        return rows_placer(state, rng, clock)
    return CompiledPlacer(state, rng, clock, kernel, search=search)


def scanning_placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Placer:
    """Return the ``fast_placer`` without search.

    It compiles sooner, and is as fast on small clusters.
    """
    return fast_placer(state, rng, clock, search=False)


def rows_placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Placer:
    """Return a ``RowsPlacer``, which needs no compiled code.

    Policies that place on nodes without room, and policies that decide batch by batch, get a
    ``PlainPlacer``.
    """
    plain = not state.policy.filtered or state.policy.batched
    return (PlainPlacer if plain else RowsPlacer)(state, rng, clock)
