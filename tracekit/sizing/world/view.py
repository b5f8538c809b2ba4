"""A sizer's view at a decision: the past, unless it is the oracle."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.sizing.world.simulation import Simulation


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
