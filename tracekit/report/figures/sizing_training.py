"""The training curve: reward of an epoch, moving mean and band."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, evenly, numbers, percents
from tracekit.report.figures import Figure
from tracekit.words import number, percent

_SCHEMA = {
    "seed": pl.Int64,
    "epoch": pl.Int64,
    "reward": pl.Float64,
    "reward_mean": pl.Float64,
    "reward_low": pl.Float64,
    "reward_high": pl.Float64,
    "overflow_share_mean": pl.Float64,
}
_MOST_EPOCHS = 500


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.size("training")
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    first = frame.filter(
        (pl.col("policy") == frame["policy"][0]) & (pl.col("seed") == frame["seed"][0])
    )
    return evenly(first.select(list(_SCHEMA)), _MOST_EPOCHS)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    epochs = frame["epoch"].to_list()
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    if frame.height:
        figure.add_scatter(x=epochs, y=numbers(frame["reward_high"]), **band)
        figure.add_scatter(
            x=epochs,
            y=numbers(frame["reward_low"]),
            fill="tonexty",
            fillcolor="rgba(128,140,155,0.25)",
            **{**band, "showlegend": True},
            name="one deviation",
        )
        figure.add_scatter(
            x=epochs,
            y=numbers(frame["reward_mean"]),
            mode="lines+markers" if frame.height == 1 else "lines",
            name="reward",
            line={"color": color("policy-1"), "width": 2},
        )
        figure.add_scatter(
            x=epochs,
            y=percents(frame["overflow_share_mean"]),
            mode="lines+markers" if frame.height == 1 else "lines",
            name="overflow",
            yaxis="y2",
            line={"color": color("policy-2"), "width": 2, "dash": "dot"},
        )
    figure.update_layout(
        xaxis=axis("Epoch [count]"),
        yaxis=axis("Reward in 64 cycles [sum]"),
        yaxis2=axis("Overflow [% of cycles]", overlaying="y", side="right", showgrid=False),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    last, best = frame.row(-1, named=True), frame["reward_mean"].max()
    return (
        f"After epoch {last['epoch']:,} a container earns {number(last['reward_mean'])} in 64"
        f" cycles (best mean {number(float(best))}), and {percent(last['overflow_share_mean'])}"  # type: ignore[arg-type]
        " of cycles overflow."
    )


FIGURE = Figure(
    title="Reward and overflow while the agent learns",
    question="Does the agent learn, and does it settle?",
    how_to_read="Both lines are means over the last 50 epochs, with exploration; the shaded band is"
    " one standard deviation of the reward to either side. The study reports a reward of 91.5"
    " and 3.3 % overflow once trained, under coefficients it does not publish.",
    reads=("size/training",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: (
        evenly(frame, 10).drop("seed").rename({"overflow_share_mean": "overflow_share"})
    ),
    absent="No agent was trained in this run, so there is no training curve.",
)
