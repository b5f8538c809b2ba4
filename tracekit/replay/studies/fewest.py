"""The fewest nodes on which a workload runs under a policy within limits, by replays on fewer.

Nodes go in one of two stated orders, of which the one that ends with fewer nodes is taken:

- ``least_asked``: the policy is replayed on all nodes, and those on which it put least go first.
  Least is by the requests of the containers it put there, over time, as a share of the node's
  capacity, of the resource where that is largest; of equal nodes the last goes first.
- ``smallest``: by capacity as a share of the largest node's, the mean over resources; of equal
  nodes the one goes first that ``least_asked`` takes first. It is searched where it holds with one
  node fewer than the first order ended with.

How many nodes can go is found by bisection between the lower bound and all. So the answer is the
fewest of its order: it holds, and with one node fewer a limit breaks, or the bound is reached.
That fewer still would hold again, or another choice of as many nodes, is not ruled out.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.engine.steps import step_schema, summarize
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.runs.bounds import bound_frame, bound_steps
from tracekit.replay.runs.demand_bound import demand_bound
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.replay.studies.limits import Broken, Limits
from tracekit.replay.workload.feasible import too_large
from tracekit.replay.workload.on_nodes import on_nodes, without_daemons
from tracekit.replay.workload.pinned import requests_respected
from tracekit.replay.workload.workload import Workload


@dataclass(frozen=True)
class Trial:
    """One replay on so many nodes, in one order of arrival; what broke, if anything did."""

    repeat: int
    nodes: int
    row: dict[str, Any]
    broken: Broken | None


@dataclass(frozen=True, kw_only=True)
class Fewest:
    """The answer for one policy.

    Parameters
    ----------
    bound : int, optional
        No placement within the limits gets by with fewer nodes; None where nothing is proven.
    by_order : tuple of int
        The fewest for each order of arrival by itself, on nodes that go in the same order.
    going : str
        In which order nodes went.
    place : int64, shape (nodes,)
        Positions of the nodes; those that stay longest first.
    put : float64, shape (nodes,)
        Share of each node that was asked for over time, on all nodes.
    trials : tuple of Trial
        All that were replayed in this order, on all nodes first, then by number of nodes.
    """

    nodes: int
    bound: int | None
    by_order: tuple[int, ...]
    going: str
    place: IntArray
    put: FloatArray
    trials: tuple[Trial, ...]

    def at(self, nodes: int) -> list[Trial]:
        """The replays on so many nodes, by order of arrival."""
        return [one for one in self.trials if one.nodes == nodes]


def fewest_nodes(
    load: Workload, policy: Entrant, limits: Limits, *, seed: int, repeats: int
) -> Fewest:
    """Search for one policy.

    Raises
    ------
    TracekitError
        Where a limit breaks on all nodes; the message says by how much.
    """
    tried = _Tried(load, policy, limits, seed)
    orders = range(repeats)
    for order in orders:
        tried.check_all_nodes(order)
    bound = least_nodes(load, policy, limits)
    found = _searched(tried, orders, bound)
    other = tried.smallest_first()
    if found.nodes > (bound or 1) and other.hold_all(found.nodes - 1, orders):
        again = _searched(other, orders, bound)
        return again if again.nodes < found.nodes else found
    return found


def _searched(tried: _Tried, orders: Sequence[int], bound: int | None) -> Fewest:
    """The fewest nodes in the order in which they go."""
    every = len(tried.place)
    by_order = [
        fewest(functools.partial(tried.holds, order), bound or 1, every) for order in orders
    ]
    nodes = max(by_order)
    if not tried.hold_all(nodes, orders):
        nodes = fewest(lambda some: tried.hold_all(some, orders), nodes + 1, every)
    return Fewest(
        nodes=nodes,
        bound=bound,
        by_order=tuple(by_order),
        going=tried.going,
        place=tried.place,
        put=tried.put,
        trials=tried.trials(),
    )


def fewest(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The number that bisection finds: ``holds`` there, and below ``low`` or not one less.

    ``high`` is known to hold.
    """
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


class _Tried:
    """Replays of one policy on the first nodes of its order, each done once."""

    def __init__(self, load: Workload, policy: Entrant, limits: Limits, seed: int) -> None:
        self._load, self._policy, self._limits, self._seed = load, policy, limits, seed
        self.done: dict[tuple[int, int], Trial] = {}
        self._ordered = (0, load)
        whole = replay_one(load, policy, seed)
        self._base = {0: whole.row}
        node = whole.placements["node"].fill_null(-1).to_numpy().astype(np.int64)
        self.put = asked_over_time(load, node)
        self.place = np.argsort(-self.put, kind="stable")
        self.going = "least_asked"

    def smallest_first(self) -> _Tried:
        """The same where the smallest nodes go first; replays on all nodes are known."""
        load = self._load
        size = (load.capacity / np.maximum(load.capacity.max(axis=0), 1)).mean(axis=1)
        other = copy.copy(self)
        other.place = np.lexsort((-self.put, -size))
        other.going = "smallest"
        other.done = {key: one for key, one in self.done.items() if one.nodes == load.nodes}
        return other

    def check_all_nodes(self, order: int) -> None:
        """Raise TracekitError where a limit breaks on all nodes in this order of arrival."""
        if order not in self._base:
            self._base[order] = replay_one(self._in(order), self._policy, self._seed + order).row
        trial = self._trial(order, self._load.nodes, self._base[order])
        if trial.broken is not None:
            raise TracekitError(self._on_all_nodes(trial), hint=_hint(trial.broken, self._load))

    def hold_all(self, nodes: int, orders: Iterable[int]) -> bool:
        """Whether all limits hold on so many nodes in every order of arrival."""
        return all(self.holds(order, nodes) for order in orders)

    def holds(self, order: int, nodes: int) -> bool:
        """Whether all limits hold on so many nodes, in this order of arrival."""
        known = self.done.get((order, nodes))
        if known is None:
            kept = np.sort(self.place[:nodes])
            few = on_nodes(self._in(order), kept)
            known = self._trial(order, nodes, replay_one(few, self._policy, self._seed + order).row)
        return known.broken is None

    def trials(self) -> tuple[Trial, ...]:
        """All replays, on most nodes first."""
        return tuple(sorted(self.done.values(), key=lambda one: (-one.nodes, one.repeat)))

    def _trial(self, order: int, nodes: int, row: dict[str, Any]) -> Trial:
        broken = self._limits.first_broken(str(self._policy), self._base[order], row)
        self.done[order, nodes] = Trial(order, nodes, row, broken)
        return self.done[order, nodes]

    def _in(self, order: int) -> Workload:
        """The workload in an order of arrival; drawn with all nodes, so that it is the same."""
        if order == 0:
            return self._load
        if self._ordered[0] != order:
            self._ordered = order, in_order(self._load, self._seed + order)
        return self._ordered[1]

    def _on_all_nodes(self, trial: Trial) -> str:
        again = f" in order of arrival {trial.repeat}" if trial.repeat else ""
        return f"{self._policy} on all {trial.nodes:,} nodes{again}: {trial.broken}"


def _hint(broken: Broken, load: Workload) -> str | None:
    """What may be done where even all nodes are too few."""
    if broken.measure not in {"pending", "pending_container_steps"}:
        return (
            "raise the limit, lower the load with --scale, or allow what happens on all nodes:"
            f" --limit '{broken.measure} <= base'"
        )
    never = too_large(load)
    allow = f"allow it with --limit '{broken.measure} <= {broken.value or 0:g}'"
    return f"{never}; {allow}" if never else f"the cluster is too small for it as it is; {allow}"


def asked_over_time(load: Workload, node: IntArray) -> FloatArray:
    """What placed containers asked of each node over time, of its fullest resource, (nodes,).

    Daemons are not counted: they go with their node.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each container was placed last, -1 for never.
    """
    counted = node >= 0
    if load.daemon is not None:
        counted &= ~load.daemon
    who = np.flatnonzero(counted)
    end = int(load.times_ms[-1]) + load.step_ms
    there = np.minimum(load.departure_ms[who], end) - np.minimum(load.arrival_ms[who], end)
    asked = np.zeros(load.capacity.shape)
    np.add.at(asked, node[who], load.request[who] * there[:, None].astype(np.float64))
    span = max(end - int(load.times_ms[0]), 1)
    share = asked / np.maximum(load.capacity, 1) / span
    return np.asarray(share.max(axis=1))


def least_nodes(load: Workload, policy: Entrant, limits: Limits) -> int | None:
    """A lower bound on nodes for any placement within the limits; None where none is proven.

    By requests for a policy that respects them, by use as far as limits cap it. Daemons and
    background are left out of requests, as they go with their nodes.
    """
    if not limits.nobody_waits(str(policy)):
        return None
    stays = without_daemons(load)
    found = [1]
    free = stays.pinned is None or not (stays.pinned >= 0).any()
    if policy.filtered and free and requests_respected(load):
        bound = summarize(bound_frame(bound_steps(stays), step_schema(stays)))["nodes_used_max"]
        found.append(int(bound or 0))
    most = limits.most_use(str(policy))
    if np.isfinite(most).any():
        found.append(demand_bound(_by_use(stays, filtered=policy.filtered and free), most))
    return min(max(found), load.nodes)


def _by_use(load: Workload, *, filtered: bool) -> Workload:
    """The workload with requests of further resources only if they are respected."""
    if filtered or len(load.resources) == 2:
        return load
    request = load.request.copy()
    request[:, 2:] = 0
    return dataclasses.replace(load, request=request)
