"""What papers show as a figure, drawn anew."""

import polars as pl

from tracekit.policy.titles import title_of_policy
from tracekit.report.figures import Axis, Figure, Layer


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
