"""The queue: its order by priority, gangs, their waiting times, the calendar, stale schedulers."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.gangs import enough_of, runs, spread_gangs
from tracekit.cluster.parts import NodeEvents
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Schedulers
from tracekit.policy.placement import PlacementPolicy
from tracekit.replay.engine.placer import Clock, WindowStart, decide, still_fits
from tracekit.replay.engine.state import ReplayState


class Gangs:
    """The gangs of a workload, i.e. containers that must start together, with their sizes."""

    def __init__(self, load: Workload) -> None:
        assert load.rules.gang is not None  # noqa: S101 - as the caller saw
        self._gang, self._arrival, self._departure = (
            load.rules.gang,
            load.containers.arrival_ms,
            load.containers.departure_ms,
        )
        self._minimum = load.rules.gang_minimum
        order = np.argsort(load.rules.gang, kind="stable")
        numbers, first = np.unique(load.rules.gang[order], return_index=True)
        members = np.split(order, first[1:])
        self._members = dict(zip(numbers.tolist(), members, strict=True))
        self._enough = {gang: enough_of(load, some) for gang, some in self._members.items()}
        self._spread = np.isin(
            load.rules.gang, spread_gangs(load.rules.gang, load.containers.arrival_ms)
        )

    def of(self, index: int) -> int:
        """Return the gang of a container, -1 for none."""
        return int(self._gang[index])

    def pieces(self, indices: IntArray) -> list[tuple[int, int]]:
        """Return the slices (start, end) of ``indices`` whose containers are placed together.

        A slice has consecutive containers of one gang, or without a gang. Members of one gang that
        arrive at different times are in different slices.
        """
        gang = self._gang[indices]
        later = np.where(self._spread[indices], self._arrival[indices], 0)
        cuts = 1 + np.flatnonzero((np.diff(gang) != 0) | (np.diff(later) != 0))
        edges = [0, *cuts.tolist(), len(indices)]
        return list(itertools.pairwise(edges))

    def together(self, indices: IntArray) -> list[IntArray]:
        """Return the containers in groups, with all members of a gang in the group of the first."""
        gang = self._gang[indices]
        _, first, number = np.unique(gang, return_index=True, return_inverse=True)
        order = np.argsort(np.where(gang < 0, np.arange(len(gang)), first[number]), kind="stable")
        return [indices[order[start:end]] for start, end in runs(gang[order])]

    def waiting(self, pending: Sequence[int], new: int) -> IntArray:
        """Return the waiting members of the new container's gang that arrived at another time."""
        members = (
            [at for at in pending if self._gang[at] == self._gang[new]] if self._spread[new] else []
        )
        return np.array(members, dtype=np.int64)

    def needed(self, some: IntArray, node: IntArray, now: int) -> int:
        """Return how many of these members must get a node so that their gang can start.

        A gang with a minimum needs that many, less its other members that ever ran. A gang without
        one needs all members that have not departed, but no more than are ever present together.
        The result exceeds ``len(some)`` while too few have arrived; it is 0 without a gang.

        Parameters
        ----------
        some : int64, shape (members,)
            Members that never ran.
        node : int64, shape (containers,)
            The last node of each container, -1 for none.
        """
        gang = int(self._gang[some[0]])
        if gang < 0:
            return 0
        short = self._enough[gang] - self._began(some, node)
        if self._minimum is not None and self._minimum[some[0]]:
            return short
        others = np.setdiff1d(self._members[gang], some, assume_unique=True)
        to_come = int(((node[others] < 0) & (self._departure[others] > now)).sum())
        return min(short, len(some) + to_come)

    def fewer_are_enough(self, gone: IntArray) -> bool:
        """Return whether any of these departed containers is in a gang without a minimum size."""
        of_gang = gone[self._gang[gone] >= 0]
        stated = np.zeros_like(of_gang) if self._minimum is None else self._minimum[of_gang]
        return bool((stated == 0).any())

    def hold_enough(
        self, holding: Mapping[int, Sequence[int]], running: BoolArray, node: IntArray, now: int
    ) -> list[int]:
        """Return the gangs that can start now with the members that hold nodes.

        This happens when other members depart, because the gang then needs fewer.

        Parameters
        ----------
        holding : mapping
            The members of each gang that hold nodes and do not run yet: ``GangTimers.holding``.
        running, node : shape (containers,)
            Whether each container is on a node, and its last node, -1 for none.
        """
        complete = []
        for gang, members in holding.items():
            held = np.unique(np.array(members, dtype=np.int64))
            held = held[running[held]]
            if len(held) and len(held) >= self.needed(held, node, now):
                complete.append(gang)
        return complete

    def awaiting_others(
        self, pending: Sequence[int], arrived: int, node: IntArray, now: int
    ) -> int:
        """Return the number of pending containers whose gang must wait for members to arrive.

        Parameters
        ----------
        arrived : int
            The number of containers that have arrived; containers are in order of arrival.
        node : int64, shape (containers,)
            As in ``needed``.
        """
        if not pending or arrived == len(self._gang):
            return 0
        waiting = np.array(pending, dtype=np.int64)
        count = 0
        for gang in np.unique(self._gang[waiting]).tolist():
            some = waiting[self._gang[waiting] == gang]
            stated = self._minimum is not None and self._minimum[some[0]]
            come = int((self._members[gang] < arrived).sum())
            few = come < self._enough[gang] if stated else len(some) < self.needed(some, node, now)
            count += len(some) * (gang >= 0 and few)
        return count

    def small_gap(self, some: IntArray, running: BoolArray, node: IntArray, needed: int) -> bool:
        """Return whether at most a tenth of the needed members lacks a node at the first failure.

        The coscheduling plugin asks this in PostFilter, before it rejects members that hold nodes.
        """
        before = int(np.argmin(running[some]))
        return 10 * (needed - before) <= self._began(some, node) + needed

    def _began(self, some: IntArray, node: IntArray) -> int:
        """The number of other members of their gang that have or had a node."""
        others = np.setdiff1d(self._members[int(self._gang[some[0]])], some, assume_unique=True)
        return int((node[others] >= 0).sum())


def queue_key(load: Workload) -> Callable[[int], int] | None:
    """Return the function from a container to its sort key in the queue; None for equal priorities.

    The highest priority has the lowest key. The priority of a gang is the highest of its members.
    """
    if load.rules.priority is None or not np.ptp(load.rules.priority):
        return None
    priority = load.rules.priority.copy()
    if load.rules.gang is not None:
        highest = np.full(int(load.rules.gang.max(initial=-1)) + 1, np.iinfo(np.int64).min)
        members = np.flatnonzero(load.rules.gang >= 0)
        np.maximum.at(highest, load.rules.gang[members], priority[members])
        priority[members] = highest[load.rules.gang[members]]
    turn: list[int] = (-priority).tolist()
    return turn.__getitem__


class GangTimers:
    """The timers of all gangs: how long each may hold nodes, and how long it backs off.

    Source: scheduler-plugins, pkg/coscheduling/coscheduling.go and core/core.go. PreFilter tries no
    gang with fewer members than it needs. Where a member gets no node, PostFilter rejects the
    members that hold nodes and starts the back-off. If at most a tenth of the members is missing,
    they wait in Permit instead. When the wait of the first member ends, Unreserve rejects all
    members, without a back-off.

    Attributes
    ----------
    clocks : bool
        Whether gangs wait or back off at all.
    holding : dict of int to list of int
        The members of each gang that hold nodes and do not run yet.
    """

    def __init__(self, load: Workload, policy: PlacementPolicy) -> None:
        own = policy.gang_wait_ms, policy.gang_backoff_ms
        if load.rules.gang is None:
            own = 0, 0
        self.wait_ms = load.rules.gang_wait_ms if own[0] is None else own[0]
        self.backoff_ms = load.rules.gang_backoff_ms if own[1] is None else own[1]
        self.clocks = bool(self.wait_ms or self.backoff_ms)
        self.holding: dict[int, list[int]] = {}
        self._release: dict[int, int] = {}
        self._again: dict[int, int] = {}

    def hold(self, gang: int, members: list[int], now: int) -> None:
        """Note that members hold nodes; the first ones of a gang start its timer."""
        if not members:
            return
        self.holding.setdefault(gang, []).extend(members)
        self._release.setdefault(gang, now + self.wait_ms)

    def ended(self, gang: int) -> IntArray:
        """End the wait of a gang that starts or gives up; return the members that held nodes."""
        self._release.pop(gang, None)
        return np.unique(np.array(self.holding.pop(gang, []), dtype=np.int64))

    def step_back(self, gang: int, now: int) -> None:
        """Start the back-off of a gang that could not start."""
        if self.backoff_ms:
            self._again[gang] = now + self.backoff_ms

    def backed_off(self, gang: int, now: int) -> bool:
        """Return whether the gang is in its back-off."""
        return now < self._again.get(gang, now)

    def next_ms(self) -> int | None:
        """Return the time at which the next wait or back-off ends; None where none is under way."""
        return min([*self._release.values(), *self._again.values()], default=None)

    def due(self, now: int) -> tuple[list[int], bool]:
        """Return the gangs whose wait ends now, and whether any back-off ends now."""
        over = sorted(gang for gang, when in self._release.items() if when <= now)
        free = [gang for gang, when in self._again.items() if when <= now]
        for gang in free:
            del self._again[gang]
        return over, bool(free)


class Calendar:
    """The departures of containers and the losses and joins of nodes; each is returned once."""

    def __init__(self, workload: Workload) -> None:
        self._departures = np.argsort(workload.containers.departure_ms, kind="stable")
        self._leaves_ms = workload.containers.departure_ms[self._departures]
        self._departed = 0
        self._losses = _Nodes(workload.nodes.losses, workload.nodes.leaves)
        self._joins = _Nodes(workload.nodes.joins, workload.nodes.returns)

    def next_ms(self) -> int | None:
        """Return the time of the next departure, loss or join; None where there is none."""
        times = [self._losses.next_ms(), self._joins.next_ms()]
        if self._departed < len(self._leaves_ms):
            times.append(int(self._leaves_ms[self._departed]))
        return min((time for time in times if time is not None), default=None)

    def departing(self, now: int) -> IntArray:
        """Return the containers that depart up to this time, without those of earlier calls."""
        end = int(np.searchsorted(self._leaves_ms, now, side="right"))
        leaving, self._departed = self._departures[self._departed : end], end
        return leaving

    def lost(self, now: int) -> IntArray:
        """Return the nodes that are lost up to this time, without those of earlier calls."""
        return self._losses.until(now)

    def joined(self, now: int) -> IntArray:
        """Return the nodes that join up to this time, without those of earlier calls."""
        return self._joins.until(now)


class _Nodes:
    """Nodes with times, in order of time."""

    def __init__(self, *given: NodeEvents | None) -> None:
        none = np.empty(0, dtype=np.int64)
        stated = [one for one in given if one is not None]
        node, time_ms = (
            np.concatenate([none, *(getattr(one, name) for one in stated)])
            for name in ("node", "time_ms")
        )
        order = np.argsort(time_ms, kind="stable")
        self._node, self._time_ms, self._done = node[order], time_ms[order], 0

    def next_ms(self) -> int | None:
        return int(self._time_ms[self._done]) if self._done < len(self._node) else None

    def until(self, now: int) -> IntArray:
        if self._done == len(self._node):
            return self._node[:0]
        end = int(np.searchsorted(self._time_ms, now, side="right"))
        nodes, self._done = self._node[self._done : end], end
        return nodes


# Several schedulers, each with its own stale view of the cluster.


class StalePlacer:
    """A placer made of several schedulers, each with its own outdated view of the cluster.

    Of n schedulers, number i mod n decides on container i (``tracekit.policy.entrant.Schedulers``).
    If it finds no node, or one that has been filled, it renews its view and decides once more.
    """

    way = "plain, on views of several schedulers"

    def __init__(
        self,
        state: ReplayState,
        rng: np.random.Generator,
        clock: Clock,
        *,
        schedulers: Schedulers,
    ) -> None:
        self.latencies_s: list[float] = []
        self._state, self._rng, self._clock = state, rng, clock
        self._schedulers = schedulers
        turn = np.arange(state.workload.containers.count) % schedulers.number
        self._views = [_View(state, turn == one) for one in range(schedulers.number)]

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for containers in this order, each by its scheduler."""
        for index, now in zip(indices.tolist(), times_ms.tolist(), strict=True):
            self._place(index, now)

    def changed(self, nodes: IntArray) -> None:
        """Do nothing: schedulers see the change when they renew their view."""

    def _place(self, index: int, now: int) -> None:
        state, scheduler = self._state, index % self._schedulers.number
        view = self._views[scheduler]
        due = self._schedulers.view_ms(scheduler, now)
        if due > view.of_ms or not self._schedulers.cache_age_ms:
            view.renew(due, now)
        began = self._clock()
        node = self._decided(view, index, now)
        clash = node is not None and not self._stands(index, node, now)
        state.conflicts += clash
        if clash or (node is None and view.of_ms < now):
            view.renew(now, now)
            node = self._decided(view, index, now)
        self.latencies_s.append(self._clock() - began)
        if node is not None:
            state.start(index, node, now)
            view.start(index, node, now)

    def _decided(self, view: "_View", index: int, now: int) -> int | None:
        return decide(
            view.policy,
            view.snapshot(now),
            view.container(index),
            self._rng,
            open_nodes=view.open_nodes(index),
            window_start=view.window_start,
        )

    def _stands(self, index: int, node: int, now: int) -> bool:
        """Whether the node is open to the container and has room for it in the true state."""
        state = self._state
        seen, container = state.snapshot(now), state.container(index)
        return still_fits(state.policy, seen, container, state.open_nodes(index), node)


class _View(ReplayState):
    """The view of one scheduler: the cluster at an earlier time, with its own later decisions.

    All schedulers share the measured use.

    Attributes
    ----------
    of_ms : int
        The earlier time.
    """

    def __init__(self, truth: ReplayState, own: BoolArray) -> None:
        super().__init__(truth.workload, truth.policy, samples=truth.samples)
        self._truth, self._own = truth, own
        self.of_ms = int(np.iinfo(np.int64).min)
        self.window_start = WindowStart()

    def measure(self) -> None:
        """Take the samples of the true state."""
        self._truth.measure()

    def renew(self, of_ms: int, now: int) -> None:
        """Set the view to the cluster at the time ``of_ms``.

        Evictions after that time show too, because the state records only the last node of each
        container.
        """
        truth, departure = self._truth, self.workload.containers.departure_ms
        present = (truth.placed_ms >= 0) & (truth.placed_ms <= of_ms) & (departure > of_ms)
        present &= truth.running | (departure <= now)
        present |= self._own & truth.running
        gone = self.running & (~present | (self.node != truth.node))
        for index in np.flatnonzero(gone).tolist():
            self.stop(index)
        for index in np.flatnonzero(present & ~self.running).tolist():
            self.start(index, int(truth.node[index]), int(truth.placed_ms[index]))
        if self.lost is not None and truth.lost is not None:
            self.lost[:] = truth.lost
        self.of_ms = of_ms
