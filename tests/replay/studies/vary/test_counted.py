"""Changes are counted one way, of those that alter the workload, wherever a study is told."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from report_studies_support import varied

from tracekit.replay.studies.vary.answers import BARRED, NOTHING, SAME, UNTOLD
from tracekit.replay.studies.vary.told import answer, lines
from tracekit.report.contents import vary
from tracekit.report.data import Data
from tracekit.report.figures.assumption_ranks import FIGURE

#: The changes as they stand with the answer lra, and what is said of them.
COUNTED: list[tuple[dict[str, str], str]] = [
    (
        {"order=listed": UNTOLD, "a=1": SAME, "b=1": SAME, "c=1": NOTHING},
        (
            "lra stays the answer under 2 of 3 changes. With order=listed no policy can be told"
            " better. 1 other change alters nothing here."
        ),
    ),
    ({"a=1": SAME, "b=1": SAME}, "lra stays the answer under both changes."),
    ({"a=1": SAME}, "lra stays the answer under the one change."),
    (
        {"a=1": UNTOLD, "b=1": UNTOLD, "c=1": UNTOLD},
        (
            "lra stays the answer under none of 3 changes. With a=1, b=1 and c=1 no"
            " policy can be told"
            " better."
        ),
    ),
    (
        {"a=1": BARRED, "b=1": UNTOLD, "c=1": SAME, "d=1": NOTHING, "e=1": NOTHING},
        (
            "The answer hangs on a: lra stays the answer under 1 of 3 changes; with a=1"
            " lra is barred"
            " (too full). With b=1 no policy can be told better. 2 other changes alter"
            " nothing here."
        ),
    ),
]


@pytest.mark.parametrize(("stand", "wanted"), COUNTED)
def test_changes_are_counted_one_way_in_sentence_figure_and_table(
    stand: dict[str, str], wanted: str
) -> None:
    found = varied()
    rows = [
        {"change": change, "stands": how, "answer": "lra" if how == SAME else None,
         "why": "too full" if how == BARRED else None}
        for change, how in stand.items()
    ]  # fmt: skip
    changes = pl.DataFrame(rows, schema=found.frames["changes"].schema)
    found = dataclasses.replace(found, frames={**found.frames, "changes": changes})
    assert answer(found) == wanted
    assert answer(found) in lines(found)
    data = Data(studies={found.name: found})
    title = FIGURE.takeaway(FIGURE.prepare(data))
    counted = wanted.partition("answer under ")[2].partition(" change")[0]
    assert f"lra stays the answer under {counted} change" in title
    same = sum(how == NOTHING for how in stand.values())
    caption = vary.changes(data).caption
    assert (f": {len(stand) - same} alter the workload, {same} not" in caption) == bool(same)


def test_who_is_within_chance_is_said_after_the_lost_answer() -> None:
    found = varied()
    rows = {"change": ["a=1", "b=1"], "stands": [UNTOLD, SAME], "answer": ["none", "lra, bra"]}
    changes = pl.DataFrame(rows).with_columns(
        pl.lit(None, found.frames["changes"].schema[name]).alias(name)
        for name in found.frames["changes"].columns
        if name not in rows
    )
    about = {**found.about, "answer": ["lra", "bra"]}
    found = dataclasses.replace(found, about=about, frames={**found.frames, "changes": changes})
    assert answer(found) == (
        "lra stays the answer under 1 of 2 changes. With a=1 no policy can be told better. It is"
        " not told apart from bra, as assumed or then."
    )
