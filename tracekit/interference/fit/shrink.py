"""k2 of services drawn towards the pooled k2, by how little each service's own rows tell.

What the others on a socket cost is small, so that the own k2 of a service with a score of
containers is mostly noise, and placing by it is placing by noise. Empirical Bayes (Morris, JASA 78,
1983, 47-55): the services' true k2 scatter about the pooled one with variance ``tau2``. An own
estimate of variance V goes ``B = (S - 3) / (S - 1) * V / (V + tau2)`` of the way to the pooled k2,
S being the number of services; its variance is then ``V * (1 - (1 - w) * B)`` plus what is unsure
of B, w being its share of all weights ``1 / (V + tau2)``. ``tau2`` is that of Paule and Mandel
(1982). The intercept moves along, so that the line still goes through the means; k1 stays.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.interference.fit.table import Table, service_means

#: With fewer services nothing is known of how their k2 scatter.
FEWEST = 4
_ROUNDS = 100


@dataclass(frozen=True)
class Shrunk:
    """Estimates and their errors, shape (services,), and how much of each own estimate is left."""

    value: FloatArray
    error: FloatArray
    weight: FloatArray


def shrunk(own: FloatArray, error: FloatArray, towards: float) -> Shrunk:
    """Own estimates drawn towards a common value.

    Parameters
    ----------
    own, error : float64, shape (services,)
        Estimates with standard errors above 0; at least ``FEWEST`` of them.
    """
    many = len(own)
    variance, apart = error**2, own - towards
    tau2 = scatter(apart, variance)
    total = variance + tau2
    gone = (many - 3) / (many - 1) * variance / total
    share = (1 / total) / (1 / total).sum()
    unsure = 2 / (many - 3) * gone**2 * (np.average(variance, weights=share) + tau2) / total
    squared = variance * (1 - (1 - share) * gone) + unsure * apart**2
    return Shrunk(own - gone * apart, np.sqrt(squared), 1 - gone)


def scatter(apart: FloatArray, variance: FloatArray) -> float:
    """Variance of true values about the common one (Paule and Mandel); 0 where noise explains all.

    The sum of ``apart**2 / (variance + tau2)`` falls with ``tau2``; it is that for which the sum is
    the number of services.
    """
    many = len(apart)

    def excess(tau2: float) -> float:
        return float((apart**2 / (variance + tau2)).sum()) - many

    low, high = 0.0, float((apart**2).max())
    if excess(low) <= 0:
        return 0.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def drawn_together(table: Table, services: pl.DataFrame, towards: float | None) -> pl.DataFrame:
    """The services of a fit with own k2 drawn towards the pooled one, and intercepts moved along.

    Parameters
    ----------
    services : DataFrame
        One row per service of the table, in its order; see ``fit.services.Fitted``.
    towards : float, optional
        The pooled k2; None leaves all as they are.
    """
    usable = (pl.col("basis") == "own") & (pl.col("k2_error") > 0)
    at = np.flatnonzero(services.select(usable.fill_null(value=False)).to_series().to_numpy())
    if towards is None or len(at) < FEWEST:
        return services
    kept = services[at]
    own, error = (kept[name].to_numpy() for name in ("k2", "k2_error"))
    drawn = shrunk(own, error, towards)
    # as many standard errors as the own interval has
    reach = (kept["k2_high"].to_numpy() - own) / error
    mean = _means(table, table.names.index("cpu_ss"))[at]
    shift = (own - drawn.value) * mean
    changed = {
        "k2": drawn.value,
        "k2_error": drawn.error,
        "k2_low": drawn.value - reach * drawn.error,
        "k2_high": drawn.value + reach * drawn.error,
        "k2_own": own,
        "k2_weight": drawn.weight,
        **{name: kept[name].to_numpy() + shift for name in ("b0", "b0_low", "b0_high")},
    }
    rows = services.to_dicts()
    for row, number in enumerate(at.tolist()):
        rows[number] |= {name: float(values[row]) for name, values in changed.items()}
        rows[number]["negative"] = any((rows[number][name] or 0) < 0 for name in ("k1", "k2"))
    return pl.DataFrame(rows, schema=services.schema)


def _means(table: Table, column: int) -> FloatArray:
    """Mean of a regressor over each service's rows, shape (services,)."""
    every = np.ones(len(table.target), dtype=np.bool_)
    return service_means(table, table.regressors[:, column], every)
