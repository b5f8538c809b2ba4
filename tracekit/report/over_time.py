"""Lines over time, one per policy: what the figures of a replay's measures share."""

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.measures import is_share
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.report.colours import slot, slots
from tracekit.report.data import Data
from tracekit.report.drawing.plot import (
    SINCE_START,
    axis,
    began,
    blank,
    drawn_of,
    highest,
    hours,
    lines,
    numbers,
    percents,
)
from tracekit.report.measures import named
from tracekit.report.policies import APART, goes_highest, in_order, label, style, tested

#: Lines of policies in one figure, beside production and the bound.
_MOST_POLICIES = 2
#: Points of a line on a narrow screen.
NARROW_POINTS = 48
#: What the time is shaded with in which containers still arrive.
FILLING = "rgba(128,140,155,0.14)"
#: Shares that differ by less are shown as one number.
_ALIKE = 0.0005
_AMOUNTS = {"least": pl.Float64, "mean": pl.Float64, "most": pl.Float64, "samples": pl.Int64}


def prepare(column: str) -> Callable[[Data], pl.DataFrame]:
    """A figure's ``prepare``: policy, time, the measure and what it amounts to, thinned.

    ``least``, ``mean`` and ``most`` are over the settled samples of the policy (over all of them
    when none is settled) before thinning, so that what is said of the lines is exact.
    """
    known = {"policy": pl.String, "time_ms": pl.Int64, "settled": pl.Boolean, column: pl.Float64}
    shade = {"shade": pl.String}

    def prepared(data: Data) -> pl.DataFrame:
        steps = data.replay("steps")
        if steps.is_empty():
            return pl.DataFrame(schema={**known, **shade, **_AMOUNTS})
        shown = _shown(data, steps, column)
        order = {name: at for at, name in enumerate(shown)}
        # production fills nothing: what is drawn of it there would be the replay's own filling
        filling = (pl.col("policy") == OBSERVED) & ~pl.col("settled") & pl.col("settled").any()
        steps = steps.filter(pl.col("policy").is_in(shown) & ~filling).sort(
            pl.col("policy").replace_strict(order, return_dtype=pl.Int64), maintain_order=True
        )
        counted = pl.col(column).filter(pl.col("settled") | ~pl.col("settled").any())
        colours = slots(data)
        full = steps.select(
            *known,
            pl.col("policy").map_elements(lambda one: slot(one, colours), pl.String).alias("shade"),
            counted.min().over("policy").alias("least"),
            counted.mean().over("policy").alias("mean"),
            counted.max().over("policy").alias("most"),
            pl.len().over("policy").cast(pl.Int64).alias("samples"),
        )
        return lines(full, "policy", [column])

    return prepared


def _shown(data: Data, steps: pl.DataFrame, column: str) -> list[str]:
    """Production, the policies that titles name, the one that goes highest, and the bound.

    More lines than that are a thicket in which nothing is found.
    """
    there = steps["policy"].unique(maintain_order=True).to_list()
    ours = [*named(data), *goes_highest(steps, column), *tested(steps)[:2]]
    wanted = dict.fromkeys([OBSERVED, *ours, BOUND])
    drawn = [name for name in wanted if name in there]
    few = [name for name in drawn if name not in APART][:_MOST_POLICIES]
    return [name for name in drawn if name in APART or name in few]


def draw(column: str, title: str) -> Callable[[pl.DataFrame], go.Figure]:
    """A figure's ``draw``: one line per policy, production and the bound set apart."""
    unit, scale = ("%", percents) if is_share(column) else ("", numbers)

    def drawn(frame: pl.DataFrame) -> go.Figure:
        figure = blank()
        start = began(frame["time_ms"])
        for name in in_order(frame):
            part = frame.filter((pl.col("policy") == name) & pl.col(column).is_not_null())
            if part.is_empty():
                continue
            look = style(name, part["shade"][0])
            figure.add_scatter(
                x=hours(part["time_ms"], start),
                y=scale(part[column]),
                mode="lines" if part.height > 1 else "markers",
                name=label(name),
                line={"color": look["color"], "dash": look["dash"], "width": look["width"]},
                hovertemplate="%{x:.2f} h: %{y:.3~f} "
                f"{unit}<extra>{_plain(label(name))}</extra>",
            )
        _shade_filling(figure, frame)
        figure.update_layout(
            xaxis=axis(SINCE_START, showgrid=False, zeroline=False),
            yaxis=axis(title),
        )
        return figure

    return drawn


def narrow(column: str, title: str) -> Callable[[pl.DataFrame], go.Figure]:
    """The same for a narrow screen: of each of a few stretches of time the highest value.

    So many samples side by side are a comb there.
    """
    wide = draw(column, title)
    return lambda frame: wide(highest(frame, "policy", column, NARROW_POINTS))


def _plain(text: str) -> str:
    """Text that a hover box takes as it stands."""
    return text.replace("<", "&lt;").replace("%{", "% {")


def _shade_filling(figure: go.Figure, frame: pl.DataFrame) -> None:
    """Mark the time before the averages begin, while containers still arrive."""
    filling = frame.filter(~pl.col("settled"))
    if filling.is_empty() or filling.height == frame.height:
        return
    ends = [filling["time_ms"].min(), filling["time_ms"].max()]
    first, last = hours(ends, began(frame["time_ms"]))  # type: ignore[arg-type]
    figure.add_vrect(
        x0=first,
        x1=last,
        line_width=0,
        fillcolor=FILLING,
        annotation={"text": "filling", "font": {"size": 12}},
        annotation_position="bottom left",
    )


def amounts(frame: pl.DataFrame, amount: str) -> dict[str, float]:
    """``least``, ``mean`` or ``most`` of each policy, without those where it is not known."""
    rows = frame.group_by("policy", maintain_order=True).agg(pl.col(amount).first())
    return {name: value for name, value in rows.iter_rows() if value is not None}


@dataclass(frozen=True)
class Peaks:
    """The highest values of the policies under test: by policy, and who reaches least and most."""

    reached: dict[str, float]
    low: str
    high: str

    @property
    def alike(self) -> bool:
        """Whether the least and the most are shown as one number."""
        return self.reached[self.high] - self.reached[self.low] < _ALIKE


def peaks(frame: pl.DataFrame) -> Peaks | None:
    """Of the policies under test where one is known, else of all; None where none is known."""
    known = amounts(frame, "most")
    reached = {name: known[name] for name in tested(frame) if name in known} or known
    ordered = sorted(reached, key=lambda name: (reached[name], name))
    return Peaks(reached, ordered[0], ordered[-1]) if ordered else None


def summary_table(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """A figure's ``table``: least, mean and most of the measure per policy."""
    stem = column.removesuffix("_fraction")
    end = "_fraction" if stem != column else ""
    ends = {"least": f"least_{stem}{end}", "mean": f"mean_{stem}{end}", "most": f"most_{stem}{end}"}

    def table(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by("policy", maintain_order=True).agg(
            pl.col(amount).first().alias(name) for amount, name in ends.items()
        )

    return table


def note(frame: pl.DataFrame) -> str:
    """How many samples of each policy are drawn, where not all are."""
    return drawn_of(frame, "policy")
