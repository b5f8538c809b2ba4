"""A socket with its cores, and who sits on them: before, by the fit, and under the best way."""

import plotly.graph_objects as go
import polars as pl

from tracekit.binding.drawn import RECORDED
from tracekit.report.data import Data
from tracekit.report.drawing.palette import POLICY_SLOTS, color
from tracekit.report.drawing.plot import axis, blank
from tracekit.report.figures import Figure
from tracekit.report.figures.interference_inflation import FITTED, NOT_BOUND
from tracekit.words import count, short_id

_SOURCE = "bind/socket"
_SCHEMA = {
    "policy": pl.String,
    "node": pl.String,
    "core": pl.Int64,
    "thread": pl.Int64,
    "vcpu": pl.Int64,
    "container": pl.String,
    "service": pl.String,
    "inflation_fraction": pl.Float64,
    "row": pl.Int64,
}
_FREE = "free"
_EDGES_PX, _ROW_PX, _NARROW_ROW_PX = 150, 30, 20


def _prepare(data: Data) -> pl.DataFrame:
    """Under the last way of the table, as recorded where known; by the fit; under the best way."""
    found = data.result(_SOURCE)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    names = found["policy"].unique(maintain_order=True).to_list()
    kept = {name: at for at, name in enumerate(_ways(names, data.result("bind/repeats")))}
    threads = int(found["thread"].max() or 0) + 1  # type: ignore[arg-type]
    shown = found.filter(pl.col("policy").is_in(list(kept))).with_columns(
        row=pl.col("policy").replace_strict(kept, return_dtype=pl.Int64) * (threads + 1)
        + pl.col("thread")
    )
    return shown.select(list(_SCHEMA)).sort("row", "core")


def _ways(names: list[str], repeats: pl.DataFrame) -> list[str]:
    """The ways to bind that are shown, what was before first and the best last."""
    if repeats.is_empty():
        return list(dict.fromkeys([names[-1], names[0]]))
    lost = repeats.group_by("policy").agg(pl.col("inflation_vcpus").mean()).sort("inflation_vcpus")
    ranked = [name for name in lost["policy"] if name in names]
    before = names[-1]  # the socket is the one that loses most under it
    fitted = [FITTED] if FITTED in names else []
    best = next((name for name in ranked if name != RECORDED), before)
    return [name for name in dict.fromkeys([before, *fitted]) if name != best] + [best]


def _draw(frame: pl.DataFrame) -> go.Figure:
    """Cores side by side, a row for each thread of each way to bind."""
    figure = blank(_EDGES_PX + _ROW_PX * (int(frame["row"].max() or 0) + 1))  # type: ignore[arg-type]
    _add_squares(figure, frame, across="core", down="row")
    rows = _rows(frame)
    figure.update_layout(
        xaxis=axis("Core of the socket [number]", dtick=2),
        yaxis=axis(
            "Thread [number]",
            autorange="reversed",
            tickvals=[row for row, _, _ in rows],
            ticktext=[f"{policy} {thread}" for _, policy, thread in rows],
        ),
    )
    return figure


def _narrow(frame: pl.DataFrame) -> go.Figure:
    """The other way round, as there is room below but none beside: cores below each other."""
    cores = int(frame["core"].max() or 0) + 1  # type: ignore[arg-type]
    figure = blank(_EDGES_PX + _NARROW_ROW_PX * cores)
    _add_squares(figure, frame, across="row", down="core")
    rows = _rows(frame)
    ways: dict[str, list[int]] = {}
    for row, policy, _ in rows:
        ways.setdefault(policy, []).append(row)
    heads = [
        {
            "text": policy.replace("_", "_<br>"),
            "x": sum(places) / len(places),
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12},
        }
        for policy, places in ways.items()
    ]
    figure.update_layout(
        margin={"t": 70},
        annotations=heads,
        xaxis=axis(
            "Thread [number]",
            tickvals=[row for row, _, _ in rows],
            ticktext=[str(thread) for _, _, thread in rows],
            range=[-0.8, max(row for row, _, _ in rows) + 0.8],
            showgrid=False,
            zeroline=False,
        ),
        yaxis=axis(
            "Core of the socket [number]",
            range=[cores - 0.4, -0.6],
            dtick=2,
            showgrid=False,
            zeroline=False,
        ),
    )
    return figure


def _rows(frame: pl.DataFrame) -> list[tuple[int, str, int]]:
    """Row, way to bind and thread of each line of squares."""
    return frame.select("row", "policy", "thread").unique().sort("row").rows()


def _add_squares(figure: go.Figure, frame: pl.DataFrame, *, across: str, down: str) -> None:
    owners = frame["container"].drop_nulls().unique().sort().to_list()
    for owner in [None, *owners]:
        own = pl.col("container").is_null() if owner is None else pl.col("container") == owner
        part = frame.filter(own)
        if part.is_empty():
            continue
        at = 0 if owner is None else owners.index(owner)
        shade = color("grid") if owner is None else color(f"policy-{at % POLICY_SLOTS + 1}")
        figure.add_scatter(
            x=part[across].to_list(),
            y=part[down].to_list(),
            customdata=[_said(row) for row in part.iter_rows(named=True)],
            text=["" if owner is None else str(at + 1)] * part.height,
            mode="markers+text",
            textfont={"color": color("card"), "size": 10},
            name=_FREE if owner is None else str(at + 1),
            showlegend=False,
            marker={"symbol": "square", "size": 17, "color": shade},
            hovertemplate="%{customdata}<extra></extra>",
        )


def _said(row: dict[str, object]) -> str:
    if row["container"] is None:
        return f"vCPU {row['vcpu']}: free"
    felt = 100 * float(row["inflation_fraction"] or 0)  # type: ignore[arg-type]
    service = short_id(str(row["service"]))
    return f"vCPU {row['vcpu']}: container of service {service}, loses {felt:.1f} %"


def _shared(frame: pl.DataFrame, policy: str) -> int:
    """Cores of which two containers hold a thread each."""
    taken = frame.filter((pl.col("policy") == policy) & pl.col("container").is_not_null())
    return (
        taken.group_by("core")
        .agg(pl.col("container").n_unique())
        .filter(pl.col("container") > 1)
        .height
    )


def _how(name: str) -> str:
    return f"as {name}" if name == RECORDED else f"under {name}"


def _takeaway(frame: pl.DataFrame) -> str:
    before, *others = frame["policy"].unique(maintain_order=True).to_list()
    shared = _shared(frame, before)
    verb = "is" if shared == 1 else "are"
    said = f"{count(shared, 'core')} of this socket {verb} shared by several containers"
    parts = [f"{_shared(frame, name) or 'none'} {_how(name)}" for name in others]
    parts[-1:] = [f"and {last}" for last in parts[-1:]]
    return f"{', '.join([f'{said} {_how(before)}', *parts])}."


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.drop_nulls("container")
        .group_by("policy", "container", maintain_order=True)
        .agg(
            pl.col("service").first(),
            pl.col("vcpu").sort().cast(pl.String).str.join(", ").alias("vcpu_ids"),
            pl.col("inflation_fraction").first(),
        )
        .head(40)
    )


FIGURE = Figure(
    title="One socket, before and after",
    question="Which containers share a core?",
    how_to_read="Each square is a vCPU; the two threads of a core stand together, once for each"
    " way to bind. Squares of one number belong to one container. Two numbers on one core"
    " share it, and press on each other most. The socket shown is the one that loses most under"
    " the first way.",
    reads=(_SOURCE,),
    prepare=_prepare,
    draw=_draw,
    narrow=_narrow,
    takeaway=_takeaway,
    table=_table,
    absent=NOT_BOUND,
    csv=("policy", "core", "thread", "vcpu", "container", "service", "inflation_fraction"),
)
