"""A study, such as a comparison or the fewest nodes: what was asked, and its first frame."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.replay.answer.compared_run import UNCHANGED
from tracekit.replay.studies.vary import study as vary
from tracekit.replay.studies.vary import told as vary_told
from tracekit.replay.workload.requests.given import REQUESTS_STUDY
from tracekit.shown import Bar, Page, frames_in, table
from tracekit.sizing.requests import told as requests_told
from tracekit.study import Study

#: What a study is called, its frame to show, and the column to draw with its unit.
_KINDS: Mapping[str, tuple[str, str, str, str]] = {
    "comparison": ("Comparison of two runs", "changes", "", ""),
    "fewest_nodes": ("Fewest nodes that are enough", "policies", "nodes", "nodes"),
    REQUESTS_STUDY: ("Which requests to change", "policies", "", ""),
    vary.NAME: ("Policies under changed assumptions", "changes", "", ""),
}


def page(study: Study) -> Page:
    """The page of a study."""
    words = study.name.replace("_", " ").capitalize()
    title, name, drawn, unit = _KINDS.get(study.name, (words, "", "", ""))
    frame = study.frames.get(name, next(iter(study.frames.values())))
    if "verdict" in frame.columns:
        changed = frame.filter(~frame["verdict"].is_in(UNCHANGED))
        frame = changed if changed.height else frame
    columns, rows = table(frame)
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
    if study.name == REQUESTS_STUDY:
        return requests_told.lines(study)
    if study.name == vary.NAME:
        return vary_told.lines(study)
    return [f"{key}: {_spelled(value)}" for key, value in study.about.items() if value]


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
