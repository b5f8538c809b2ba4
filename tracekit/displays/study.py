"""A study, such as a comparison or the fewest nodes: its answer, and its table as printed."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.answer.comparison.facts import answer_of_comparison
from tracekit.answer.comparison.run_compare import NAME as COMPARISON
from tracekit.answer.fewest.study import NAME as FEWEST_STUDY
from tracekit.answer.fewest.words import rows as fewest_rows
from tracekit.answer.fewest.words import told as fewest_told
from tracekit.answer.requests import answer_of_requests
from tracekit.answer.sensitivity import rows as vary_rows
from tracekit.answer.sensitivity import study as vary
from tracekit.answer.sensitivity import told as vary_told
from tracekit.replay.workload.requests.given import REQUESTS_STUDY
from tracekit.report.comparison import HEADS, cells
from tracekit.report.sentences import long
from tracekit.shown import ROWS, Bar, Page, frames_in, table
from tracekit.study import Study

#: What a study is called, its frame to show, and the column to draw with its unit.
_KINDS: Mapping[str, tuple[str, str, str, str]] = {
    COMPARISON: ("Comparison of two runs", "changes", "", ""),
    FEWEST_STUDY: ("Fewest nodes that are enough", "policies", "nodes", "nodes"),
    REQUESTS_STUDY: ("Which requests to change", "policies", "", ""),
    vary.NAME: ("Policies under changed assumptions", "changes", "", ""),
}


def page(study: Study) -> Page:
    """The page of a study."""
    words = study.name.replace("_", " ").capitalize()
    title, name, drawn, unit = _KINDS.get(study.name, (words, "", "", ""))
    frame = study.frames.get(name, next(iter(study.frames.values())))
    columns, rows = _table(study, frame)
    return Page(
        title=title,
        lines=_lines(study),
        columns=columns,
        rows=rows,
        bars=_bars(frame, drawn) if drawn else (),
        axis=unit,
        rest=frames_in(".frames", study.frames),
    )


def _lines(study: Study) -> list[str]:
    """The answer first, as on the terminal; of a study that says none what was asked."""
    said = {
        REQUESTS_STUDY: lambda study: [long(one) for one in answer_of_requests(study).facts],
        vary.NAME: lambda study: [*vary_told.lines(study), f"{vary_rows.NOTE}."],
        FEWEST_STUDY: _of_fewest,
        COMPARISON: _of_comparison,
    }.get(study.name)
    if said is not None:
        return said(study)
    return [f"{key}: {_spelled(value)}" for key, value in study.about.items() if value]


def _table(study: Study, frame: pl.DataFrame) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Heads and rows as on the terminal; of a study that prints none the first of a frame."""
    if study.name == vary.NAME:
        return vary_rows.HEADS, vary_rows.rows(study)[:ROWS]
    if study.name == FEWEST_STUDY:
        return fewest_rows.heads(study), fewest_rows.rows(study)[:ROWS]
    if study.name == COMPARISON:
        changed = [f for f in answer_of_comparison(study).of("run_changed") if f.verdict != "same"]
        return HEADS, [cells(one) for one in changed[:ROWS]]
    return table(frame)


def _of_fewest(study: Study) -> list[str]:
    """The answer of a study of the fewest nodes, who has none and why, and what the table means."""
    problems = (f"{said}." for said in fewest_rows.problems(study))
    stands_in = filter(None, [study.about["workload"].get("stands_in")])
    return [*stands_in, fewest_told.short(study), *problems, f"{fewest_rows.note(study)}."]


def _of_comparison(study: Study) -> list[str]:
    """How much changed, what has to be known of it, and what happened that must not."""
    return [long(one) for one in answer_of_comparison(study).facts if one.weight < 2]


def _bars(frame: Any, column: str) -> list[Bar]:
    known = frame.filter(frame[column].is_not_null())
    return [
        Bar(name=name, value=float(value), strong=at == 0)
        for at, (name, value) in enumerate(known.select("policy", column).sort(column).rows())
    ]


def _spelled(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
