"""Replays of one policy on some nodes of a workload, compared with limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from tracekit.answer.admissible import PENDING, WAITING
from tracekit.answer.fewest.cluster import ZoneBoundContainers, zones_among, zones_of
from tracekit.answer.fewest.limits import CPU, MEMORY, Limits, Margin
from tracekit.answer.fewest.replays import Replayed, ReplayOn
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import Workload

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Trial:
    """One replay on some nodes in one order of arrival, judged by the limits.

    Parameters
    ----------
    row : dict
        The measures of the replay.
    broken : tuple of Margin
        The limits that break.
    tightest : Margin, optional
        The limit that is nearest to breaking; None where no limit is an upper limit.

    Where the loss of a zone has to be survived, ``broken`` and ``tightest`` include the replays
    with a lost zone.
    """

    repeat: int
    nodes: int
    row: dict[str, Any]
    broken: tuple[Margin, ...]
    tightest: Margin | None


@dataclass
class Trials:
    """A cache of the replays of one policy on sets of nodes; each replay is done once.

    Parameters
    ----------
    replay_on : function(order, staying, lost) -> Replayed
        Replays one order of arrival on the nodes with the indices ``staying``, after the loss of
        the zone ``lost``; see ``ReplayOn``.
    orders : sequence of int
        The numbers of the orders of arrival, in each of which the limits have to hold.
    beside : int
        How many replays may run at a time; the results do not depend on it.
    survive : bool
        Whether all limits also have to hold when any one zone is lost.
    bound : mapping of str to ZoneBoundContainers
        By zone: the containers that may wait when it is lost, as no other zone can run them.
    """

    load: Workload
    policy: str
    limits: Limits
    replay_on: ReplayOn
    orders: Sequence[int]
    parallel: int = 1
    survive: bool = False
    bound: Mapping[str, ZoneBoundContainers] = field(default_factory=dict)
    _replayed: dict[tuple[int, bytes, str], Replayed] = field(default_factory=dict)
    _seen: dict[tuple[int, bytes], None] = field(default_factory=dict)

    @property
    def zone(self) -> IntArray | None:
        """The zone of each node, (nodes,), -1 for none; None where no loss has to be survived."""
        return zones_of(self.load) if self.survive else None

    def at_risk(self, staying: IntArray) -> list[str]:
        """Return the zones of these nodes, the largest first; empty if no loss must be survived."""
        return [] if not self.survive else [name for name, _ in zones_among(self.load, staying)]

    def replayed(self, order: int, staying: IntArray, lost: str = "") -> Replayed:
        """Return the replay in one order of arrival on the nodes with the indices ``staying``.

        Parameters
        ----------
        lost : str
            A zone that is lost during the replay; empty for none.
        """
        stay = np.sort(staying)
        key = order, stay.tobytes(), lost
        if key not in self._replayed:
            every = len(stay) == self.load.nodes.count
            self._replayed[key] = self.replay_on(order, None if every else stay, lost)
        return self._replayed[key]

    def replay(self, order: int, sets: Sequence[IntArray]) -> None:
        """Replay on several sets of nodes at a time, so that later calls find the results."""
        self._at_once(lambda staying: self.replayed(order, staying), sets)

    def trial(self, order: int, staying: IntArray) -> Trial:
        """Return the replay of one order on the nodes ``staying``, judged by all limits.

        Lost zones are included if one has to be survived. ``seen`` returns the trial later.
        """
        self._seen[order, np.sort(staying).tobytes()] = None
        return self._judged(order, staying)

    def judged_without_zone(self, order: int, staying: IntArray, lost: str = "") -> Trial:
        """Return one replay, judged by the limits, after the loss of a zone (empty: none)."""
        base, row = self.base(order), self.replayed(order, staying, lost).row
        if lost in self.bound:  # these containers may wait
            less = self.bound[lost].containers, self.bound[lost].container_steps
            row = row | {one: row[one] - many for one, many in zip(WAITING, less, strict=True)}
        broken = tuple(self.limits.broken(self.policy, base, row))
        tightest = self.limits.tightest(self.policy, base, row)
        if lost:
            broken = tuple(replace(one, lost=lost) for one in broken)
            tightest = tightest and replace(tightest, lost=lost)
        return Trial(order, len(staying), row, broken, tightest)

    def _judged(self, order: int, staying: IntArray) -> Trial:
        """The trial without a loss, with limits that break or are nearest when a zone is lost."""
        trial = self.judged_without_zone(order, staying)
        for zone in self.at_risk(staying):
            if trial.broken:
                break
            lost = self.judged_without_zone(order, staying, zone)
            trial = replace(trial, broken=lost.broken, tightest=nearest((trial, lost)))
        return trial

    def holds(self, order: int, staying: IntArray) -> bool:
        """Return whether all limits hold in this order of arrival."""
        return not self.trial(order, staying).broken

    def hold_all(self, staying: IntArray) -> bool:
        """Return whether all limits hold in every order of arrival."""
        for at in range(0, len(self.orders), self.parallel):
            some = self.orders[at : at + self.parallel]
            self._at_once(lambda order: self._judged(order, staying), some)
            if not all(self.holds(order, staying) for order in some):
                return False
        return True

    def on_all_nodes(self) -> list[Trial]:
        """Return the trials on all nodes, one for each order of arrival."""
        every = np.arange(self.load.nodes.count)
        return self.each(lambda order: self.trial(order, every))

    def requested(self, staying: IntArray) -> FloatArray:
        """Return each node's mean requests over time and over orders of arrival, shape (nodes,).

        They are shares of capacity, of the resource with the largest share; NaN for nodes that are
        not kept.
        """
        return self._of_nodes(staying, lambda came: came.requested, np.mean)

    def fullest(self, staying: IntArray) -> FloatArray:
        """Return CPU at the 99th percentile over time, highest CPU and highest memory of each node.

        Shape (3, nodes), in the worst order of arrival; NaN for nodes that are not kept.
        """
        parts = (
            lambda came: came.cpu_p99,
            lambda came: came.highest[0],
            lambda came: came.highest[1],
        )
        return np.stack([self._of_nodes(staying, one, np.max) for one in parts])

    def each(self, search: Callable[[int], T]) -> list[T]:
        """Return the results of a function that is called with each order of arrival."""
        return self._at_once(search, self.orders)

    def _at_once(self, search: Callable[[S], T], those: Sequence[S]) -> list[T]:
        """The value of a function for each item, side by side where other processes replay."""
        if self.parallel == 1 or len(those) < 2:
            return [search(one) for one in those]
        with ThreadPoolExecutor(len(those)) as pool:
            return list(pool.map(search, those))

    def base(self, order: int) -> dict[str, Any]:
        """Return the row of the policy on all nodes."""
        return self.replayed(order, np.arange(self.load.nodes.count)).row

    def seen(self, place: IntArray) -> tuple[Trial, ...]:
        """Return the replays so far on the first nodes of ``place``, those on most nodes first."""
        trials = []
        for order, key in tuple(self._seen):
            stay = np.frombuffer(key, np.int64)
            if np.array_equal(np.sort(place[: len(stay)]), stay):
                trials.append(self.trial(order, stay))
        return tuple(sorted(trials, key=lambda one: (-one.nodes, one.repeat)))

    def _of_nodes(
        self, staying: IntArray, part: Callable[[Replayed], FloatArray], over: Callable[..., Any]
    ) -> FloatArray:
        values = np.full(self.load.nodes.count, np.nan)
        stay = np.sort(staying)
        values[stay] = over([part(self.replayed(order, stay)) for order in self.orders], axis=0)
        return values


def nearest(trials: Iterable[Trial]) -> Margin | None:
    """Return the limit that is nearest to breaking in any of several trials; see ``Margin.room``.

    None where no limit is an upper limit.
    """
    every = (one.tightest for one in trials)
    return min((one for one in every if one), key=lambda one: one.room or 0.0, default=None)


def worst(trials: Iterable[Trial]) -> Margin | None:
    """Return the first limit that breaks, from the trial that breaks it most; None for none."""
    broken = [margin for one in trials for margin in one.broken]
    same = [one for one in broken if one.limit is broken[0].limit]
    return max(same, key=lambda one: -one.room if one.room else one.value or 0.0, default=None)


#: The cases of the frame of zones: the whole cluster, and the nodes that stay.
TODAY, KEPT = "today", "kept"


@dataclass(frozen=True, kw_only=True)
class LostZone:
    """What happens when one zone is lost; values are of the worst order of arrival.

    Parameters
    ----------
    nodes : int
        The number of lost nodes.
    waiting_containers : int
        Containers that get no node because of the loss; among them those that can run only in this
        zone.
    cpu_p99_over_time_fraction, memory_max_fraction : float
        The use of the fullest node.
    breaks_measure, breaks_value, breaks_allowed : optional
        The limit that breaks with the loss; None where all hold.
    """

    zone: str
    nodes: int
    waiting_containers: int
    cpu_p99_over_time_fraction: float
    memory_max_fraction: float
    breaks_measure: str | None
    breaks_value: float | None
    breaks_allowed: float | None


def lost_zones(tried: Trials, nodes: IntArray) -> tuple[LostZone, ...]:
    """Return the loss of each zone of these nodes; empty where no loss has to be survived."""
    if not tried.survive:
        return ()
    return tuple(_lost(tried, nodes, *one) for one in zones_among(tried.load, nodes))


def _lost(tried: Trials, stay: IntArray, zone: str, nodes: int) -> LostZone:
    usual = tried.each(lambda order: tried.replayed(order, stay).row)
    after = tried.each(lambda order: tried.judged_without_zone(order, stay, zone))
    rows, broken = tried.each(lambda order: tried.replayed(order, stay, zone).row), worst(after)
    more = [row[PENDING] - before[PENDING] for row, before in zip(rows, usual, strict=True)]
    return LostZone(
        zone=zone,
        nodes=nodes,
        waiting_containers=max(*more, 0),
        cpu_p99_over_time_fraction=max(row[CPU] for row in rows),
        memory_max_fraction=max(row[MEMORY] for row in rows),
        breaks_measure=None if broken is None else broken.measure,
        breaks_value=None if broken is None else broken.value,
        breaks_allowed=None if broken is None else broken.allowed,
    )


def frame_of(case: str, policy: str, zones: Sequence[LostZone]) -> pl.DataFrame:
    """Return a row for each zone: case, policy, and the fields of ``LostZone``."""
    texts = dict.fromkeys(("case", "policy", "breaks_measure"), pl.String)
    numbers = dict.fromkeys(("breaks_value", "breaks_allowed"), pl.Float64)
    rows = [{"case": case, "policy": policy, **asdict(one)} for one in zones]
    return pl.DataFrame(rows, schema_overrides={**texts, **numbers})


def zones_on(
    frames: Mapping[str, pl.DataFrame], policy: str, *, as_production: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a study's rows on lost zones: of the whole cluster, and of the nodes that stay.

    The latter are those of a policy. With ``as_production`` they are of the search in which nodes
    may be above the ceiling as often as in production.
    """
    every = frames.get("zones", pl.DataFrame(schema={"case": pl.String, "policy": pl.String}))
    after = frames.get("zones_as_production", every.clear()) if as_production else every
    return every.filter(case=TODAY), after.filter(case=KEPT, policy=policy)
