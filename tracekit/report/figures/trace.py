"""How full the nodes of a trace are, and of what."""

import polars as pl

from tracekit.report.drawing.plot import evenly
from tracekit.report.figures import Axis, Figure, Layer
from tracekit.store.sqlfiles import default_of

#: Correlation zones: what legends call them, and the colours.
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
    known = profile.drop_nulls("pearson_r").sort("pearson_r", "node")
    ranked = known.select(
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
