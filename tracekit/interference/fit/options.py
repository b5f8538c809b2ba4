"""What of a fit can be chosen: each with its type, meaning, range and default.

Nothing heavy is imported here, since the verb reads it for the command line's help.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.analysis.metrics import LEVEL
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.units import MS_PER_HOUR
from tracekit.interference.vcpu.declared import AGGREGATION, Aggregation

# How the coefficients of a line are found.

Loss = Annotated[Literal["squared", "huber"], About("huber: outliers pull less.")]
Ridge = Annotated[float, About("Penalty on coefficients, in rows.", minimum=0)]
Nonneg = Annotated[bool, About("No negative coefficient.")]


@dataclass(frozen=True, kw_only=True)
class How:
    """How coefficients are found.

    Parameters
    ----------
    ridge : float
        Penalty on the squares of the coefficients of regressors scaled to unit variance, in rows.
    nonneg : bool
        Whether coefficients, but for the intercept, may not be negative.
    """

    loss: Loss = "squared"
    ridge: Ridge = 0.0
    nonneg: Nonneg = False
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not self.ridge >= 0:
            raise TracekitError(f"ridge is {self.ridge}, expected 0 or more")
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
        How neighbours are put together: see ``vcpu.pressure``.
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
        Whether a service's own k2 is drawn towards the pooled one: see ``fit.shrink``.
    """

    agg: Aggregation = AGGREGATION
    nonneg: Nonneg = How.nonneg
    loss: Loss = How.loss
    ridge: Ridge = How.ridge
    load: Load = False
    other_sockets: OtherSockets = False
    resolved: Resolved = False
    window_ms: int = MS_PER_HOUR
    level: float = How.level
    compare: tuple[str, ...] = ()
    shrink: bool = True

    def how(self) -> How:
        """The options that the line is found by."""
        return How(loss=self.loss, ridge=self.ridge, nonneg=self.nonneg, level=self.level)
