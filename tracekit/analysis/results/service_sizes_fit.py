"""Whether the trace can tell sizes at all: the identifiability report."""

import polars as pl

from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._sizes import sizes
from tracekit.analysis.results.service_sizes import TOLD, UNTOLD


def service_sizes_fit(inputs: Inputs) -> pl.DataFrame:
    """One row per resource: the common size of all services, and how well sizes can be estimated.

    Columns: resource, verdict (on the common size), node_share (common size: share of its node
    that one full container takes, 0..1; NULL when it cannot be told), node_share_low,
    node_share_high (95 % interval), services, services_told, condition_number,
    variance_explained_share (of the nodes' changes, 0..1), nodes, steps (changes used).
    """
    rows = [
        {
            "resource": resource,
            "verdict": TOLD if found.common_told else UNTOLD,
            "node_share": found.common if found.common_told else None,
            "node_share_low": found.common_low,
            "node_share_high": found.common_high,
            "services": len(found.size),
            "services_told": int(found.told.sum()),
            "condition_number": found.condition_number,
            "variance_explained_share": found.variance_explained_share,
            "nodes": len(sums.nodes),
            "steps": sum(node.steps for node in sums.nodes),
        }
        for resource, (sums, found) in inputs.once(sizes).items()
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return frame.with_columns(pl.selectors.float().fill_nan(None).round(9))


_SCHEMA = {
    "resource": pl.String,
    "verdict": pl.String,
    "node_share": pl.Float64,
    "node_share_low": pl.Float64,
    "node_share_high": pl.Float64,
    "services": pl.Int64,
    "services_told": pl.Int64,
    "condition_number": pl.Float64,
    "variance_explained_share": pl.Float64,
    "nodes": pl.Int64,
    "steps": pl.Int64,
}

RESULT = Result(
    title="Whether the trace can tell the sizes of containers",
    queries=(),
    tables=("node_usage", "container_usage"),
    function=service_sizes_fit,
)
