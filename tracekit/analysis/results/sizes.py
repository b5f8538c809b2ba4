"""Sizes of containers and services, inferred from use in amounts."""

import numpy as np
import polars as pl

from tracekit.analysis.changes import Sums
from tracekit.analysis.estimate import Estimate, inferred_sizes
from tracekit.analysis.results import Inputs, result


def sizes(inputs: Inputs) -> dict[str, tuple[Sums, Estimate]]:
    """Return the sums of changes and the estimated sizes, by resource; see ``inferred_sizes``."""
    return inferred_sizes(inputs.database, inputs.rng)


TOLD, UNTOLD = "told", "cannot tell"


@result(
    title="How much of its node a container of each service takes",
    queries=(),
    tables=("node_usage", "container_usage"),
)
def service_sizes(inputs: Inputs) -> pl.DataFrame:
    """Return one row per service and resource: the size of its containers, where it is known.

    A size is the share of a node, 0..1, that one container takes at full use. Where capacities are
    recorded, the node is one of the commonest capacity.

    Columns: service, resource, containers, nodes, verdict (``told`` where the size is known well
    enough, else ``cannot tell``), node_share (the size; NULL for ``cannot tell``), relative_size
    (node_share / the common node_share of all services), node_share_low and node_share_high (95 %
    interval, also given where the size is NULL).
    """
    parts = [_frame(name, *fitted) for name, fitted in inputs.once(sizes).items()]
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


def _frame(resource: str, sums: Sums, fitted: Estimate) -> pl.DataFrame:
    size = np.where(fitted.determined, fitted.size, np.nan)
    return pl.DataFrame(
        {
            "service_key": sums.services.astype(np.int32),
            "resource": [resource] * len(size),
            "containers": sums.containers,
            "nodes": sums.hosts(),
            "verdict": np.where(fitted.determined, TOLD, UNTOLD),
            "node_share": size,
            "relative_size": size / fitted.common,
            "node_share_low": fitted.low,
            "node_share_high": fitted.high,
        }
    )


@result(
    title="Whether the trace can tell the sizes of containers",
    queries=(),
    tables=("node_usage", "container_usage"),
)
def service_sizes_fit(inputs: Inputs) -> pl.DataFrame:
    """Return one row per resource: the common size of all services, and how well it is known.

    Columns: resource, verdict (``told`` if the common size is known well enough, else ``cannot
    tell``), node_share (the common size: share of a node that one container takes at full use,
    0..1; NULL for ``cannot tell``), node_share_low, node_share_high (95 % interval), services,
    services_told (services whose own size is known), condition_number, variance_explained_share (of
    the nodes' changes, 0..1), nodes, steps (changes used).
    """
    rows = [
        {
            "resource": resource,
            "verdict": TOLD if fitted.common_determined else UNTOLD,
            "node_share": fitted.common if fitted.common_determined else None,
            "node_share_low": fitted.common_low,
            "node_share_high": fitted.common_high,
            "services": len(fitted.size),
            "services_told": int(fitted.determined.sum()),
            "condition_number": fitted.condition_number,
            "variance_explained_share": fitted.variance_explained_share,
            "nodes": len(sums.nodes),
            "steps": sum(node.steps for node in sums.nodes),
        }
        for resource, (sums, fitted) in inputs.once(sizes).items()
    ]
    frame = pl.DataFrame(rows, schema=_SERVICE_SIZES_FIT_SCHEMA, orient="row")
    return frame.with_columns(pl.selectors.float().fill_nan(None).round(9))


_SERVICE_SIZES_FIT_SCHEMA = {
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
