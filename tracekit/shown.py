"""Results as a notebook and a prompt show them: what it is, a table, a figure, where the rest is.

A result class mixes in ``Shown``; what is shown of it is written in ``tracekit/displays``.
"""

import dataclasses
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, ClassVar

from tracekit.words import counted

#: Rows of a table that are shown.
ROWS = 15
#: Columns of a table that are shown.
COLUMNS = 10
#: Texts of a result that are sentences for a reader.
_SENTENCES = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bar:
    """One value of a figure, with its interval where it has one; ``strong`` stands out."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    strong: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """The page that shows a result.

    Parameters
    ----------
    title : str
        What it is, a line.
    lines : sequence of str
        Sentences below it.
    columns, rows : sequences
        A table.
    axis : str
        What ``bars`` measure, with the unit.
    rest : sequence of str
        Where what is not shown is found.
    link : str
        A page to open.
    """

    title: str
    lines: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    bars: Sequence[Bar] = ()
    axis: str = ""
    rest: Sequence[str] = ()
    link: str = ""


class Shown:
    """Mixed into a dataclass (``repr=False``): it shows itself in a notebook and at a prompt.

    What is shown says ``tracekit/displays/<name>.py``, the name being ``display`` or that of the
    class; without such a file it is the first frame, and the names of the others.
    """

    display: ClassVar[str] = ""

    def shown(self) -> Page:
        """What is shown."""
        name = self.display or _words(type(self).__name__).lower().replace(" ", "_")
        try:
            module = importlib.import_module(f"tracekit.displays.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"tracekit.displays.{name}":
                raise
            return page_of(self)
        page: Page = module.page(self)
        return page

    def __repr__(self) -> str:
        """Its title, its sentences, and where the rest is; never its data."""
        page = self.shown()
        return "\n".join([page.title, *(f"  {line}" for line in (*page.lines, *page.rest))])

    def _repr_html_(self) -> str:
        """The same for a notebook, with the table and the figure."""
        return "".join(_html(self.shown()))


class ViewsShown(Shown):
    """Shows a connection to a store: the names that SQL may use."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def shown(self) -> Page:
        """Every table and query, by name."""
        return Page(
            title=f"DuckDB: {counted(len(self._names), 'table')} and queries",
            lines=[", ".join(self._names)],
            rest=[
                f'.sql("FROM {name}"): as .pl(), .df() or .to_arrow_table()'
                for name in self._names[:1]
            ],
        )


class EntriesShown(Shown, list[Mapping[str, Any]]):
    """The entries of a kind, as a list that shows itself."""

    def __init__(self, kind: str, entries: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(entries)
        self._kind = kind

    def shown(self) -> Page:
        """Name and title of every entry."""
        return Page(
            title=f"{len(self):,} {self._kind.replace('_', ' ')}",
            columns=["name", "what it is"],
            rows=[(str(one["name"]), str(one.get("title", ""))) for one in self],
            rest=["each is a mapping: what it takes, what it gives, where it is from"],
        )


class RowsShown(Shown):
    """Shows the first rows of a relation of DuckDB."""

    def __init__(self, frame: Any, *, more: bool) -> None:
        self._frame, self._more = frame, more

    def shown(self) -> Page:
        """The first rows and columns, and how to have all."""
        columns, rows = table(self._frame)
        first = "the first " if self._more else ""
        return Page(
            title=f"{first}{counted(len(rows), 'row')} of {len(self._frame.columns):,} columns",
            columns=columns,
            rows=rows,
            rest=[".pl(), .df() or .to_arrow_table(): all of them"],
        )


def page_of(result: Any, *, title: str = "") -> Page:
    """A page of any dataclass: its frames, and its texts and numbers."""
    frames = dict(_frames(result))
    plain = {
        name: value
        for name, value in _fields(result)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    }
    first = next(iter(frames.values()), None)
    columns, rows = ([], []) if first is None else table(first)
    return Page(
        title=title or _words(type(result).__name__),
        lines=[f"{name.replace('_', ' ')}: {cell_text(value)}" for name, value in plain.items()],
        columns=columns,
        rows=rows,
        rest=[_about(name, frame) for name, frame in frames.items()],
    )


def table(frame: Any, columns: Sequence[str] = ()) -> tuple[list[str], list[Sequence[object]]]:
    """The first rows and columns of a polars frame."""
    names = [name for name in columns or frame.columns if name in frame.columns][:COLUMNS]
    rows = frame.select(names).head(ROWS).rows()
    return [_head(name) for name in names], [
        [_percent(name, value) for name, value in zip(names, row, strict=True)] for row in rows
    ]


def _head(name: str) -> str:
    """A column's name over percentages: its ending speaks of a fraction."""
    return f"{name.removesuffix('_fraction')} %" if name.endswith("_fraction") else name


def _percent(name: str, value: Any) -> object:
    """A value; a fraction in percent, as its head says."""
    return 100 * value if name.endswith("_fraction") and isinstance(value, float) else value


def frames_in(name: str, frames: Mapping[str, Any]) -> list[str]:
    """The place of each frame of a mapping."""
    return [_about(f"{name}[{key!r}]", frame) for key, frame in frames.items()]


def _fields(result: Any) -> Iterator[tuple[str, Any]]:
    return ((one.name, getattr(result, one.name)) for one in dataclasses.fields(result))


def _frames(result: Any) -> Iterator[tuple[str, Any]]:
    for name, value in _fields(result):
        if _is_frame(value):
            yield f".{name}", value
        elif isinstance(value, Mapping):
            yield from ((f".{name}[{k!r}]", one) for k, one in value.items() if _is_frame(one))


def _is_frame(value: object) -> bool:
    return hasattr(value, "to_dicts") and hasattr(value, "schema")


def _about(name: str, frame: Any) -> str:
    return f"{name}: {counted(frame.height, 'row')} of {', '.join(_some(frame.columns))}"


def _some(names: Sequence[str]) -> list[str]:
    return [*names[:_SENTENCES], *(["..."] if len(names) > _SENTENCES else [])]


def _words(name: str) -> str:
    """A class's name as words: ``SynthSummary`` is ``Synth summary``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def cell_text(value: object) -> str:
    """A value as people read it: four digits, thousands apart."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.4g}" if abs(value) < 9_999.5 else f"{value:,.0f}"


def _html(page: Page) -> Iterator[str]:
    yield f"<div class='tracekit'><p><b>{escape(page.title)}</b></p>"
    if page.lines:
        yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in page.lines)}</ul>"
    if page.bars:
        yield _svg(page.bars, page.axis)
    if page.columns and page.rows:
        yield "<table><thead><tr>"
        yield "".join(f"<th>{escape(name)}</th>" for name in page.columns)
        yield "</tr></thead><tbody>"
        for row in page.rows:
            yield f"<tr>{''.join(_html_cell(value) for value in row)}</tr>"
        yield "</tbody></table>"
    if page.link:
        link = escape(page.link, quote=True)
        yield f"<p><a href='{link}' target='_blank'>{escape(page.link)}</a></p>"
    if page.rest:
        items = "".join(f"<li><code>{escape(line)}</code></li>" for line in page.rest)
        yield f"<details><summary>the rest</summary><ul>{items}</ul></details>"
    yield "</div>"


def _html_cell(value: object) -> str:
    number = isinstance(value, int | float) or value is None
    side = "right" if number else "left"
    return f"<td style='text-align:{side}'>{escape(cell_text(value))}</td>"


#: Sizes of the figure, in pixels.
_NAME, _LENGTH, _ROW = 230, 330, 20


def _svg(bars: Sequence[Bar], axis: str) -> str:
    """Bars from 0, each with its interval as a line; names left, values right."""
    most = max(max(bar.high or 0.0, bar.value) for bar in bars) or 1.0
    height = _ROW * len(bars) + 24
    head = (
        f"<svg width='{_NAME + _LENGTH + 90}' height='{height}' role='img'"
        f" aria-label='{escape(axis, quote=True)}' font-family='sans-serif' font-size='12'"
        " fill='currentColor'>"
    )
    parts = [head]
    for at, bar in enumerate(bars):
        parts += _svg_bar(bar, _ROW * at, _LENGTH / most)
    parts.append(f"<text x='{_NAME}' y='{height - 6}'>{escape(axis)}</text></svg>")
    return "".join(parts)


def _svg_bar(bar: Bar, top: int, scale: float) -> Iterator[str]:
    middle, color = top + 10, "#1f77b4" if bar.strong else "#9aa5b1"
    name = bar.name if len(bar.name) < 36 else f"{bar.name[:33]}..."
    yield (
        f"<text x='{_NAME - 6}' y='{middle + 4}' text-anchor='end'>"
        f"<title>{escape(bar.name)}</title>{escape(name)}</text>"
    )
    yield (
        f"<rect x='{_NAME}' y='{top + 3}' width='{bar.value * scale:.1f}' height='14'"
        f" fill='{color}'/>"
    )
    end = max(bar.high or 0.0, bar.value) * scale
    if bar.low is not None and bar.high is not None:
        yield (
            f"<line x1='{_NAME + bar.low * scale:.1f}' x2='{_NAME + bar.high * scale:.1f}'"
            f" y1='{middle}' y2='{middle}' stroke='currentColor' stroke-width='2'/>"
        )
    yield f"<text x='{_NAME + end + 5:.1f}' y='{middle + 4}'>{cell_text(bar.value)}</text>"
