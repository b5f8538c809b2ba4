"""Figures on requests, beside use and capacity."""

import polars as pl

from tracekit.base.words import short_ids, words_of
from tracekit.report.figures import Axis, Figure, Layer
from tracekit.report.plot import evenly
from tracekit.store.sqlfiles import default_of

_SERVICES = 12


def _changes(services: pl.DataFrame) -> pl.DataFrame:
    """The CPU requests of the services that change most under the first recommending policy."""
    judged = services.filter(resource="cpu").drop_nulls("recommended")
    ours = judged.filter(pl.col("policy") == pl.col("policy").first())
    if "kept_at_risk" in ours.columns:
        after = pl.when("kept_at_risk").then("request_now").otherwise("recommended")
        ours = ours.with_columns(recommended=after)
    most = ours.sort(pl.col("freed").abs(), "service", descending=[True, False]).head(_SERVICES)
    return most.select(
        pl.Series("service", short_ids(most["service"].to_list()), dtype=pl.String),
        pl.col("request_now", "recommended", "use_p95", "use_max", "freed").name.suffix("_cores"),
    )


def _beside_use(hours: pl.DataFrame) -> pl.DataFrame:
    """CPU and memory of the services with the most unused requests, a panel each."""
    parts = []
    for words, stem, unit in (("CPU", "cpu", "cores"), ("Memory", "memory", "gib")):
        measured = hours.drop_nulls([f"{stem}_requested_{unit}", f"{stem}_used_{unit}"])
        order = [f"{stem}_unused_{unit}", "service"]
        most = measured.sort(order, descending=[True, False]).head(_SERVICES - 2)
        parts.append(
            most.select(
                pl.Series("service", short_ids(most["service"].to_list()), dtype=pl.String),
                "containers",
                resource=pl.lit(f"{words} [{'GiB' if unit == 'gib' else unit}]"),
                requested=f"{stem}_requested_{unit}",
                used=f"{stem}_used_{unit}",
            )
        )
    return pl.concat(parts)


def _scarcest(rows: pl.DataFrame) -> pl.DataFrame:
    order = ["at_once_share", "in_all_share", "resource"]
    ranked = rows.sort(order, descending=[True, True, False])
    return ranked.select(
        pl.col("resource").map_elements(words_of, pl.String),
        "at_once_share", "in_all_share", "nodes", "containers",
    )  # fmt: skip


requests_to_change = Figure(
    title="CPU requests now and as recommended",
    question="Which services change most, and how near do they come to their use?",
    how_to_read="A row is a service: what one of its containers requests now, what is recommended,"
    " and what it uses. A recommendation left of the highest use is exceeded at times. A service"
    " at risk keeps what it has.",
    absent="Requests were not judged: tracekit requests judges them.",
    reads=("requests_to_change/services",),
    rows=_changes,
    layers=(
        Layer(mark="points", x="use_max_cores", name="highest use", color="bound",
              symbol="x-thin-open", size=10),
        Layer(mark="points", x="use_p95_cores", name="use, 95 % of the time", color="cpu",
              symbol="line-ns-open", size=12),
        Layer(mark="points", x="request_now_cores", name="requested now", color="observed",
              symbol="circle-open", size=11),
        Layer(mark="points", x="recommended_cores", name="recommended", size=10),
    ),
    x=Axis(title="CPU of one container", unit="cores", zero=True),
    label="service",
)  # fmt: skip

request_use = Figure(
    title="What services request and use, as means over time",
    question="Which services hold much more than they use?",
    how_to_read="The wide bar is what the containers of a service request together, the full bar in"
    " it what they use. The service that leaves the most unused is on top.",
    absent="The trace does not say both what containers request and what they use.",
    reads=("services/requests",),
    rows=_beside_use,
    layers=(
        Layer(mark="bars", x="requested", name="requested", color="other", opacity=0.5, width=0.5),
        Layer(mark="bars", x="used", name="used", color="cpu", width=0.26),
    ),
    x=Axis(title="{panel}", unit="", zero=True),
    label="service",
    panel="resource",
)

requested_capacity = Figure(
    title="Requests against what all nodes have, by resource",
    question="Which resource is scarcest?",
    how_to_read="The narrow bar is the most that is requested at any one time; the wide one behind"
    " it is what all containers of the trace request, as if none departed. Beyond 100 % not all of"
    " them have room at once.",
    absent="The trace does not say both what nodes have and what containers request.",
    reads=("usage/requested_capacity",),
    rows=_scarcest,
    layers=(
        Layer(mark="bars", x="in_all_share", name="all containers together", color="other",
              opacity=0.5, width=0.5),
        Layer(mark="bars", x="at_once_share", name="the most at any one time", color="cpu",
              width=0.26),
    ),
    x=Axis(title="Requested", unit="% of what all nodes have", percent=True, zero=True),
    label="resource",
)  # fmt: skip


# How full the nodes of a trace are, and of what.

#: Correlation zones: their names in legends, and their colours.
_ZONES = {
    "A": ("A: apart", "zone-a"),
    "B": ("B: unrelated", "zone-b"),
    "C": ("C: together", "zone-c"),
    "U": ("U: undefined", "zone-u"),
    "too_short": ("too short", "zone-too-short"),
}
_COLORS = dict(_ZONES.values())
_ZONE = pl.col("zone").replace({name: label for name, (label, _) in _ZONES.items()})


def _ranked(profile: pl.DataFrame) -> pl.DataFrame:
    correlated = profile.drop_nulls("pearson_r").sort("pearson_r", "node")
    ranked = correlated.select(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("rank"), "node", _ZONE, "pearson_r"
    )
    limit = default_of("usage/node_profile", "zone_limit")
    return evenly(ranked).with_columns(low_limit=pl.lit(-limit), high_limit=pl.lit(limit))


node_use = Figure(
    title="Mean CPU and memory use of every node",
    question="How full are the nodes, and of what?",
    how_to_read="Each dot is one node: up and to the right it is full, down and to the left idle."
    " Above the dashed line its memory is fuller than its CPU, which would be left over once the"
    " memory were full. Means say nothing of peaks.",
    absent="The store holds no samples of nodes.",
    reads=("usage/node_profile",),
    rows=lambda profile: evenly(
        profile.sort("cpu_mean", "node").select(
            "node", _ZONE, pl.col("cpu_mean", "memory_mean").name.suffix("_fraction")
        )
    ),
    layers=(Layer(mark="points", x="cpu_mean_fraction", y="memory_mean_fraction", by="zone", size=6,
                  opacity=0.7),),
    x=Axis(title="Mean CPU use", unit="% of node", percent=True, span=(0, 1)),
    y=Axis(title="Mean memory use", unit="% of node", percent=True, span=(0, 1)),
    label="node",
    colors=_COLORS,
    diagonal=True,
    height_px=440,
)  # fmt: skip

zone_rank = Figure(
    title="Nodes by the correlation of their CPU and memory",
    question="Can nodes be filled by one resource alone, as CPU and memory move together?",
    how_to_read="Each dot is one node, from the most negative correlation on the left to the most"
    " positive on the right. The dashed lines separate the correlation zones.",
    absent="No node has a correlation of CPU and memory.",
    reads=("usage/node_profile",),
    rows=_ranked,
    layers=(
        Layer(mark="levels", x="rank", y="low_limit", color="muted", dash="dash", width=1),
        Layer(mark="levels", x="rank", y="high_limit", color="muted", dash="dash", width=1),
        Layer(mark="points", x="rank", y="pearson_r", by="zone", size=5),
    ),
    x=Axis(title="Rank of the node by r", unit="nodes"),
    y=Axis(title="Correlation r of CPU and memory", unit="\u22121..1", span=(-1, 1)),
    label="node",
    colors=_COLORS,
)
