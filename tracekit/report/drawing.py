"""Draws declared figures for wide and for narrow windows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl

from tracekit.base.words import short_id
from tracekit.report.figures import Axis, Figure, Layer
from tracekit.report.plot import (
    POLICY_SLOTS,
    Label,
    above,
    axis,
    blank,
    color,
    log_axis,
    numbers,
    placed,
    rows_axis,
    whiskers,
)

_ROW_PX, _GAP_PX, _TOP_PX, _BOTTOM_PX = 44, 70, 16, 58
#: In a narrow window: the height of a title line above an axis, and the letters of a line.
_ABOVE_PX, _LETTERS = 30, 40
#: The width between the axes in both windows, and the most names beside marks.
_ROOM = {False: (560, 10), True: (285, 5)}
#: The share of room beyond the lowest and the highest value of an axis.
_BEYOND = 0.06
_ROW = "_row"


def drawn(figure: Figure, frame: pl.DataFrame, *, narrow: bool = False) -> go.Figure:
    """Return a declared figure, drawn from its rows."""
    panels = frame.partition_by(figure.panel, maintain_order=True) if figure.panel else [frame]
    high = [_ROW_PX * one.height if figure.y is None else figure.height_px for one in panels]
    gap = _GAP_PX + (_ABOVE_PX if narrow and figure.y is not None else 0)
    inner = sum(high) + gap * (len(panels) - 1)
    top_px = _TOP_PX + (_ABOVE_PX if narrow and figure.y is not None else 0)
    plot = blank(inner + top_px + _BOTTOM_PX)
    left = 8 if narrow or figure.y is None else 62
    plot.update_layout(margin={"l": left, "r": 16, "t": top_px, "b": _BOTTOM_PX}, barmode="overlay")
    top = float(inner)
    for at, (part, own) in enumerate(zip(panels, high, strict=True)):
        domain = [max(top - own, 0.0) / inner, top / inner]
        _Panel(plot, figure, part, at, narrow).draw(domain)
        top -= own + gap
    return plot


class _Panel:
    """One pair of axes with its marks."""

    def __init__(
        self, plot: go.Figure, figure: Figure, frame: pl.DataFrame, at: int, narrow: bool
    ) -> None:
        self.plot, self.figure, self.at, self.narrow = plot, figure, at, narrow
        self.frame = frame.with_columns(pl.int_range(pl.len()).alias(_ROW))
        self.number = str(at + 1) if at else ""
        self.named: dict[str, str] = {}
        self.second = figure.second if self._of_second() else None

    def _of_second(self) -> bool:
        second = [one for one in self.figure.layers if one.second]
        return any(not self._rows(one).is_empty() for one in second)

    def draw(self, domain: list[float]) -> None:
        self._axes(domain)
        if self.figure.diagonal:
            line = {"color": color("muted"), "width": 1, "dash": "dash"}
            self.plot.add_shape(type="line", x0=0, x1=100, y0=0, y1=100, layer="below", line=line)
        for layer in self.figure.layers:
            for name, shade, part in self._each(layer):
                {"levels": self._levels, "stems": self._stems}.get(layer.mark, self._marks)(
                    layer, name, shade, part
                )
        self._names()

    def _rows(self, layer: Layer) -> pl.DataFrame:
        shown = self.frame if layer.where is None else self.frame.filter(layer.where)
        needed = (layer.y,) if layer.mark == "levels" else (layer.x, layer.y)
        return shown.drop_nulls([one for one in needed if one])

    def _each(self, layer: Layer) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """The rows of each name and colour."""
        shown = self._rows(layer)
        if not layer.by:
            if not shown.is_empty():
                yield layer.name, layer.color, shown
            return
        color_of = self.figure.colors
        values = shown[layer.by].drop_nulls().unique(maintain_order=True).to_list()
        values.sort(key=lambda one: list(color_of).index(one) if one in color_of else len(color_of))
        free = [one for one in values if one not in color_of]
        for value in values:
            part = shown.filter(pl.col(layer.by) == value)
            if value in color_of:
                yield value, color_of[value], part
            else:
                yield value, f"policy-{free.index(value) % POLICY_SLOTS + 1}", part

    def _marks(self, layer: Layer, name: str, shade: str, part: pl.DataFrame) -> None:
        across, up = self.figure.x, self.second if layer.second else self.figure.y
        x = _values(part[layer.x], across)
        y = part[_ROW].to_list() if up is None else _values(part[layer.y], up)
        units = across.unit, "" if up is None else up.unit
        labels = [_label(one) for one in part[self.figure.label]]
        hover = f"%{{customdata}}<br>%{{x:,.4~g}} {units[0]}"
        hover += "" if up is None else f", %{{y:,.4~g}} {units[1]}"
        own: dict[str, Any] = {
            "x": x, "y": y, "customdata": labels, "name": name,
            "showlegend": bool(name) and self.at == 0,
            "hovertemplate": f"{hover}<extra>{name}</extra>",
            "xaxis": f"x{self.number}", "yaxis": "y2" if layer.second else f"y{self.number}",
            **_interval(layer, shade, part, across if up is None else up, rows=up is None),
        }  # fmt: skip
        if layer.mark == "bars":
            self.plot.add_bar(**own, orientation="h", width=layer.width if layer.width < 1 else 0.4,
                              marker={"color": color(shade)}, opacity=layer.opacity)  # fmt: skip
            return
        if layer.mark in ("lines", "steps"):
            shape = "hv" if layer.mark == "steps" else "linear"
            line = {"color": color(shade), "width": layer.width, "dash": layer.dash, "shape": shape}
            # a line needs two points
            mode = "lines" if part.height > 1 else "lines+markers"
            self.plot.add_scatter(**own, mode=mode, line=line)
            return
        marker = {"color": color(shade), "symbol": layer.symbol, "size": layer.size,
                  "opacity": layer.opacity, "line": {"width": 2 if "-open" in layer.symbol else 0,
                                                     "color": color(shade)}}  # fmt: skip
        self.plot.add_scatter(**own, mode="markers", marker=marker)

    def _levels(self, layer: Layer, name: str, shade: str, part: pl.DataFrame) -> None:
        """Draw lines across the whole panel."""
        assert self.figure.y is not None  # noqa: S101 - levels are of an upright axis
        for value in dict.fromkeys(_values(part[layer.y], self.figure.y)):
            self.plot.add_shape(
                type="line", x0=0, x1=1, xref=f"x{self.number} domain", y0=value, y1=value,
                yref=f"y{self.number}", layer="below", line=_line(layer, shade),
            )  # fmt: skip
        self._in_legend(layer, name, shade)

    def _stems(self, layer: Layer, name: str, shade: str, part: pl.DataFrame) -> None:
        """Draw lines from the axis to a value; where rows have names, over each row."""
        for row in part.iter_rows(named=True):
            (x,) = _values(pl.Series([row[layer.x]]), self.figure.x)
            ends = (row[_ROW] - 0.3, row[_ROW] + 0.3)
            if self.figure.y is not None:
                ends = (0, _values(pl.Series([row[layer.y]]), self.figure.y)[0])
            self.plot.add_shape(
                type="line", x0=x, x1=x, xref=f"x{self.number}", y0=ends[0], y1=ends[1],
                yref=f"y{self.number}", line=_line(layer, shade),
            )  # fmt: skip
        self._in_legend(layer, name, shade)

    def _in_legend(self, layer: Layer, name: str, shade: str) -> None:
        if name:
            self.plot.add_scatter(x=[None], y=[None], mode="lines", name=name,
                                  line=_line(layer, shade), hoverinfo="skip")  # fmt: skip

    def _axes(self, domain: list[float]) -> None:
        figure, number = self.figure, self.number
        panel = str(self.frame[figure.panel][0]) if figure.panel else ""
        x = _axis(figure.x, panel, self._values("x"), self._span("x"), narrow=self.narrow)
        if figure.y is None:
            names = [above(at, _label(one), yref=f"y{number}")
                     for at, one in enumerate(self.frame[figure.label])]  # fmt: skip
            self.plot.layout.annotations += tuple(go.layout.Annotation(one) for one in names)
            up = rows_axis(self.frame.height, 0.75)
        else:
            up = _axis(figure.y, panel, self._values("y"), self._span("y"), narrow=self.narrow)
            up |= self._title_above(up, domain[1], right=False)
        up |= {"anchor": f"x{number}", "domain": domain}
        self.plot.update_layout({f"xaxis{number}": {**x, "anchor": f"y{number}"},
                                 f"yaxis{number}": up})  # fmt: skip
        if self.second is not None:
            other = _axis(
                self.second, panel, pl.Series([], dtype=pl.Float64), self._high(), narrow=False
            )
            other |= self._title_above(other, domain[1], right=True)
            self.plot.update_layout(yaxis2={**other, "side": "right", "overlaying": "y",
                                            "showgrid": False, "nticks": 5,
                                            "tickmode": "auto"})  # fmt: skip

    def _high(self) -> tuple[float, float]:
        """The lowest and the highest value of the second upright axis."""
        every = [self._rows(one)[one.y].max() for one in self.figure.layers if one.second]
        return 0.0, (1 + _BEYOND) * max(float(one) for one in every if isinstance(one, float))

    def _title_above(self, up: dict[str, Any], top: float, *, right: bool) -> dict[str, Any]:
        """Put the upright title above its axis, for a narrow window."""
        if not self.narrow:
            return {}
        self.plot.add_annotation(
            text=up["title"]["text"], xref="paper", yref="paper", x=1.0 if right else 0.0, y=top,
            xanchor="right" if right else "left", yanchor="bottom", yshift=6, showarrow=False,
            xshift=16 if right else -32, font={"size": 12},
        )  # fmt: skip
        return {"title": {"text": ""}}

    def _values(self, side: str) -> pl.Series:
        """All values of the marks of an axis."""
        columns = [
            self._rows(one)[name].cast(pl.Float64)
            for one in self.figure.layers
            if (name := getattr(one, side)) and not one.second
            and not (side == "x" and one.mark == "levels")
        ]  # fmt: skip
        return pl.concat(columns).drop_nulls() if columns else pl.Series([], dtype=pl.Float64)

    def _span(self, side: str) -> tuple[float, float] | None:
        """The lowest and the highest value of an axis; None for the library's choice."""
        own = self.figure.x if side == "x" else self.figure.y
        if own is None or (own.span is None and not self.figure.beside):
            return None
        values = self._values(side)
        ends = [*values, *(own.span or ())] or [0.0, 1.0]
        low, high = min(ends), max(ends)
        room = _BEYOND * (high - low) or 0.1 * abs(high) or 1.0
        scale = 100.0 if own.percent else 1.0
        return (0.0 if own.zero else scale * (low - room)), scale * (high + room)

    def _names(self) -> None:
        """Put names beside marks where they cover neither a mark nor another name."""
        figure, ends = self.figure, (self._span("x"), self._span("y"))
        if not figure.beside or figure.y is None or ends[0] is None or ends[1] is None:
            return
        labels: list[Label] = []
        marks: list[tuple[float, float]] = []
        at: list[list[Any]] = []
        for layer in figure.layers:
            rows = _between(self._rows(layer), layer)
            if layer.mark == "levels" or layer.second or rows.is_empty():
                continue
            x, y = (np.array(_values(rows[one], ax), dtype=np.float64)
                    for one, ax in ((layer.x, figure.x), (layer.y, figure.y)))  # fmt: skip
            spots = [(float(a), float(b)) for a, b in zip(_unit(x, ends[0]), _unit(y, ends[1]),
                                                         strict=True)]  # fmt: skip
            marks += spots
            for text, spot, *where in zip(rows[figure.beside], spots, x, y, strict=True):
                if text is not None:
                    labels.append(Label(text=text, x=spot[0], y=spot[1], must=len(labels) < 4))
                    at.append(where)
        width, most = _ROOM[self.narrow]
        spots_of = {id(one): where for one, where in zip(labels, at, strict=True)}
        for one, look in placed(labels, marks, width_px=width, height_px=figure.height_px,
                                most=most):  # fmt: skip
            x, y = spots_of[id(one)]
            self.plot.add_annotation(x=float(x), y=float(y), **look)


def _between(rows: pl.DataFrame, layer: Layer) -> pl.DataFrame:
    """The rows of a line with interpolated ones, so that no name covers the line."""
    if layer.mark != "lines" or rows.height < 2:
        return rows
    fine = np.linspace(0, rows.height - 1, 12 * rows.height)
    own = np.arange(rows.height)
    columns = {
        one: np.interp(fine, own, rows[one].cast(pl.Float64).to_numpy())
        for one in (layer.x, layer.y)
    }
    missing = [pl.lit(None, kind).alias(name) for name, kind in rows.schema.items()
               if name not in columns]  # fmt: skip
    return pl.DataFrame(columns).with_columns(missing)


def _unit(values: np.ndarray[Any, np.dtype[np.float64]], ends: tuple[float, float]) -> Any:
    return (values - ends[0]) / (ends[1] - ends[0])


def _values(values: pl.Series, own: Axis) -> list[Any]:
    return numbers((100.0 * values.cast(pl.Float64) if own.percent else values).to_list())


def _label(value: object) -> str:
    return "" if value is None else short_id(str(value))


def _line(layer: Layer, shade: str) -> dict[str, Any]:
    return {"color": color(shade), "width": layer.width, "dash": layer.dash}


def _interval(
    layer: Layer, shade: str, part: pl.DataFrame, own: Axis, *, rows: bool
) -> dict[str, Any]:
    if not layer.low or part[layer.low].null_count() == part.height:
        return {}
    value = part[layer.x if rows else layer.y]
    scale = 100.0 if own.percent else 1.0
    up, down = scale * (part[layer.high] - value), scale * (value - part[layer.low])
    look = {**whiskers(up, down), "color": color("ink" if rows else shade)}
    look["width"] = 4 if rows else 0
    return {"error_x" if rows else "error_y": look}


def _axis(
    own: Axis, panel: str, values: pl.Series, span: tuple[float, float] | None, *, narrow: bool
) -> dict[str, Any]:
    title = own.title.replace("{panel}", panel)
    text = f"{title} [{own.unit}]" if own.unit else title
    if narrow:
        text = "<br>".join(_wrapped(text))
    if own.log:
        return log_axis(text, values)
    more: dict[str, Any] = {} if span is None else {"range": list(span), "zeroline": False}
    if own.zero and span is None:
        more["rangemode"] = "tozero"
    if narrow:
        more["nticks"] = 6
    return axis(text, **more)


def _wrapped(text: str) -> Iterator[str]:
    """The lines of a title in a narrow window."""
    line = ""
    for word in text.split(" "):
        if line and len(line) + len(word) >= _LETTERS:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line
