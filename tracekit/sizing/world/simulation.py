"""The sizing environment, vectorised over containers: decide, run until a cycle ends, look.

A container's cycle lasts ``cycle_periods``, or ends at once with the first period in which it
needs more than its limit; then it is *due*: whoever sizes sees the cycle and sets new limits.
Containers are due at times of their own, since an overflow shifts all later cycles of one.
"""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.sizing.world import periods
from tracekit.sizing.world.periods import CHANNELS, INFEASIBLE, KEPT, MOVED
from tracekit.sizing.world.simset import (
    Settings,
    SimulationSet,
    build_world,
    check_room,
    fresh_state,
)


class Simulation:
    """Containers on nodes, from one decision to the next.

    Calls go round: ``state`` and ``possible`` to look, ``apply`` to size the containers ``due``,
    ``advance`` to run. Then ``ended`` are the containers whose cycle ended, ``rewards`` what each
    earned, and ``due`` those of them that go on. ``now`` is the next period, ``done`` says when
    all periods are over or every container had its steps.
    """

    def __init__(self, part: SimulationSet, settings: Settings) -> None:
        self.part = part
        self.settings = settings
        self.world = build_world(part, settings)
        check_room(self.world)
        self._sizes = settings.sizes()
        self._coefficients = settings.coefficients()
        self.reset()

    def reset(self, *, start: int = 0, steps: int | None = None) -> None:
        """Begin anew at a period: every container at the smallest size, all due.

        Parameters
        ----------
        steps : int, optional
            After so many cycles a container keeps its limits and is never due again.
        """
        self.arrays = fresh_state(self.world)
        self.start = self.now = start
        self._steps = np.iinfo(np.int64).max if steps is None else steps
        containers = self.part.size
        self.cycles = np.zeros(containers, dtype=np.int64)
        self.overflow_cycles = np.zeros(containers, dtype=np.int64)
        self.changed_cycles = np.zeros(containers, dtype=np.int64)
        self.infeasible = np.zeros(containers, dtype=np.int64)
        self.moves = np.zeros(containers, dtype=np.int64)
        self.active = np.ones(containers, dtype=np.bool_)
        self.due = self.ended = np.arange(containers)
        self.arrays.began[:] = start
        self.rewards = np.zeros(containers)
        self._place_all()
        self._close()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to decide."""
        return self.now >= self.part.periods or not self.active.any()

    def _place_all(self) -> None:
        """Each container at the smallest size on its half of the nodes, else on the other."""
        for at in range(self.part.size):
            node = periods.room_elsewhere(self.world, self.arrays, at, 1.0, 1.0)
            if node < 0:
                self.arrays.by_first_fit[at] ^= True
                node = periods.room_elsewhere(self.world, self.arrays, at, 1.0, 1.0)
            if node < 0:
                raise TracekitError(
                    f"no node has room for container {self.part.containers[at]} at one core, 1 GB",
                    hint="set more nodes: --assume nodes=N",
                )
            periods.put(self.arrays, at, node, 1.0, 1.0)

    def state(self, containers: IntArray) -> Float32Array:
        """The agent's view of these containers, shape (containers, 20, 8): eqs 5-8."""
        return self.arrays.history[containers].astype(np.float32)

    def possible(self, containers: IntArray) -> BoolArray:
        """Which sizes these containers could have now, shape (containers, actions)."""
        out = np.empty((len(containers), len(self._sizes)), dtype=np.bool_)
        periods.possible(self.world, self.arrays, containers, self._sizes, out)
        return out

    def apply(self, wanted: FloatArray) -> IntArray:
        """Set limits, shape (due, 2), rounded up to sizes; what came of each (``room.KEPT``...).

        Without room on its node a container moves to another of its half; without any it keeps its
        limits, which counts as infeasible.
        """
        arrays, due = self.arrays, self.due
        fitted = self.settings.fitted(wanted)
        outcome = np.empty(len(due), dtype=np.int64)
        periods.resize(self.world, arrays, due, fitted, outcome)
        changed = (outcome != KEPT) & (outcome != INFEASIBLE)
        first = self.cycles[due] == 0
        over = arrays.overflowed[due].any(axis=1)
        arrays.kept[due] = np.where(changed | first | over, 0, arrays.kept[due] + 1)
        arrays.changed[due] = changed & ~first
        self.infeasible[due] += outcome == INFEASIBLE
        self.moves[due] += outcome == MOVED
        arrays.began[due] = self.now
        return outcome

    def advance(self) -> None:
        """Run until a container's cycle ends; ``due`` are those whose did, ``rewards`` theirs."""
        self.now = periods.run(
            self.world,
            self.arrays,
            self.now,
            self.part.periods,
            self.settings.cycle_periods,
            self.active,
        )
        over = np.asarray(self.arrays.overflowed.any(axis=1))
        last = self.now >= self.part.periods
        full = np.asarray(self.now - self.arrays.began >= self.settings.cycle_periods)
        self.ended = np.flatnonzero(self.active & (over | full | last))
        self._count(over)
        self._close()
        self.active[self.ended] = self.cycles[self.ended] < self._steps
        self.due = self.ended[self.active[self.ended]]

    def _count(self, over: BoolArray) -> None:
        self.cycles[self.ended] += 1
        self.overflow_cycles[self.ended] += over[self.ended]
        self.changed_cycles[self.ended] += self.arrays.changed[self.ended]

    def _close(self) -> None:
        """Channels of the cycles that ended into the history, and their rewards."""
        arrays, due = self.arrays, self.ended
        rows = np.zeros((len(due), CHANNELS))
        periods.close_cycles(self.world, arrays, due, self.now, self.settings.largest, rows)
        fresh = (self.cycles[due] <= 1)[:, None, None]
        shifted = np.concatenate([arrays.history[due, :, 1:], rows[:, :, None]], axis=2)
        arrays.history[due] = np.where(fresh, rows[:, :, None], shifted)
        self.rewards = np.zeros(len(due))
        periods.rewards(arrays, due, rows, self._coefficients, self.rewards)


# A sizer's view at a decision: the past, unless it is the oracle.


@dataclass(frozen=True)
class View:
    """The simulation as a sizer may see it.

    Parameters
    ----------
    simulation : Simulation
    looks_ahead : bool
        Whether ``ahead`` may be asked for.
    """

    simulation: Simulation
    looks_ahead: bool = False

    @property
    def due(self) -> IntArray:
        """Positions of the containers to size, shape (due,)."""
        return self.simulation.due

    @property
    def now(self) -> int:
        """Periods that have passed since the simulation began."""
        return self.simulation.now - self.simulation.start

    @property
    def limit(self) -> FloatArray:
        """Their present limits, shape (due, 2)."""
        return self.simulation.arrays.limit[self.due]

    @property
    def overflowed(self) -> BoolArray:
        """Whether their last cycle overflowed, by resource, shape (due, 2)."""
        return self.simulation.arrays.overflowed[self.due]

    def served(self, since: int) -> FloatArray:
        """The amounts served to containers from a period on, shape (containers, periods, 2)."""
        begin = self.simulation.start + since
        return self.simulation.arrays.served[:, begin : self.simulation.now]

    def limits(self, since: int) -> FloatArray:
        """The limit of every container from a period on, shape (containers, periods, 2)."""
        begin = self.simulation.start + since
        return self.simulation.arrays.limits[:, begin : self.simulation.now]

    def state(self) -> Float32Array:
        """The agent's state of the containers due, shape (due, 20, 8)."""
        return self.simulation.state(self.due)

    def possible(self) -> BoolArray:
        """Which sizes they could have now, shape (due, actions)."""
        return self.simulation.possible(self.due)

    def ahead(self) -> FloatArray:
        """The largest need of each in the coming cycle, shape (due, 2); the oracle's alone."""
        if not self.looks_ahead:
            raise PermissionError("only a policy that reads 'ahead' may see the coming cycle")
        end = self.simulation.now + self.simulation.settings.cycle_periods
        coming = self.simulation.part.need[self.due, self.simulation.now : end]
        return np.asarray(coming.max(axis=1))
