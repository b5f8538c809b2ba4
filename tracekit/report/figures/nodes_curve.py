"""The curve: nodes kept against the fullest node, with requests as they are and as recommended."""

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.counts import FULLEST
from tracekit.answer.facts import Answer, Fact
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, percents
from tracekit.report.figures import Figure

CPU, MEMORY = FULLEST.values()
#: A line for each way to request: its study, colour and words.
_LINES = {
    "recorded": ("fewest", "policy-1", "requests as they are"),
    "recommended": ("fewest-recommended", "policy-2", "requests as recommended"),
}
#: Shares of a node's CPU that are marked; the first is where nobody set another.
_CEILINGS = (0.7, 0.8, 0.9)
_SCHEMA = {
    "requests": pl.String,
    "nodes": pl.Int64,
    CPU: pl.Float64,
    MEMORY: pl.Float64,
    "cost_per_hour": pl.Float64,
    "mark": pl.String,
    "ceiling_fraction": pl.Float64,
}
#: A mark of each point: its words, form and colour.
_MARKS = {
    "today": ("production today", "diamond", "observed"),
    "answer": ("enough", "circle", "accent"),
    "bound": ("no policy with fewer", "line-ns-open", "bound"),
}


def _prepare(data: Data) -> pl.DataFrame:
    """Every count that a search replayed in the first order of arrival, and the marked points."""
    parts = [_line(data, requests, folder) for requests, (folder, _, _) in _LINES.items()]
    lines = [part for part in parts if part is not None]
    if not lines:
        return pl.DataFrame(schema=_SCHEMA)
    marks = [] if data.answer is None else _marks(data.answer)
    ceiling = None if data.answer is None else data.answer.first("ceiling")
    made = pl.concat([*lines, pl.DataFrame(marks, schema=_SCHEMA)])
    return made.with_columns(
        ceiling_fraction=pl.lit(None if ceiling is None else ceiling.value, pl.Float64)
    )


def _line(data: Data, requests: str, folder: str) -> pl.DataFrame | None:
    study = data.studies.get(folder)
    if study is None or study.frames["sizes"].is_empty():
        return None
    sizes = study.frames["sizes"]
    policy = study.about.get("subject") or sizes["policy"][0]
    own = sizes.filter(policy=policy, repeat=0).unique("nodes").sort("nodes")
    known = [name for name in _SCHEMA if name in own.columns]
    return own.select(
        pl.lit(requests).alias("requests"),
        *(
            pl.col(name).cast(kind) if name in known else pl.lit(None, kind).alias(name)
            for name, kind in _SCHEMA.items()
            if name != "requests"
        ),
    )


def _marks(answer: Answer) -> list[dict[str, Any]]:
    """Production, the counts that are enough, and the lower bound."""
    points = []
    of = answer.facts[0].about.get("of")
    today = _height(answer, "today", CPU)
    if today is not None:
        memory = _height(answer, "today", MEMORY)
        points.append({"mark": "today", "nodes": of, CPU: today, MEMORY: memory})
    for case in ("recorded", "recommended", "no_more_often"):
        needed = answer.first("nodes_needed", case=case)
        if needed is not None and needed.value is not None:
            points.append({"mark": "answer", "nodes": needed.value, CPU: _height(answer, case, CPU),
                           MEMORY: _height(answer, case, MEMORY),
                           "requests": needed.about["requests"]})  # fmt: skip
    bound = answer.first("lower_bound")
    if bound is not None:
        points.append({"mark": "bound", "nodes": bound.value, "requests": bound.about["requests"]})
    return points


def _height(answer: Answer, case: str, measure: str) -> float | None:
    """How full the fullest node of a case is by a measure."""
    found: list[Fact] = [
        one for one in answer.of("fullest_node", case=case) if one.measure == measure
    ]
    return float(str(found[0].value)) if found else None


def _draw(frame: pl.DataFrame, *, narrow: bool = False) -> go.Figure:
    figure = blank(360 if narrow else 420)
    ceiling = frame["ceiling_fraction"][0]
    full = 0.8 if ceiling is None else float(ceiling)
    for share in sorted({*_CEILINGS, full}):
        strong = share == full
        figure.add_hline(
            y=100 * share,
            line={"color": color("warn" if strong else "grid"), "width": 2 if strong else 1,
                  "dash": "dash" if strong else "solid"},
            annotation={"text": f"{share:.0%} CPU: full" if strong else f"{share:.0%}",
                        "font": {"color": color("warn" if strong else "muted"), "size": 12}},
            annotation_position="top right" if strong else "bottom right",
        )  # fmt: skip
    for requests, (_, paint, words) in _LINES.items():
        own = frame.filter((pl.col("requests") == requests) & pl.col("mark").is_null())
        if own.is_empty():
            continue
        for measure, what, dash in ((CPU, "CPU", "solid"), (MEMORY, "memory", "dot")):
            figure.add_scatter(
                x=own["nodes"].to_list(),
                y=percents(own[measure]),
                mode="lines+markers",
                name=f"{what}, {words}",
                line={"color": color(paint), "width": 2, "dash": dash},
                marker={"size": 5},
                hovertemplate=f"%{{x:,}} nodes: %{{y:.1f}} % {what}<extra></extra>",
            )
    _draw_marks(figure, frame)
    top = max([100 * full, *(100 * one for one in frame[CPU].drop_nulls().to_list())])
    figure.update_layout(
        xaxis=axis("Nodes kept", rangemode="tozero", zeroline=False),
        yaxis=axis("Fullest node [% of its capacity]", range=[0, min(top, 160) * 1.12]),
    )
    return figure


def _draw_marks(figure: go.Figure, frame: pl.DataFrame) -> None:
    for mark, (words, form, paint) in _MARKS.items():
        own = frame.filter(mark=mark)
        if own.is_empty():
            continue
        if mark == "bound":
            figure.add_vline(
                x=own["nodes"][0],
                line={"color": color(paint), "width": 1, "dash": "dot"},
                annotation={"text": f"{own['nodes'][0]:,}: lower bound",
                            "font": {"color": color("muted"), "size": 12}},
                annotation_position="bottom right",
            )  # fmt: skip
            continue
        figure.add_scatter(
            x=own["nodes"].to_list(),
            y=percents(own[CPU]),
            mode="markers+text",
            name=words,
            text=[f"{one:,}" for one in own["nodes"]],
            textposition="top left",
            marker={"symbol": form, "size": 13, "color": color(paint),
                    "line": {"color": color("card"), "width": 1.5}},
            hovertemplate=f"{words}: %{{x:,}} nodes, %{{y:.1f}} % CPU<extra></extra>",
        )  # fmt: skip


def _sql(data: Data) -> list[tuple[str, str]]:
    """The statement over each study's file of counts."""
    return [
        (
            f"{folder}/sizes",
            (
                f"SELECT policy, nodes, holds, {CPU}, {MEMORY}\n"
                f"FROM read_parquet('studies/{folder}/sizes.parquet')\n"
                "WHERE repeat = 0\nORDER BY policy, nodes;\n"
            ),
        )
        for folder, _, _ in _LINES.values()
        if folder in data.studies
    ]


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    rows = frame.select("requests", "mark", "nodes", CPU, MEMORY, "cost_per_hour")
    return rows.sort("requests", "nodes", maintain_order=True)


FIGURE = Figure(
    title="Nodes kept against the fullest node",
    question="How full does the fullest node get on fewer nodes?",
    how_to_read="Each point is one replay on so many nodes. The line shows how full the fullest"
    " node was: its CPU 99 % of the time, and its highest memory. Below the dashed line no node is"
    " full. The marked points are production today and the fewest nodes that are enough.",
    reads=(),
    prepare=_prepare,
    draw=_draw,
    narrow=lambda frame: _draw(frame, narrow=True),
    takeaway=lambda _: "",
    table=_table,
    sql=_sql,
    absent="No nodes were counted: tracekit run counts them, tracekit nodes STORE --out DIR too.",
)
