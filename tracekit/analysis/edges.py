"""The query ``calls/service_edges`` on a large table of calls, some hundred thousand at a time.

The SQL holds every rpc id of the trace at once: gigabytes for each ten million records. A trace is
never divided, so what ranges of traces give can be added up, and quantiles are read off how many
calls took each time. The SQL stays the definition, but for the twelfth decimal.
"""

import re
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from tracekit.analysis.callgraph.parts import chunks, open_parts
from tracekit.store.folder import Store
from tracekit.store.query.database import Database
from tracekit.store.query.run import bind, run
from tracekit.store.sqlfiles import SqlFile, all_queries, get_query

QUERY = "calls/service_edges"
#: Fewer calls are answered at once either way; so small a table is left to the SQL.
FROM_ROWS = 1_000_000

_EDGE = ("upstream_key", "downstream_key", "rpc_type")
_REMOTE = ("rpc", "http", "mq")
_TIME, _CALLS = pl.col("time"), pl.col("calls")
_QUANTILES = {"response_time_p50_ms": 0.5, "response_time_p95_ms": 0.95}
#: Once so many rows of counted times have gathered, equal ones are added up.
_TIMES_AT_ONCE = 2_000_000


def run_query(
    store: Store,
    name: str,
    params: Mapping[str, str | float | bool] | None = None,
    *,
    own: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """The rows of a query, as ``tracekit.store.query.run`` gives them.

    One that builds on the edges of a large table of calls gets them in little memory.

    Raises TracekitError for an unknown query or parameter, or a value of the wrong type.
    """
    query, edges = get_query(name), all_queries()[QUERY]
    if not (is_large(store) and _builds_on(query, edges)):
        return run(store, name, params, own=own)
    variables = bind(query, params or {})
    with Database(store) as database:
        for table, rows in (own or {}).items():
            database.add(table, rows)
        found = service_edges(store, database)
        if query.name == QUERY:
            return found
        database.put(edges, found)
        return database.frame(query.text, variables)


def is_large(store: Store) -> bool:
    """Whether the store has so many calls that their edges are counted in pieces."""
    return sum(part.rows for part in store.manifest.parts("call")) >= FROM_ROWS


def _builds_on(query: SqlFile, edges: SqlFile) -> bool:
    """Whether a query is, or reads, directly or through others, the one of the edges."""
    views = {other.view_name: other for other in all_queries().values()}
    seen, left = {query.name}, [query]
    while left:
        one = left.pop()
        others = [views[view] for view in _views_read(one) if view in views]
        left += [other for other in others if other.name not in seen]
        seen |= {other.name for other in others}
    return edges.name in seen


def _views_read(query: SqlFile) -> Collection[str]:
    """The views of the header, or every word of a file without a header."""
    return query.reads or set(re.findall(r"\w+", query.text))


def service_edges(store: Store, database: Database) -> pl.DataFrame:
    """The rows of ``queries/calls/service_edges.sql``; ``database`` has the ids of services."""
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
    """One row for each rpc id and pair of services: the calls it stands for and their time."""
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
    """Quantiles of each edge's times, between two of them by how near the place is to either."""
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
