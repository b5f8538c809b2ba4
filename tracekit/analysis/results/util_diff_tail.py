"""The upper tail of the utilisation difference G, as numbers."""

import numpy as np
import polars as pl

from tracekit.analysis.metrics.ccdf_slope import ccdf_slope
from tracekit.analysis.metrics.hill_index import hill_index
from tracekit.analysis.results import Inputs, Result

UPPER_SHARE = 0.05
REPLICATES = 400


def util_diff_tail(inputs: Inputs) -> pl.DataFrame:
    """One row for each zone and one, 'all', for all nodes: the tail of G.

    Columns: zone, nodes, tail_nodes (the upper 5 %), tail_start (G at which the tail starts),
    hill_index, hill_index_low, hill_index_high (95 % bootstrap interval over nodes), ccdf_slope
    (of the log-log CCDF over the tail). NULL where the tail has fewer than two nodes.
    """
    profile = inputs.frames["usage/node_profile"]
    groups = {"all": profile["util_diff"].to_numpy()}
    for zone in profile["zone"].unique().sort():
        groups[zone] = profile.filter(zone=zone)["util_diff"].to_numpy()
    rng = inputs.rng("util_diff_tail")
    rows = [_row(zone, values, rng) for zone, values in groups.items()]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return frame.with_columns(pl.selectors.float().fill_nan(None).round(9))


_SCHEMA = {
    "zone": pl.String,
    "nodes": pl.Int64,
    "tail_nodes": pl.Int64,
    "tail_start": pl.Float64,
    "hill_index": pl.Float64,
    "hill_index_low": pl.Float64,
    "hill_index_high": pl.Float64,
    "ccdf_slope": pl.Float64,
}


def _row(
    zone: str, values: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> tuple[object, ...]:
    size = int(UPPER_SHARE * len(values))
    start = float(np.sort(values)[-size]) if size else float("nan")
    # only the tail and the value below it enter the index, and a draw keeps a tail of that size
    low, high = _interval(values, rng) if size >= 2 else (float("nan"), float("nan"))
    found = hill_index(values, UPPER_SHARE)
    return zone, len(values), size, start, found, low, high, ccdf_slope(values, UPPER_SHARE)


def _interval(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> tuple[float, float]:
    drawn = [
        hill_index(rng.choice(values, size=len(values)), UPPER_SHARE) for _ in range(REPLICATES)
    ]
    usable = [value for value in drawn if not np.isnan(value)]
    if not usable:
        return float("nan"), float("nan")
    low, high = np.quantile(usable, [0.025, 0.975])
    return float(low), float(high)


RESULT = Result(
    title="The upper tail of the utilization difference",
    queries=("usage/node_profile",),
    function=util_diff_tail,
)
