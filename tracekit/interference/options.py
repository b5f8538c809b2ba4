"""Options of a fit and the usual build of hosts: each with its type, meaning, range and default.

Nothing heavy is imported here, since commands read it for the command line's help.
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

#: A container's use of its own vCPUs beyond this is not believed (specification 9.5, 9.7).
MOST_CPU = 2.0

#: How the profiles of neighbours are put together.
Aggregation = Annotated[Literal["mean", "occupancy", "sum"], About("How neighbours add up.")]
AGGREGATION: Aggregation = "mean"


# How the coefficients of a line are found.

Nonneg = Annotated[bool, About("No negative coefficient.")]


@dataclass(frozen=True, kw_only=True)
class How:
    """How coefficients are found.

    Parameters
    ----------
    nonneg : bool
        Whether coefficients, but for the intercept, may not be negative.
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
    """What of a fit can be chosen.

    Parameters
    ----------
    agg : {'mean', 'occupancy', 'sum'}
        How neighbours are put together: see ``room.pressure``.
    load : bool
        Whether an instance's call rate is a regressor too.
    other_sockets : bool
        Whether neighbours on other sockets of the host are.
    resolved : bool
        One row per instance and time (a window of ``window_ms`` where a store is read), with errors
        clustered by instance; else one row per instance.
    compare : tuple of str
        Names of models to compare by cross-validation.
    shrink : bool
        Whether a service's own k2 is drawn towards the pooled one: see ``services.shrunk``.
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
        """The options that the line is found by."""
        return How(nonneg=self.nonneg, level=self.level)
