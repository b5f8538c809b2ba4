"""What containers of each service request and use, in cores and GiB: where the waste is."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, numbers, rows_axis
from tracekit.report.figures import Figure
from tracekit.words import count, number, percent, short_id

_QUERY = "services/requests"
_MOST = 15
_ROW_PX, _EDGES_PX, _NARROW_ROW_PX = 30, 90, 50
#: Each panel: the stem of its columns, their unit, the words, and where it stands across.
_PANELS = (("cpu", "cores", "CPU", (0.0, 0.47)), ("memory", "gib", "memory", (0.53, 1.0)))
_UNITS = {"cores": "cores", "gib": "GiB"}
_AMOUNTS = tuple(
    f"{stem}_{what}_{unit}"
    for stem, unit, _, _ in _PANELS
    for what in ("requested", "used", "unused")
)
_SCHEMA = pl.Schema(
    {
        "service": pl.String,
        "containers": pl.Int64,
        **dict.fromkeys(_AMOUNTS, pl.Float64),
        "services": pl.Int64,
        **{f"all_{name}": pl.Float64 for name in _AMOUNTS},
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    asked = data.query(_QUERY)
    if asked.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    frame = asked.with_columns(
        pl.len().cast(pl.Int64).alias("services"),
        *(pl.col(name).sum().alias(f"all_{name}") for name in _AMOUNTS),
    )
    order = ["cpu_unused_cores", "memory_unused_gib", "service"]
    worst = frame.sort(order, descending=[True, True, False], nulls_last=True).head(_MOST)
    return worst.select(_SCHEMA.names()).cast(_SCHEMA)


def _plot(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    row_px = _NARROW_ROW_PX if narrow else _ROW_PX
    figure = blank(max(frame.height, 1) * row_px + _EDGES_PX)
    rows = [at + (0.12 if narrow else 0) for at in range(frame.height)]
    for at, (stem, unit, words, domain) in enumerate(_PANELS):
        shown = {
            "xaxis" + ("" if not at else "2"): axis(
                f"{words[:1].upper()}{words[1:]} [{_UNITS[unit]}]",
                rangemode="tozero",
                domain=domain,
                nticks=4,
            )
        }
        figure.update_layout(**shown)
        for what, width, opacity in (("requested", 0.62, 0.3), ("used", 0.34, 1.0)):
            figure.add_bar(
                x=numbers(frame[f"{stem}_{what}_{unit}"]),
                y=rows,
                orientation="h",
                width=width * (0.7 if narrow else 1),
                xaxis="x" if not at else "x2",
                name=f"{words} used (pale: requested)",
                showlegend=what == "used",
                marker={"color": color(stem), "opacity": opacity},
                hovertemplate=f"{words} {what}: %{{x:.3~f}} {_UNITS[unit]}<extra></extra>",
            )
    _name_rows(figure, frame, narrow=narrow)
    return figure


def _name_rows(figure: go.Figure, frame: pl.DataFrame, *, narrow: bool) -> None:
    """The services beside their rows, on a narrow screen above them."""
    names = [
        f"{short_id(row['service'])} ({row['containers']:,})" for row in frame.iter_rows(named=True)
    ]
    figure.update_layout(
        barmode="overlay",
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        yaxis=rows_axis(frame.height, 0.7, names=[] if narrow else names),
    )
    if narrow:
        figure.update_layout(annotations=[above(at, name, 0.34) for at, name in enumerate(names)])


def _takeaway(frame: pl.DataFrame) -> str:
    row = frame.row(0, named=True)
    said = [
        f"{_share(row, stem, unit)} of the {words} that they request"
        for stem, unit, words, _ in _PANELS
        if row[f"all_{stem}_requested_{unit}"]
    ]
    first = (
        f"{number(row['cpu_unused_cores'])} cores"
        if row["cpu_unused_cores"] is not None
        else f"{number(row['memory_unused_gib'])} GiB"
    )
    return (
        f"Containers use {' and '.join(said)}. {short_id(row['service'])} leaves the most unused:"
        f" {first}."
    )


def _share(row: dict[str, float], stem: str, unit: str) -> str:
    """The sum of use over the sum of requests."""
    return percent(row[f"all_{stem}_used_{unit}"] / row[f"all_{stem}_requested_{unit}"])


def _note(frame: pl.DataFrame) -> str:
    services = int(frame["services"][0]) if frame.height else 0
    if services <= frame.height:
        return ""
    drawn = f"{frame.height} of {count(services, 'service')} with requests are drawn"
    return f"{drawn}, those that leave the most cores unused."


FIGURE = Figure(
    title="What services request and use, as means over time",
    question="Which services hold much more than they use?",
    how_to_read="A pale bar is what the containers of a service request together, the full bar in"
    " it what they use; what is left of the pale bar is held and not used. The service that leaves"
    " the most cores unused is on top. Behind each name is how many containers it has. Both are"
    " means over the whole trace: a container that ran for half of it counts half. Containers"
    " without a request hold nothing and are left out. What init containers and overhead keep of a"
    " request is in the pale bar, too: tracekit requests tells what can be freed.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, narrow=False),
    narrow=lambda frame: _plot(frame, narrow=True),
    takeaway=_takeaway,
    table=lambda frame: frame.select("service", "containers", *_AMOUNTS),
    absent="The trace does not say both what containers request and what they use, so nothing can"
    " be said of what they hold and do not use.",
    csv=("service", "containers", *_AMOUNTS),
    note=_note,
)
