"""QoS against what is reserved: what each sizing policy gives up for the other."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, percents
from tracekit.report.figures import Figure
from tracekit.sizing.intervals import is_agent
from tracekit.words import listed, percent

_X, _Y = "container_memory_fraction", "qos"
_KEPT = (_X, "container_cpu_fraction", _Y)
_SCHEMA = {"policy": pl.String, **dict.fromkeys(_KEPT, pl.Float64)}
#: Room around the marks, as a share of what they span.
_ROOM = 0.2


def _prepare(data: Data) -> pl.DataFrame:
    summary = data.size("summary")
    if summary.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    wide = summary.pivot("measure", index="policy", values="mean", maintain_order=True)
    return wide.select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    span = _room(frame, "container_cpu_fraction")
    for at, row in enumerate(frame.sort("container_cpu_fraction").to_dicts()):
        name = row["policy"].partition("[")[0]
        figure.add_scatter(
            x=percents([row["container_cpu_fraction"]]),
            y=percents([row[_Y]]),
            mode="markers+text",
            text=[name],
            textposition=_side(at, 100 * (row["container_cpu_fraction"] or 0.0), span),
            cliponaxis=False,
            showlegend=False,
            marker={"color": color("policy-1" if is_agent(row["policy"]) else "other"), "size": 12},
            hovertemplate=f"{row['policy']}<br>CPU used %{{x:.1f}} %<br>QoS %{{y:.1f}} %"
            "<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("CPU used of what is reserved [%]", range=span),
        yaxis=axis("Cycles without overflow [%]", range=_room(frame, _Y)),
    )
    return figure


def _side(at: int, value: float, span: list[float]) -> str:
    """Where a name stands: towards the middle, neighbours above and below in turn."""
    return f"{'bottom' if at % 2 else 'top'} {'right' if 2 * value < sum(span) else 'left'}"


def _room(frame: pl.DataFrame, name: str) -> list[float]:
    """The range of an axis in percent: what is drawn, with room for names around it."""
    found = [100 * value for value in frame[name].drop_nulls().to_list()] or [0.0, 100.0]
    more = max(max(found) - min(found), 1.0) * _ROOM
    return [min(found) - more, max(found) + more]


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
