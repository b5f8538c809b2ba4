"""How the coefficients of a line are found."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.analysis.metrics import LEVEL
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About

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
