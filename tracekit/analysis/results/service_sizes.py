"""How much of its node a container of each service takes."""

import numpy as np
import polars as pl

from tracekit.analysis.inference.estimate import Estimate
from tracekit.analysis.inference.sums import Sums
from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._sizes import sizes

TOLD, UNTOLD = "told", "cannot tell"


def service_sizes(inputs: Inputs) -> pl.DataFrame:
    """One row per service and resource: its size, where the changes of nodes determine it.

    Columns: service, resource, containers, nodes, verdict (``told`` or ``cannot tell``),
    node_share (share of a node, of the commonest size where sizes are recorded, that one full
    container takes, 0..1), relative_size (the same
    / the common size of all services), node_share_low and node_share_high (95 % interval). The
    size is NULL where they do not determine it; the interval says what they rule out.
    """
    parts = [_frame(name, *found) for name, found in inputs.once(sizes).items()]
    if not parts:
        return pl.DataFrame(schema=_SCHEMA)
    names = inputs.database.frame("SELECT service_key, service FROM service_id")
    frame = pl.concat(parts).join(names, on="service_key").select(*_SCHEMA)
    return frame.sort("service", "resource").with_columns(
        pl.selectors.float().fill_nan(None).round(9)
    )


_SCHEMA = {
    "service": pl.String,
    "resource": pl.String,
    "containers": pl.Int64,
    "nodes": pl.Int64,
    "verdict": pl.String,
    "node_share": pl.Float64,
    "relative_size": pl.Float64,
    "node_share_low": pl.Float64,
    "node_share_high": pl.Float64,
}


def _frame(resource: str, sums: Sums, found: Estimate) -> pl.DataFrame:
    size = np.where(found.told, found.size, np.nan)
    return pl.DataFrame(
        {
            "service_key": sums.services.astype(np.int32),
            "resource": [resource] * len(size),
            "containers": sums.containers,
            "nodes": sums.hosts(),
            "verdict": np.where(found.told, TOLD, UNTOLD),
            "node_share": size,
            "relative_size": size / found.common,
            "node_share_low": found.low,
            "node_share_high": found.high,
        }
    )


RESULT = Result(
    title="How much of its node a container of each service takes",
    queries=(),
    tables=("node_usage", "container_usage"),
    function=service_sizes,
)
