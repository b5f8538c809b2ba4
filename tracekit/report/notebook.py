"""Results in a notebook and at a prompt: facts as a table, the first frame, names of the others.

Results of all rooms mix in ``tracekit.base.shown.Shown``, which calls this printer.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from tracekit.base.facts import Answer
from tracekit.base.study import Study
from tracekit.report.sentences import amount, label, short

if TYPE_CHECKING:
    from tracekit.replay.runs.run import Run

#: The most rows and columns of a shown table.
ROWS, COLUMNS = 15, 10
#: The function that makes a result's answer, by the name of a study or of the result's class.
_ANSWERS = {
    "comparison": "tracekit.answer.comparison.facts:answer_of_comparison",
    "requests_to_change": "tracekit.answer.requests:answer_of_requests",
    "fewest_nodes": "tracekit.answer.nodes:answer_of_nodes",
    "assumptions": "tracekit.answer.sensitivity.study:answer_of_sensitivity",
    "Run": "tracekit.report.notebook:_answer_of_run",
    "CallGraphs": "tracekit.answer.caveats:answer_of_call_graphs",
    "Fit": "tracekit.answer.production:answer_of_fit",
    "VcpuRun": "tracekit.answer.production:answer_of_binding",
    "StoreInfo": "tracekit.answer.caveats:answer_of_trace",
    "StoreCheck": "tracekit.answer.caveats:answer_of_trace",
}
#: Facts of a higher rank are left to the frames.
_RANK = 2


def text_of(result: Any) -> str:
    """Return a result as a few lines of text: its facts, and where its frames are."""
    answer, title = conclusion_of(result), _title(result)
    facts = () if answer is None else answer.facts
    lines = [short(one) for one in facts if one.weight < _RANK] or [
        f"{name}: {_cell(value)}" for name, value in _plain(result)
    ]
    return "\n".join([title, *(f"  {line}" for line in (*lines, *_rest(result)))])


def html_of(result: Any) -> str:
    """Return a result as HTML: its facts or plain values, its first frame, and the other frames."""
    return "".join(_parts(result))


def html_of_rows(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table under its title."""
    return f"<div class='tracekit'><p><b>{escape(title)}</b></p>{_table(heads, rows)}</div>"


def html_of_frame(title: str, frame: pl.DataFrame) -> str:
    """Return the first rows and columns of a frame."""
    shown = frame[:, :COLUMNS].head(ROWS)
    return html_of_rows(title, shown.columns, shown.rows())


def _parts(result: Any) -> Iterator[str]:
    answer = conclusion_of(result)
    yield f"<div class='tracekit'><p><b>{escape(_title(result))}</b></p>"
    if answer is None:
        yield _table((), list(_plain(result)))
    else:
        facts = [one for one in answer.facts if one.weight <= _RANK and short(one)]
        yield _table(("", ""), [(label(one), short(one)) for one in facts])
    for _, frame in list(_frames(result))[:1]:
        yield _table(frame.columns[:COLUMNS], frame[:, :COLUMNS].head(ROWS).rows())
    for name, value in _plain(result):
        if str(value).endswith(".html"):
            link = escape(str(value), quote=True)
            yield f"<p>{escape(name)}: <a href='{link}' target='_blank'>{link}</a></p>"
    rest = "".join(f"<li><code>{escape(line)}</code></li>" for line in _rest(result))
    yield (
        f"<details><summary>the rest</summary><ul>{rest}</ul></details></div>" if rest else "</div>"
    )


def conclusion_of(result: Any) -> Answer | None:
    """Return the answer of a result; None for a result without one."""
    own = getattr(result, "answer", None)
    if isinstance(own, Answer):
        return own
    place = _ANSWERS.get(result.name if isinstance(result, Study) else type(result).__name__)
    if place is None or (isinstance(result, Mapping) and "tables" not in result):
        return None
    module, _, name = place.partition(":")
    made: Callable[[Any], Answer] = getattr(importlib.import_module(module), name)
    return made(result)


def _answer_of_run(run: Run) -> Answer:
    """The answer of replays alone."""
    from tracekit.answer.decide import choose  # noqa: PLC0415 - slow to import
    from tracekit.answer.run_facts import answer_replays  # noqa: PLC0415 - as above
    from tracekit.replay.runs.results import results  # noqa: PLC0415 - as above

    replays = results(run)
    return answer_replays(replays, choose(replays))


def _title(result: Any) -> str:
    name = result.name if isinstance(result, Study) else type(result).__name__
    return str(name).replace("_", " ")


def _fields(result: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(result, Mapping):
        yield from result.items()
    elif dataclasses.is_dataclass(result):
        yield from ((one.name, getattr(result, one.name)) for one in dataclasses.fields(result))


def _plain(result: Any) -> Iterator[tuple[str, object]]:
    """Texts, numbers and paths of a result."""
    for name, value in _fields(result):
        if isinstance(value, str | int | float) or hasattr(value, "__fspath__"):
            yield name, str(value) if hasattr(value, "__fspath__") else value


def _frames(result: Any) -> Iterator[tuple[str, pl.DataFrame]]:
    """The frames of a result, each with its place in the result."""
    for name, value in _fields(result):
        if isinstance(value, pl.DataFrame):
            yield f".{name}", value
        elif isinstance(value, Mapping):
            for key, one in value.items():
                if isinstance(one, pl.DataFrame):
                    yield f".{name}[{key!r}]", one


def _rest(result: Any) -> list[str]:
    return [f"{name}: {amount(frame.height, 'rows')} rows" for name, frame in _frames(result)]


def _cell(value: object) -> str:
    plain = value is None or isinstance(value, str | int | float)
    return (amount(value, "") if plain else str(value)) or "-"  # type: ignore[arg-type]


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(value: object) -> str:
    number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    side = "right" if number else "left"
    return f"<td style='text-align:{side}'>{escape(_cell(value))}</td>"
