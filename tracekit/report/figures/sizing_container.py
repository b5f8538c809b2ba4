"""One container closely: its need, and the limit the agent and another policy gave it."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import SINCE_START, axis, blank, hours, lines, numbers
from tracekit.report.figures import Figure
from tracekit.words import number, percent

_SCHEMA = {
    "line": pl.String,
    "time_ms": pl.Int64,
    "cores": pl.Float64,
    "over": pl.Float64,
    "periods": pl.Int64,
}
#: Lines beside the need, in this order, as far as the run has them.
_SHOWN = ("ddqn", "vertical_pod_autoscaler", "oracle")
_NEED = "need"


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.size("containers")
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    one = frame.filter(pl.col("container") == frame["container"][0])
    names = one["policy"].unique(maintain_order=True).to_list()
    shown = [n for known in _SHOWN for n in names if n.partition("[")[0] == known] or names
    parts = [_line(one, names[0], "need_cores", _NEED)]
    parts += [_line(one, name, "limit_cores", name) for name in shown[: len(_SHOWN)]]
    return lines(pl.concat(parts), "line", ["cores"])


def _line(frame: pl.DataFrame, policy: str, column: str, name: str) -> pl.DataFrame:
    own = frame.filter(pl.col("policy") == policy)
    return own.select(
        pl.lit(name).alias("line"),
        "time_ms",
        pl.col(column).alias("cores"),
        pl.col("overflow").mean().cast(pl.Float64).alias("over"),
        pl.len().cast(pl.Int64).alias("periods"),
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for at, name in enumerate(frame["line"].unique(maintain_order=True)):
        part = frame.filter(pl.col("line") == name)
        look = color("muted") if name == _NEED else color(f"policy-{at}")
        figure.add_scatter(
            x=hours(part["time_ms"]),
            y=numbers(part["cores"]),
            mode="lines" if part.height > 1 else "markers",
            name=name,
            line={
                "color": look,
                "width": 1 if name == _NEED else 2,
                "shape": "linear" if name == _NEED else "hv",
            },
        )
    figure.update_layout(
        xaxis=axis(SINCE_START, showgrid=False, zeroline=False),
        yaxis=axis("CPU [cores]", rangemode="tozero"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    limits = frame.filter(pl.col("line") != _NEED)
    first = limits.row(0, named=True)
    levels = limits.filter(pl.col("line") == first["line"])["cores"].n_unique()
    need = float(frame.filter(pl.col("line") == _NEED)["cores"].max())  # type: ignore[arg-type]
    sizes = "one size" if levels == 1 else f"{levels} sizes"
    return (
        f"Where CPU need varies most, up to {number(need)} cores, {first['line']} uses {sizes} and"
        f" falls short in {percent(first['over'], 1)} of periods."
    )


def _note(frame: pl.DataFrame) -> str:
    periods = frame.group_by("line").agg(pl.col("periods").first())["periods"].sum()
    if periods <= frame.height:
        return ""
    return f"{frame.height:,} of {periods:,} samples are drawn."


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("line", maintain_order=True).agg(
        pl.col("cores").min().alias("least_cores"),
        pl.col("cores").max().alias("most_cores"),
        pl.col("over").first().alias("overflow_share"),
    )


FIGURE = Figure(
    title="A container's CPU limit against its need",
    question="What does the agent do with a container?",
    how_to_read="The thin line is what the container needs, steps are the limits a policy gave it;"
    " where the thin line is above a step the container was not served in full. It is the test"
    " container whose CPU need varies most.",
    reads=("size/containers",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="The sizing run holds no container closely, so there is no limit to show.",
    csv=("line", "time_ms", "cores"),
    note=_note,
)
