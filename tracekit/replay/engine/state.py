"""The state of one replay: running containers, their nodes, samples, and snapshots for policies."""

from collections.abc import Hashable

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.pods import pods_of
from tracekit.policy.view.snapshot import Container, Peers, Placed, Snapshot
from tracekit.policy.view.usage import Reader
from tracekit.replay.engine.samples import PlacedRows, Residents, Samples
from tracekit.replay.engine.steps import Moves


class ReplayState:
    """The state of a replay, and the snapshots of it that policies get.

    Attributes
    ----------
    node, placed_ms : int64, shape (containers,)
        The last node of each container, and the time of its placement; -1 before the first.
    running : bool, shape (containers,)
    samples : Samples
    moves : Moves
        Evictions by the rebalancer.
    conflicts : int
        Decisions for a node that another scheduler had filled before the commit.

    Parameters
    ----------
    samples : Samples, optional
        The samples of another state, to be shared.
    """

    def __init__(
        self,
        workload: Workload,
        policy: PlacementPolicy,
        rebalance: RebalancePolicy | None = None,
        samples: Samples | None = None,
    ) -> None:
        self.workload = workload
        self.policy = policy
        self.rebalance = rebalance
        self.cluster = Cluster(
            resources=workload.resources,
            capacity=workload.nodes.capacity,
            allocatable=workload.nodes.allocatable,
        )
        self.running = np.zeros(workload.containers.count, dtype=np.bool_)
        self.node = np.full(workload.containers.count, -1, dtype=np.int64)
        self.placed_ms = np.full(workload.containers.count, -1, dtype=np.int64)
        limits = workload.rules.constraints if policy.filtered else None
        if limits is not None and policy.lifts:
            limits = limits.without(policy.lifts)
        self._limits = limits
        self._keeper = None if limits is None else limits.keeper(workload.nodes.count, policy.cell)
        fixed = workload.nodes.losses is None and workload.nodes.joins is None
        self.lost = None if fixed else np.zeros(workload.nodes.count, np.bool_)
        if self.lost is not None and workload.nodes.joins is not None:
            self.lost[workload.nodes.joins.node] = True
        waits = workload.rules.gang_wait_ms or policy.gang_wait_ms
        self.holding = np.zeros(workload.containers.count, np.bool_) if waits else None
        self._rows = PlacedRows(workload)
        self._residents: Residents | None = None
        looks = "peers" in policy.reads or (rebalance is not None and "peers" in rebalance.reads)
        self._peers = Peers(workload.containers.services, workload.nodes.count) if looks else None
        self.samples = samples or Samples(workload, _readers(policy, rebalance))
        self.conflicts = 0
        self.moves = Moves(workload.containers.count)
        written = workload.rules.written if rebalance is not None else None
        self._pods = None if written is None else pods_of(written, workload.nodes.ids)
        self._moved = False

    def start(self, index: int, node: int, now: int) -> None:
        """Put a container on a node."""
        self._before_moves()
        self.node[index], self.placed_ms[index], self.running[index] = node, now, True
        self.moves.placed(index, node)
        self._change(index, sign=1)

    def commit(self, indices: IntArray, nodes: IntArray, times_ms: IntArray) -> None:
        """Record placements whose requests the placer has already added to the cluster.

        Parameters
        ----------
        indices, nodes, times_ms : int64, shape (containers,)
            Node -1 means no placement.
        """
        self._before_moves()
        placed = nodes >= 0
        at = indices[placed]
        self.node[at], self.placed_ms[at] = nodes[placed], times_ms[placed]
        self.running[at] = True
        self._residents = None
        followers = [one for one in (self._keeper, self._peers) if one is not None]
        if not followers and self.rebalance is None:
            return
        for index, node in zip(at.tolist(), nodes[placed].tolist(), strict=True):
            self.moves.placed(index, node)
            for follower in followers:
                follower.add(index, node)

    def stop(self, index: int) -> int:
        """Take a container off its node and return the node.

        A container that held its node but did not run yet then counts as never placed.
        """
        self._before_moves()
        node = int(self.node[index])
        self.running[index] = False
        self._change(index, sign=-1)
        if self.holding is not None and self.holding[index]:
            self.holding[index] = False
            self.node[index], self.placed_ms[index] = -1, -1
        return node

    def undo(self, index: int) -> int:
        """Take a container off its node as if it had never been placed, and return the node."""
        node = self.stop(index)
        self.node[index], self.placed_ms[index] = -1, -1
        self.moves.taken_back(index)
        return node

    def hold(self, indices: IntArray) -> None:
        """Mark placed containers as not running yet: requests count, and use does not."""
        if self.holding is not None:
            self.holding[indices] = True

    def begin(self, indices: IntArray, now: int) -> None:
        """Start containers that were marked by ``hold``."""
        if self.holding is not None and len(indices):
            self._before_moves()
            self.holding[indices] = False
            self.placed_ms[indices] = now

    def lose(self, nodes: IntArray) -> IntArray:
        """Close lost nodes, and return the containers that run there, in order of arrival."""
        assert self.lost is not None  # noqa: S101 - as the workload says
        self.lost[nodes] = True
        return np.flatnonzero(self.running & np.isin(self.node, nodes))

    def join(self, nodes: IntArray) -> None:
        """Open nodes that join the cluster."""
        assert self.lost is not None  # noqa: S101 - as the workload says
        self.lost[nodes] = False

    def open_nodes(self, index: int) -> BoolArray | None:
        """Return the nodes that constraints and losses leave open to a container; None for all."""
        open_by_rules = None if self._keeper is None else self._keeper.open(index)
        if self.lost is None or not self.lost.any():
            return open_by_rules
        return ~self.lost if open_by_rules is None else open_by_rules & ~self.lost

    def set_in_constraints(self, index: int, node: int, *, gone: bool) -> None:
        """Tell the constraints, and nothing else, that a container left a node or is back there."""
        if self._keeper is not None:
            (self._keeper.remove if gone else self._keeper.add)(index, node)

    @property
    def awaits(self) -> BoolArray | None:
        """Containers that may fit once others have arrived, shape (containers,); None for none."""
        return None if self._limits is None else self._limits.awaits

    def fixed(self, indices: IntArray) -> IntArray | None:
        """Return a number for each container: equal numbers mean the same open nodes.

        -1 for a container whose open nodes change with placements. None where no constraint and no
        loss closes a node.
        """
        if self._limits is None:
            return None if self.lost is None else np.zeros(len(indices), dtype=np.int64)
        return self._limits.fixed[indices]

    def closed_nodes(self, index: int) -> list[tuple[str, BoolArray]]:
        """Return the name of each constraint, with the nodes that it closes to a container."""
        reasons = [] if self._keeper is None else self._keeper.closed(index)
        return reasons if self.lost is None else [*reasons, ("lost", self.lost.copy())]

    def kind(self, index: int) -> Hashable:
        """Return a key of the constraints on a container: equal keys mean equal constraints."""
        return None if self._limits is None else self._limits.kind(index)

    def check_conservation(self) -> None:
        """Recount containers and requests on every node; a difference is a bug.

        Raises
        ------
        AssertionError
        """
        counted = self.samples.count(self.running, self.node)
        if not np.array_equal(counted.requested, self.cluster.requested):
            raise AssertionError(f"{self.policy}: requested differs from the sum of placed")
        if not np.array_equal(counted.containers, self.cluster.containers):
            raise AssertionError(f"{self.policy}: containers differ from those placed")

    def container(self, index: int) -> Container:
        """Return the container as the policy sees it, with copies of its amounts."""
        load = self.workload
        return Container(
            id=load.containers.ids[index],
            service=load.containers.services[index],
            request=load.containers.request[index].copy(),
            nonzero_request=load.containers.nonzero_request[index].copy(),
            limit=load.containers.limit[index].copy(),
            recorded_node=(
                int(load.containers.recorded_node[index])
                if "recorded" in self.policy.reads
                else None
            ),
            kind=int(load.rules.calls.kind[index])
            if load.rules.calls and "calls" in self.policy.reads
            else -1,
            numa_cells=self._numa_cells(index),
        )

    def _numa_cells(self, index: int) -> int:
        """The number of NUMA cells of a container, where its policy reads cells; else 0."""
        cells = self._limits.cells if self._limits and "cells" in self.policy.reads else None
        return int(cells.numa_cells[index]) if cells else 0

    def snapshot(self, now: int) -> Snapshot:
        """Return the cluster as the policy sees it at this time."""
        return self._snapshot(now, self.policy)

    def snapshot_of(self, now: int, nodes: IntArray) -> Snapshot:
        """Return the ``snapshot`` with the running containers of some nodes only.

        Parameters
        ----------
        nodes : int64, shape (some,)
            Distinct nodes.
        """
        if self._residents is None:
            self._residents = Residents(self.running, self.node, self.workload.nodes.count)
        return self._snapshot(now, self.policy, self._residents.on(nodes))

    def usage_epoch(self, now: int) -> tuple[int, int | None]:
        """Return a key of what the policy can measure at this time: equal keys, equal measurements.

        The key is the number of use samples that the policy sees, and the time of its metrics. This
        time is None for a policy without a ``metric_time_ms`` of its own.
        """
        own = type(self.policy).metric_time_ms is not PlacementPolicy.metric_time_ms
        return (
            self.samples.history.samples_until(now, self.policy),
            self.policy.metric_time_ms(now) if own else None,
        )

    def evict(self, now: int) -> tuple[IntArray, list[str]]:
        """Return the containers that the rebalancer evicts, in its order, and the strategy of each.

        Containers that a strategy leaves on their nodes are noted in ``moves``.
        """
        if self.rebalance is None:
            return np.empty(0, dtype=np.int64), []
        decided = self.rebalance.decide(self._snapshot(now, self.rebalance))
        running, rules = np.flatnonzero(self.running), self.workload.rules
        for (strategy, reason), those in decided.staying.items():
            self.moves.stay(strategy, reason, running[those])
        chosen = running[decided.evicted]
        leaving = chosen if rules.daemon is None else chosen[~rules.daemon[chosen]]
        if rules.budgets is not None:
            requested, leaving = leaving, rules.budgets.granted(leaving, self.allowed(now))
            refused = requested[~np.isin(requested, leaving)]
            self.moves.stay("DefaultEvictor", "PodDisruptionBudget", refused)
        by = dict(zip(chosen.tolist(), decided.strategies, strict=True))
        return leaving, [by[one] for one in leaving.tolist()]

    def allowed(self, now: int) -> IntArray:
        """Return the number of evictions that each disruption budget allows now, (budgets,)."""
        load = self.workload
        if load.rules.budgets is None:
            return np.empty(0, dtype=np.int64)
        present = (load.containers.arrival_ms <= now) & (now < load.containers.departure_ms)
        return load.rules.budgets.allowed(self.running, present)

    def pass_step(self, step: int, pending: int, moves: int = 0, again: int = 0) -> None:
        """Note that a sampling step has passed, and check the cluster's sums if a container moved.

        ``pending`` is the number of waiting containers, ``moves`` that of moved ones, and ``again``
        that of moved ones that had been moved before.
        """
        if self._moved:
            self.check_conservation()
            self._moved = False
        self.samples.note(step, pending, moves, self.cluster.requested, again)

    def finish(self) -> pl.DataFrame:
        """Take the last samples, and return a row of measures for each step."""
        self.measure()
        return self.samples.frame()

    def _before_moves(self) -> None:
        """Take the samples of the passed steps before a container moves."""
        self.measure()
        self._moved = True

    def measure(self) -> None:
        """Take the samples of the passed steps with the present placement."""
        using = self.running if self.holding is None else self.running & ~self.holding
        self.samples.take(using, self.node)

    def _snapshot(
        self,
        now: int,
        reader: PlacementPolicy | RebalancePolicy,
        shown: IntArray | None = None,
    ) -> Snapshot:
        """The snapshot for a reader, with all running containers, or with those ``shown``."""
        reads = reader.reads
        if "usage" in reads:
            self.measure()
        return self.cluster.snapshot(
            now,
            usage=self.samples.history.usage(now, reader) if "usage" in reads else None,
            placed=self._known_placed(now, reader, shown) if "placed" in reads else None,
            calls=self.workload.rules.calls if "calls" in reads else None,
            cells=self._keeper.free_cells if self._keeper and "cells" in reads else None,
            peers=self._peers if "peers" in reads else None,
            domains=self.workload.nodes.domains,
            lost=None if self.lost is None else self.lost.copy(),
            pods=self._pods if isinstance(reader, RebalancePolicy) else None,
        )

    def _change(self, index: int, *, sign: int) -> None:
        load = self.workload
        if self._residents is not None:
            change = self._residents.add if sign > 0 else self._residents.remove
            change(index, int(self.node[index]))
        for follower in (self._keeper, self._peers):
            if follower is not None:
                follow = follower.add if sign > 0 else follower.remove
                follow(index, int(self.node[index]))
        self.cluster.change(
            int(self.node[index]),
            load.containers.request[index],
            load.containers.nonzero_request[index],
            np.maximum(load.containers.limit[index], load.containers.request[index]),
            sign=sign,
        )

    def _known_placed(
        self, now: int, reader: PlacementPolicy | RebalancePolicy, shown: IntArray | None
    ) -> Placed:
        at = np.flatnonzero(self.running) if shown is None else shown
        evicts, load = isinstance(reader, RebalancePolicy), self.workload
        measured = evicts and "usage" in reader.reads
        show = self._rows.show if shown is None else self._rows.pick
        request, limit, service = show(at)
        return Placed(
            node=self.node[at],
            time_ms=self.placed_ms[at],
            request=request,
            limit=limit,
            service=service,
            usage=self._measured(at, now, reader) if measured else None,
            index=at,
            daemon=load.rules.daemon[at] if evicts and load.rules.daemon is not None else None,
            barred=load.rules.budgets.barred(at, self.allowed(now))
            if evicts and load.rules.budgets is not None
            else None,
            priority=load.rules.priority[at]
            if evicts and load.rules.priority is not None
            else None,
            created_ms=self._created_ms(at) if evicts else None,
        )

    def _created_ms(self, at: IntArray) -> IntArray:
        """The creation time of containers: recorded for unmoved pinned ones, else the placement."""
        load, times_ms = self.workload, self.placed_ms[at].copy()
        if load.rules.written is not None and load.rules.pinned is not None:
            began = (load.rules.pinned[at] >= 0) & ~self.moves.moved(at)
            times_ms[began] = load.rules.written.created_ms[at[began]]
        return times_ms

    def _measured(
        self, at: IntArray, now: int, reader: PlacementPolicy | RebalancePolicy
    ) -> FloatArray:
        """Use of containers at the newest visible sample; NaN for those placed after it."""
        newest = self.samples.history.samples_until(now, reader) - 1
        if newest < 0:
            return np.full((len(at), 2), np.nan)
        used = self.workload.use.at(newest)[:, at].T.astype(np.float64)
        used[self.placed_ms[at] > self.workload.use.times_ms[newest]] = np.nan
        return used


def _readers(policy: PlacementPolicy, rebalance: RebalancePolicy | None) -> list[Reader]:
    """The policies that read usage."""
    readers: list[Reader] = [policy] if "usage" in policy.reads else []
    return [*readers, rebalance] if rebalance and "usage" in rebalance.reads else readers
