"""Figures on the demand of services, and on slow calls."""

import polars as pl

from tracekit.base.words import short_ids
from tracekit.policy.placement import title_of_policy
from tracekit.report.figures import Axis, Figure, Layer
from tracekit.report.plot import evenly

_MOST, _EDGES = 800, 12
#: Response times have a resolution of a millisecond; shorter ones are not measurable.
_FINEST_MS = 1.0


def _slow(edges: pl.DataFrame) -> pl.DataFrame:
    """The edges with the most time of calls, of edges with measurable times."""
    measured = edges.filter(pl.col("response_time_p95_ms") > _FINEST_MS).drop_nulls(
        "response_time_p50_ms"
    )
    spent = pl.col("calls") * pl.col("response_time_p50_ms")
    order = [spent, pl.col("upstream"), pl.col("downstream"), pl.col("rpc_type")]
    most = measured.sort(order, descending=[True, False, False, False]).head(_EDGES)
    ids = sorted({*most["upstream"].drop_nulls(), *most["downstream"].drop_nulls()})
    short = dict(zip(ids, short_ids(ids), strict=True))
    ends = [pl.col(one).cast(pl.String).replace(short).fill_null("unknown") for one in
            ("upstream", "downstream")]  # fmt: skip
    kind = pl.col("rpc_type").cast(pl.String).fill_null("?")
    return most.select(
        pl.format("{} \u2192 {} ({})", *ends, kind).alias("edge"),
        pl.col("calls").cast(pl.Int64),
        pl.col("response_time_p50_ms", "response_time_p95_ms").cast(pl.Float64).clip(_FINEST_MS),
    )


service_demand = Figure(
    title="How well calls explain CPU, against the rate of calls",
    question="Can a service be sized by its expected calls?",
    how_to_read="Each dot is one service: to the right the more calls per second, upwards the"
    " better a straight line through calls and CPU of its containers fits. Services high up can be"
    " sized by their calls; low ones do something else with their CPU.",
    absent="Of no service are both calls and use recorded over the same minutes.",
    reads=("services/demand",),
    rows=lambda services: evenly(
        services.filter(pl.col("r_squared").is_not_null() & (pl.col("rate_mean") > 0))
        .sort("rate_mean", "service")
        .select("service", "rate_mean", "r_squared", "cpu_per_call", "minutes"),
        _MOST,
    ),
    layers=(Layer(mark="points", x="rate_mean", y="r_squared", opacity=0.75),),
    x=Axis(title="Calls of the service", unit="calls/s", log=True),
    y=Axis(title="CPU explained", unit="%", percent=True, span=(0, 1)),
    label="service",
    fewest=2,
)

call_edges = Figure(
    title="The edges between services that calls spend most time on",
    question="Between which services is time lost?",
    how_to_read="A row is one pair of services and one kind of call, that with the most time spent"
    " in all its calls on top. The dots are the response times of the middle call and of the"
    " slowest twentieth; the farther apart, the less can be relied on.",
    absent="No calls have response times that can be told from nothing.",
    reads=("callgraph/edges",),
    rows=_slow,
    layers=(
        Layer(mark="points", x="response_time_p50_ms", name="half of the calls", size=9),
        Layer(mark="points", x="response_time_p95_ms", name="slowest twentieth", size=9,
              color="policy-2"),
    ),
    x=Axis(title="Response time", unit="ms", log=True),
    label="edge",
)  # fmt: skip


# What papers show as a figure, drawn anew.


def _spreads(curves: pl.DataFrame) -> pl.DataFrame:
    """The spread over nodes by policy, resource and number of containers."""
    return curves.select(
        pl.col("policy").map_elements(title_of_policy, pl.String),
        pl.col("resource").replace({"cpu": "CPU", "net": "network"}),
        "containers",
        "spread_fraction",
    )


extender_load = Figure(
    title="Spread of load over nodes, container by container, with and without the extender",
    question="Does the extender even out the load of nodes?",
    how_to_read="Each line is the load of the most used node less that of the least used, once so"
    " many containers have come; means over the orders of arrival. Lower is more even.",
    absent="The experiments of the extender were not run.",
    reads=("extender/curves",),
    rows=_spreads,
    layers=(Layer(mark="lines", x="containers", y="spread_fraction", by="policy"),),
    x=Axis(title="Containers placed", unit="count"),
    y=Axis(title="{panel}, spread over nodes", unit="% of node", percent=True, zero=True),
    label="policy",
    panel="resource",
    height_px=220,
)
