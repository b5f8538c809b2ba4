"""The options of a fit and the default topology of hosts, with description, range and default.

This module imports nothing heavy, as the help of the command line reads it.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.analysis.metrics import LEVEL
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.units import MS_PER_HOUR

Sockets = Annotated[int, About("Sockets of a host, without --topology.", minimum=1)]
SOCKETS = 2
ThreadsPerCore = Annotated[int, About("vCPUs of a core, without --topology.", minimum=1)]
THREADS_PER_CORE = 2

#: The highest plausible use of a container's own vCPUs (specification 9.5, 9.7).
MOST_CPU = 2.0

#: The aggregation of the profiles of neighbours.
Aggregation = Annotated[Literal["mean", "occupancy", "sum"], About("How neighbours add up.")]
AGGREGATION: Aggregation = "mean"


Nonneg = Annotated[bool, About("No negative coefficient.")]


@dataclass(frozen=True, kw_only=True)
class How:
    """The method of a linear fit.

    Parameters
    ----------
    nonneg : bool
        Whether coefficients other than the intercept are at least 0.
    level : float
        The level of confidence intervals, such as 0.95.
    """

    nonneg: Nonneg = False
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise TracekitError(f"the level is {self.level}, expected a share between 0 and 1")


Load = Annotated[bool, About("Call rate as a further regressor.")]
OtherSockets = Annotated[
    bool, About("Neighbours on the host's other sockets as a further regressor.")
]
Resolved = Annotated[bool, About("A row per time instead of averages.")]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a fit of the cost of neighbours (interference).

    Parameters
    ----------
    agg : {'mean', 'occupancy', 'sum'}
        How the use of neighbours adds up: see ``room.pressure``.
    nonneg : bool
        Whether coefficients other than the intercept are at least 0.
    load : bool
        Whether the call rate of an instance is a regressor, too.
    other_sockets : bool
        Whether the pressure from other sockets of the host is a regressor, too.
    resolved : bool
        Whether there is one row for each instance and time, with errors clustered by instance. For
        a store without vCPUs a time is a window of ``window_ms``. Else each instance has one row.
    compare : tuple of str
        Names of models to compare by cross-validation.
    shrink : bool
        Whether each service's k2, the cost of neighbours on its socket, is shrunk towards the k2 of
        the pooled model: see ``services.shrunk``.
    """

    agg: Aggregation = AGGREGATION
    nonneg: Nonneg = How.nonneg
    load: Load = False
    other_sockets: OtherSockets = False
    resolved: Resolved = False
    window_ms: int = MS_PER_HOUR
    level: float = How.level
    compare: tuple[str, ...] = ()
    shrink: bool = True

    def how(self) -> How:
        """Return the part of the options that concerns the linear fit."""
        return How(nonneg=self.nonneg, level=self.level)
