"""Faster methods for two queries on large tables; the SQL of the queries is the definition.

``usage/node_profile``: DuckDB groups by hashing. The single part of ``node_usage`` is ordered by
node and time, so that one pass gives the profile in a third of the time.

``calls/service_edges``: the SQL holds every rpc id at once, gigabytes for ten million records. Here
ranges of whole traces are added up, and quantiles come from the number of calls with each time.

Both agree with the SQL to the twelfth decimal, with default parameters.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import polars as pl

from tracekit.analysis.callgraph.records import chunks, open_parts
from tracekit.analysis.metrics import CONSTANT_VARIANCE
from tracekit.analysis.metrics.correlation import strength, zone
from tracekit.base.files.places import scan_parquet
from tracekit.store.folder import Store
from tracekit.store.query.database import Database
from tracekit.store.query.run import bind, run
from tracekit.store.sqlfiles import SqlFile, all_queries, default_of, get_query

EDGES, PROFILE = "calls/service_edges", "usage/node_profile"
#: Smaller tables are left to the SQL.
FROM_ROWS = 1_000_000
#: Computes the rows of a query from a store and a database with the ids of its keys.
Way = Callable[[Store, Database], pl.DataFrame]

_EDGE = ("upstream_key", "downstream_key", "rpc_type")
_REMOTE = ("rpc", "http", "mq")
_TIME, _CALLS = pl.col("time"), pl.col("calls")
_QUANTILES = {"response_time_p50_ms": 0.5, "response_time_p95_ms": 0.95}
#: The number of collected rows after which equal times are added up.
_TIMES_AT_ONCE = 2_000_000


def run_query(
    store: Store,
    name: str,
    params: Mapping[str, str | float | bool] | None = None,
    *,
    own: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Return the rows of a query, as ``tracekit.store.query.run`` does, but faster on large tables.

    If ``way_of`` returns a faster method for the query, or for a query that it reads, the rows of
    that query come from the method. A query with a parameter in ``params`` always uses its SQL.

    Parameters
    ----------
    own : mapping of str to DataFrame, optional
        Tables by name that the query may read, besides those of the store.

    Raises
    ------
    TracekitError
        For an unknown query or parameter, or a value of the wrong type.
    """
    query = get_query(name)
    variables = bind(query, params or {})
    ways = {
        one: way
        for one in _built_on(query)
        if (way := way_of(one.name, store))
        and not {it.name for it in one.params} & variables.keys()
    }
    if not ways:
        return run(store, name, params, own=own)
    with Database(store) as database:
        for table, rows in (own or {}).items():
            database.add(table, rows)
        for one, way in ways.items():
            result = way(store, database)
            if one.name == query.name:
                return result
            database.put(one, result)
        return database.frame(query.text, variables)


def way_of(query: str, store: Store) -> Way | None:
    """Return the faster method for a query on this store, or None where the SQL is used."""
    if query == EDGES and sum(part.rows for part in store.manifest.parts("call")) >= FROM_ROWS:
        return service_edges
    if query == PROFILE and [
        part.rows >= FROM_ROWS for part in store.manifest.parts("node_usage")
    ] == [True]:
        return node_profile
    return None


def _built_on(query: SqlFile) -> list[SqlFile]:
    """The query, and all queries whose views it reads, directly or through others."""
    views = {other.view_name: other for other in all_queries().values()}
    queries, left = {query.name: query}, [query]
    while left:
        others = [views[view] for view in _views_read(left.pop()) if view in views]
        left += [other for other in others if other.name not in queries]
        queries |= {other.name: other for other in others}
    return list(queries.values())


def _views_read(query: SqlFile) -> Collection[str]:
    """The views that the header of a file names; without a header every word of the file."""
    return query.reads or set(re.findall(r"\w+", query.text))


def node_profile(store: Store, database: Database) -> pl.DataFrame:
    """Return the rows of ``queries/usage/node_profile.sql``.

    The table ``node_usage`` must be in one part (a file of the store), which is sorted by node.
    """
    cpu, memory = pl.col("cpu_fraction"), pl.col("memory_fraction")
    moments = (
        scan_parquet(*store.table_files("node_usage"))
        .set_sorted("node_key")
        .group_by("node_key")
        .agg(
            pl.len().cast(pl.Int64).alias("samples"),
            *_moments(cpu, "cpu"),
            *_moments(memory, "memory"),
            pl.cov(cpu, memory, ddof=0).alias("cov"),
            (cpu - memory).abs().mean().alias("util_diff"),
            (1 - (cpu.clip(upper_bound=1) + memory.clip(upper_bound=1)) / 2).mean().alias("debris"),
        )
        .collect(engine="streaming")
    )
    ids = database.frame("SELECT node_key, node FROM node_id")
    correlated = _correlated(moments.join(ids, on="node_key", how="inner").sort("node"))
    measures = [f"{r}_{m}" for r in ("cpu", "memory") for m in ("mean", "median", "std", "max")]
    rounded = [name for name in measures if name.endswith(("mean", "std"))]
    return correlated.select(
        "node", "samples", *measures, "pearson_r", "zone", "strength", "util_diff", "debris"
    ).with_columns(pl.col(*rounded, "pearson_r", "util_diff", "debris").round(12))


def _moments(values: pl.Expr, name: str) -> list[pl.Expr]:
    return [
        values.mean().alias(f"{name}_mean"),
        values.median().alias(f"{name}_median"),
        values.std(ddof=0).alias(f"{name}_std"),
        values.max().alias(f"{name}_max"),
    ]


def _correlated(moments: pl.DataFrame) -> pl.DataFrame:
    cpu, memory = pl.col("cpu_std"), pl.col("memory_std")
    long = pl.col("samples") >= default_of(PROFILE, "min_samples")
    varies = (cpu**2 > CONSTANT_VARIANCE) & (memory**2 > CONSTANT_VARIANCE)
    r = (pl.col("cov") / (cpu * memory)).clip(-1, 1)
    correlated = moments.with_columns(pl.when(long & varies).then(r).alias("pearson_r"))
    values = correlated["pearson_r"].fill_null(np.nan).to_numpy()
    return correlated.with_columns(
        pl.when(long).then(pl.Series(zone(values))).otherwise(pl.lit("too_short")).alias("zone"),
        pl.Series("strength", strength(values)),
    )


def service_edges(store: Store, database: Database) -> pl.DataFrame:
    """Return the rows of ``queries/calls/service_edges.sql``.

    Ids of services come from ``database``.
    """
    edges: list[pl.DataFrame] = []
    times: list[pl.DataFrame] = []
    for rows in chunks(open_parts(store)):
        calls = _calls(rows)
        edges.append(
            calls.group_by(_EDGE).agg(
                _CALLS.sum(),
                pl.col("trace_key").n_unique().cast(pl.Int64).alias("traces"),
                _TIME.max().alias("response_time_max_ms"),
            )
        )
        times.append(calls.drop_nulls("time").group_by(*_EDGE, "time").agg(ids=pl.len()))
        if sum(counted.height for counted in times) > _TIMES_AT_ONCE:
            times = [_added(times)]
    whole = (
        pl.concat(edges)
        .group_by(_EDGE)
        .agg(_CALLS.sum(), pl.col("traces").sum(), pl.col("response_time_max_ms").max())
    )
    timed = whole.join(_quantiles(_added(times)), on=_EDGE, how="left", nulls_equal=True)
    return _named(timed, database)


def _calls(rows: pl.DataFrame) -> pl.DataFrame:
    """The number of calls and their time, for each rpc id, pair of services and type."""
    waited = pl.col("response_time_ms")
    positive = pl.when(waited > 0).then(waited)
    ends = (
        rows.with_columns(positive.alias("positive"))
        .group_by("trace_key", "rpc_id", *_EDGE)
        .agg(
            pl.len().cast(pl.Int64).alias("records"),
            pl.col("positive").count().cast(pl.Int64).alias("calling"),
            (waited < 0).sum().cast(pl.Int64).alias("called"),
            pl.coalesce(pl.col("positive").max(), waited.abs().max()).alias("time"),
        )
    )
    half = (pl.col("records") + 1) // 2
    remote = pl.col("rpc_type").is_in(_REMOTE).fill_null(value=False)
    calls = pl.when(remote).then(pl.max_horizontal("calling", "called", half)).otherwise("records")
    return ends.with_columns(calls.alias("calls"))


def _added(times: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(times).group_by(*_EDGE, "time").agg(pl.col("ids").sum())


def _quantiles(times: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of the times of each edge, interpolated linearly between two times."""
    upto, last = pl.col("upto"), pl.col("ids").sum() - 1
    ordered = times.sort(*_EDGE, "time").with_columns(
        pl.col("ids").cum_sum().over(_EDGE, order_by="time").alias("upto")
    )

    def between(share: float) -> pl.Expr:
        place = share * last
        below = _TIME.filter(upto > place.floor()).first()
        above = _TIME.filter(upto > place.ceil()).first()
        return (below + (above - below) * (place - place.floor())).round(12)

    quantiles = [between(share).alias(name) for name, share in _QUANTILES.items()]
    return ordered.group_by(_EDGE).agg(quantiles)


def _named(edges: pl.DataFrame, database: Database) -> pl.DataFrame:
    services = database.frame("SELECT service_key, service FROM service_id")
    for end in ("upstream", "downstream"):
        ids = services.rename({"service_key": f"{end}_key", "service": end})
        edges = edges.join(ids, on=f"{end}_key", how="left")
    order = ["upstream", "downstream", "rpc_type"]
    columns = [*order, "calls", "traces", *_QUANTILES, "response_time_max_ms"]
    return edges.select(columns).sort(order, nulls_last=True)
