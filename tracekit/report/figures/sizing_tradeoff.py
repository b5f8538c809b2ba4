"""QoS against what is reserved: what each sizing policy gives up for the other."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import POLICY_SLOTS, color
from tracekit.report.plot import axis, blank, percents
from tracekit.report.policies import SYMBOLS
from tracekit.report.words import listed, percent

_X, _Y = "container_memory_fraction", "qos"
_KEPT = (_X, "container_cpu_fraction", _Y)
_SCHEMA = {"policy": pl.String, **dict.fromkeys(_KEPT, pl.Float64)}


def _prepare(data: Data) -> pl.DataFrame:
    summary = data.size("summary")
    if summary.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    wide = summary.pivot("measure", index="policy", values="mean", maintain_order=True)
    return wide.select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for at, row in enumerate(frame.to_dicts()):
        look = color(f"policy-{at + 1}") if at < POLICY_SLOTS else color("other")
        figure.add_scatter(
            x=percents([row["container_cpu_fraction"]]),
            y=percents([row[_Y]]),
            mode="markers",
            name=row["policy"],
            marker={"color": look, "size": 12, "symbol": SYMBOLS[at % len(SYMBOLS)]},
            hovertemplate="CPU used %{x:.1f} %<br>QoS %{y:.1f} %",
        )
    figure.update_layout(
        xaxis=axis("CPU used of what is reserved, mean over containers [%]"),
        yaxis=axis("QoS: cycles without overflow [%]"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    real = frame.filter(~pl.col("policy").str.starts_with("oracle"))
    rows = real if real.height else frame
    best = float(rows[_Y].max())  # type: ignore[arg-type]
    names = rows.filter(pl.col(_Y) >= best - 0.0005)["policy"].to_list()
    head = rows.filter(pl.col("policy") == names[0]).row(0, named=True)
    return (
        f"QoS is highest with {listed(names)}, at {percent(best, 1)} with"
        f" {percent(head['container_cpu_fraction'], 1)} of the reserved CPU used."
    )


FIGURE = Figure(
    title="QoS against the use of what is reserved",
    question="What does a sizing policy give up to serve in time?",
    how_to_read="Each mark is one policy; up and to the right is better. The oracle knows the next"
    " cycle: nothing real can be above and to the right of it as long as nodes have room.",
    reads=("size/summary",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.rename({_Y: "qos_share"}),
    absent="The sizing run holds no policies, so there is nothing to compare.",
)
