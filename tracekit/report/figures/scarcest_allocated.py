"""How much of the resource that binds, as GPU, is requested over time, under each policy."""

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.measures import RESOURCES, words_of
from tracekit.report import over_time
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.measures import ALLOCATED, allocated, binding
from tracekit.report.policies import label
from tracekit.words import listed, percent


def _prepare(data: Data) -> pl.DataFrame:
    resource, shares = binding(data), allocated(data)
    column = f"{resource}_{ALLOCATED}"
    steps = data.replay("steps")
    if not resource:
        # a column that every frame has gives the frame without rows its columns
        return over_time.prepare(ALLOCATED)(Data()).with_columns(
            resource=pl.lit("", pl.String), others=pl.lit("", pl.String)
        )
    known = Data(
        run=data.run,
        run_frames={
            "summary": data.replay("summary"),
            "repeats": data.replay("repeats"),
            "steps": steps.filter(pl.col(column).is_not_null()),
        },
    )
    others = [
        f"{percent(shares[one])} of the {words}"
        for one, words in RESOURCES.items()
        if one in shares
    ]
    return (
        over_time.prepare(column)(known)
        .rename({column: ALLOCATED})
        .with_columns(resource=pl.lit(words_of(resource)), others=pl.lit(listed(others)))
    )


def _axis(frame: pl.DataFrame) -> str:
    words = frame["resource"][0] if frame.height else ""
    return f"Allocated {words} [% of all nodes]".replace("  ", " ")


def _draw(frame: pl.DataFrame) -> go.Figure:
    return over_time.draw(ALLOCATED, _axis(frame))(frame)


def _narrow(frame: pl.DataFrame) -> go.Figure:
    return over_time.narrow(ALLOCATED, _axis(frame))(frame)


def _takeaway(frame: pl.DataFrame) -> str:
    found, words, others = over_time.peaks(frame), frame["resource"][0], frame["others"][0]
    assert found is not None  # noqa: S101 - every row has a share
    rest = f"; no policy has more than {others} requested" if others else ""
    most = percent(found.reached[found.high], 1)
    said = f"up to {most} of all {words} is requested under {label(found.high)}"
    if not found.alike:
        said += f", {percent(found.reached[found.low], 1)} under {label(found.low)}"
    return f"{words} is the scarcest resource: {said}{rest}."


FIGURE = Figure(
    title="The scarcest resource: how much of it is requested over time",
    question="How near is the scarcest resource to its end?",
    how_to_read="The line is the share of the resource, on all nodes together, that the containers"
    " which run request, in the first order of arrival. What is left is free, but lies on many"
    " nodes: containers wait below 100 % where no single node has as much as they ask for. It is"
    " the resource of which the largest share is requested at any time. Drawn are production, the"
    " policy that the first page names, and the one that goes highest.",
    reads=("replay/steps",),
    prepare=_prepare,
    draw=_draw,
    narrow=_narrow,
    takeaway=_takeaway,
    table=over_time.summary_table(ALLOCATED),
    absent="No further resource is scarcer than CPU and memory in this run.",
    csv=("policy", "time_ms", ALLOCATED),
    note=over_time.note,
)
