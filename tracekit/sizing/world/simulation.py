"""The sizing environment, vectorised over containers.

A cycle of a container lasts ``cycle_periods``, or ends with the first period in which its need is
above its limit. The container is then *due*: the sizer sees the cycle and sets a new limit. As an
overflow shifts all later cycles of a container, containers are due at different times.
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
    """A simulation of containers on nodes, which runs from one decision to the next.

    A caller reads ``state`` and ``possible``, sets limits of the ``due`` containers by ``apply``,
    runs periods by ``advance``, and repeats. After ``advance`` the cycles of the containers
    ``ended`` have ended, ``rewards`` has their rewards, and ``due`` has those that continue.
    ``now`` is the next period. ``done`` is true when all periods are over or every container has
    had its number of cycles.
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
        """Begin at a period; every container is due (needs a new limit) and has the smallest size.

        Parameters
        ----------
        steps : int, optional
            The number of cycles after which a container is never due again.
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
        """Whether the simulation is over: no container needs a new limit any more."""
        return self.now >= self.part.periods or not self.active.any()

    def _place_all(self) -> None:
        """Place each container at the smallest size on its half of the nodes, or on the other."""
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
        """Return the agent's state of containers (eqs 5-8): (containers, 20 channels, 8 cycles)."""
        return self.arrays.history[containers].astype(np.float32)

    def possible(self, containers: IntArray) -> BoolArray:
        """Return which sizes some containers can have now, shape (containers, actions)."""
        out = np.empty((len(containers), len(self._sizes)), dtype=np.bool_)
        periods.possible(self.world, self.arrays, containers, self._sizes, out)
        return out

    def apply(self, wanted: FloatArray) -> IntArray:
        """Set limits of the due containers, rounded up to sizes.

        A container without room on its node moves to another node with the same placement rule.
        Without room there its limit stays, which counts as infeasible.

        Parameters
        ----------
        wanted : float64, shape (due, 2)

        Returns
        -------
        int64, shape (due,)
            ``periods.KEPT``, ``RESIZED``, ``MOVED`` or ``INFEASIBLE``.
        """
        arrays, due = self.arrays, self.due
        fitted = self.settings.fitted(wanted)
        outcome = np.empty(len(due), dtype=np.int64)
        periods.resize(self.world, arrays, due, fitted, outcome)
        changed = (outcome != KEPT) & (outcome != INFEASIBLE)
        first = self.cycles[due] == 0
        over = arrays.overflowed[due].any(axis=1)
        arrays.cycles_unchanged[due] = np.where(
            changed | first | over, 0, arrays.cycles_unchanged[due] + 1
        )
        arrays.changed[due] = changed & ~first
        self.infeasible[due] += outcome == INFEASIBLE
        self.moves[due] += outcome == MOVED
        arrays.began[due] = self.now
        return outcome

    def advance(self) -> None:
        """Run until the cycle of a container ends; updates ``ended``, ``due`` and ``rewards``."""
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
        """Add the channels of ended cycles to the history, and compute their rewards."""
        arrays, due = self.arrays, self.ended
        rows = np.zeros((len(due), CHANNELS))
        periods.close_cycles(self.world, arrays, due, self.now, self.settings.largest, rows)
        fresh = (self.cycles[due] <= 1)[:, None, None]
        shifted = np.concatenate([arrays.history[due, :, 1:], rows[:, :, None]], axis=2)
        arrays.history[due] = np.where(fresh, rows[:, :, None], shifted)
        self.rewards = np.zeros(len(due))
        periods.rewards(arrays, due, rows, self._coefficients, self.rewards)


# A sizer's view at a decision, which holds the past alone, except for the oracle.


@dataclass(frozen=True)
class View:
    """The part of a simulation that a sizer may read.

    Parameters
    ----------
    simulation : Simulation
    looks_ahead : bool
        Whether the sizer may read ``ahead``.
    """

    simulation: Simulation
    looks_ahead: bool = False

    @property
    def due(self) -> IntArray:
        """Positions of the due containers, i.e. those that need a new limit now, shape (due,)."""
        return self.simulation.due

    @property
    def now(self) -> int:
        """The number of periods since the start of the simulation."""
        return self.simulation.now - self.simulation.start

    @property
    def limit(self) -> FloatArray:
        """The present limits of the due containers, shape (due, 2): cores and GB."""
        return self.simulation.arrays.limit[self.due]

    @property
    def overflowed(self) -> BoolArray:
        """Whether the last cycles of the due containers overflowed, by resource, shape (due, 2)."""
        return self.simulation.arrays.overflowed[self.due]

    def served(self, since: int) -> FloatArray:
        """Return the amounts served to all containers from period ``since``, 0 for the first.

        The result has shape (containers, periods, 2).
        """
        begin = self.simulation.start + since
        return self.simulation.arrays.served[:, begin : self.simulation.now]

    def state(self) -> Float32Array:
        """Return the agent's state of the due containers: (due, 20 channels, 8 cycles)."""
        return self.simulation.state(self.due)

    def possible(self) -> BoolArray:
        """Return which sizes the due containers can have now, shape (due, actions)."""
        return self.simulation.possible(self.due)

    def ahead(self) -> FloatArray:
        """Return the largest needs of the due containers in their coming cycle, shape (due, 2)."""
        if not self.looks_ahead:
            raise PermissionError("only a policy that reads 'ahead' may see the coming cycle")
        end = self.simulation.now + self.simulation.settings.cycle_periods
        coming = self.simulation.part.need[self.due, self.simulation.now : end]
        return np.asarray(coming.max(axis=1))
