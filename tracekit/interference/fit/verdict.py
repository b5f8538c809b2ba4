"""A plain word for how far a fit can be trusted, with the reason."""

from typing import Literal

import numpy as np

from tracekit.base.words import counted
from tracekit.interference.fit.linear import Linear
from tracekit.interference.fit.validation import Held

Verdict = Literal["usable", "weak", "not identifiable"]
USABLE: Verdict = "usable"

#: Rows of a service that a line of its own needs (specification 9.5).
LEAST_ROWS = 8
#: Instances that it needs where rows of one instance err together: errors come of leaving instances
#: out in turn, and of two there is one degree of freedom.
LEAST_INSTANCES = 3
#: Why instances count there, and not rows.
DEPENDENT = "as rows of one instance are not independent"
#: Beyond this, digits of the coefficients are decided by the last digits of the data.
MOST_CONDITION = 1000.0
#: Where collinearity begins to hurt (Belsley, Kuh & Welsch 1980).
HIGH_CONDITION = 30.0
SIGNIFICANT = 0.05


def lacking(rows: int, *, needed: int = LEAST_ROWS, instances: int | None = None) -> str:
    """What is too few for a fit, in a clause; empty where there is enough.

    Parameters
    ----------
    rows, needed : int
        Rows that there are, and how many must be there.
    instances : int, optional
        Instances that the rows are of, where rows of one err together.
    """
    if rows < needed:
        return f"{counted(rows, 'row')}, {needed:,} are needed"
    if instances is not None and instances < LEAST_INSTANCES:
        return f"{counted(instances, 'instance')}, {LEAST_INSTANCES} are needed, {DEPENDENT}"
    return ""


def judge(fitted: Linear | None, held: Held, *, lacks: str, proxy: bool) -> tuple[Verdict, str]:
    """The verdict on a fit and a clause that says why.

    Parameters
    ----------
    fitted : Linear, optional
        None where nothing was fitted.
    lacks : str
        Why nothing was fitted, as ``lacking`` says it.
    proxy : bool
        Whether neighbours are known by their node only: then no fit is better than weak.
    """
    if fitted is None:
        return "not identifiable", lacks
    if fitted.condition > MOST_CONDITION:
        told = f"condition {fitted.condition:.3g}" if np.isfinite(fitted.condition) else "dependent"
        return "not identifiable", f"neighbours do not vary apart from each other ({told})"
    if not fitted.p_value < SIGNIFICANT:
        high = f", condition {fitted.condition:.0f}" if fitted.condition > HIGH_CONDITION else ""
        return "weak", f"no effect beyond chance (p = {fitted.p_value:.2g}{high})"
    if not held.better:
        return "weak", "no better than the service's mean on rows held out"
    if proxy:
        return "weak", "explains, but neighbours are known by their node only"
    saved = 1 - held.rmse / held.rmse_constant
    return USABLE, f"errors on rows held out {100 * saved:.0f} % below the service's mean"
