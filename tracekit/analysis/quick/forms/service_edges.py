"""``calls/service_edges``, some hundred thousand records at a time.

The SQL holds every rpc id of the trace at once: gigabytes for each ten million records. A trace is
never divided, so what ranges of traces give can be added up, and quantiles are read off how many
calls took each time.
"""

from collections.abc import Sequence

import polars as pl

from tracekit.analysis.callgraph.parts import chunks, open_parts
from tracekit.analysis.quick.forms import Quick, Sorted
from tracekit.analysis.quick.forms._named import ids_of

_EDGE = ("upstream_key", "downstream_key", "rpc_type")
_REMOTE = ("rpc", "http", "mq")
_TIME, _CALLS = pl.col("time"), pl.col("calls")
_QUANTILES = {"response_time_p50_ms": 0.5, "response_time_p95_ms": 0.95}
#: Once so many rows of counted times have gathered, equal ones are added up.
_TIMES_AT_ONCE = 2_000_000


def service_edges(given: Sorted) -> pl.DataFrame:
    """The columns of ``queries/calls/service_edges.sql``."""
    edges: list[pl.DataFrame] = []
    times: list[pl.DataFrame] = []
    for rows in chunks(open_parts(given.store)):
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
    return _named(timed, given)


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


def _named(edges: pl.DataFrame, given: Sorted) -> pl.DataFrame:
    services = ids_of("service", given)
    for end in ("upstream", "downstream"):
        ids = services.rename({"service_key": f"{end}_key", "service": end})
        edges = edges.join(ids, on=f"{end}_key", how="left")
    order = ["upstream", "downstream", "rpc_type"]
    columns = [*order, "calls", "traces", *_QUANTILES, "response_time_max_ms"]
    return edges.select(columns).sort(order, nulls_last=True)


QUICK = Quick(query="calls/service_edges", table="call", joins_parts=True, function=service_edges)
