"""Changes are counted one way, of all that were asked for, wherever a study is told."""

from __future__ import annotations

import dataclasses
import re

import polars as pl
import pytest
from report_studies_support import varied

from tracekit.answer.sensitivity.answers import (
    BARRED,
    NOTHING,
    OTHER,
    SAME,
    TRADE,
    UNTOLD,
)
from tracekit.answer.sensitivity.told import answer, headline, lines
from tracekit.replay.runs.run import OBSERVED

#: A change that could not be replayed: it stands nowhere.
FAILED = ""
#: The changes as they stand with the answer lra, and what is said of them after that.
COUNTED: list[tuple[dict[str, str], str]] = [
    (
        {"order=listed": UNTOLD, "a=1": SAME, "b=1": SAME, "c=1": NOTHING},
        (
            "It stays under 2 of 4 changes: a=1 and b=1. Nothing can be told under 1: order=listed."
            " 1 change alters nothing here: c=1."
        ),
    ),
    ({"a=1": SAME, "b=1": SAME}, "It stays under both changes: a=1 and b=1."),
    ({"a=1": SAME}, "It stays under the one change, a=1."),
    (
        {"a=1": BARRED},
        "It turns over under the one change. With a=1 lra is barred (too full).",
    ),
    (
        {"a=1": UNTOLD, "b=1": UNTOLD, "c=1": UNTOLD},
        "3 changes were tried. Nothing can be told under 3: a=1, b=1 and c=1.",
    ),
    (
        {"a=1": NOTHING, "b=1": NOTHING},
        "2 changes were tried. 2 changes alter nothing here: a=1 and b=1.",
    ),
    (
        {"a=1": BARRED, "b=1": UNTOLD, "c=1": SAME, "d=1": NOTHING, "e=1": NOTHING, "f=1": FAILED},
        (
            "It stays under 1 of 6 changes: c=1. It turns over under 1. With a=1 lra is barred (too"
            " full). Nothing can be told under 1: b=1. 2 changes alter nothing here: d=1 and e=1."
            " 1 change could not be replayed: f=1."
        ),
    ),
    (
        {**{f"{name}=1": BARRED for name in "abcd"}, "e=1": SAME},
        (
            "It stays under 1 of 5 changes: e=1. It turns over under 4."
            " With a=1 lra is barred (too full). With b=1 lra is barred (too full)."
            " With c=1 lra is barred (too full). d=1 turns it over, too."
        ),
    ),
]


@pytest.mark.parametrize(("stand", "wanted"), COUNTED)
def test_changes_are_counted_one_way_in_sentence_figure_and_table(
    stand: dict[str, str], wanted: str
) -> None:
    found = varied()
    rows = [
        {"change": change, "stands": how or None, "answer": "lra" if how == SAME else None,
         "why": "too full" if how == BARRED else None, "problem": None if how else "too small"}
        for change, how in stand.items()
    ]  # fmt: skip
    changes = pl.DataFrame(rows, schema=found.frames["changes"].schema)
    found = dataclasses.replace(found, frames={**found.frames, "changes": changes})
    said = answer(found)
    assert said == f"The answer without changes is lra. {wanted}"
    assert said in lines(found)
    # each change is counted once, whatever becomes of it
    counts = r"under (\d)[ .:]|(\d) changes? (?:alter|could)"
    if "one change" not in said and "both" not in said:
        found_counts = re.findall(counts, wanted)
        assert sum(int(one or other) for one, other in found_counts) == len(stand)
    assert headline(found).startswith("The answer without changes is lra.")


#: What stands under a change beside an answer that is kept, and what is said of it.
KEEPING = [
    (
        {"stands": OTHER, "answer": "bra", "decided_by": "cpu_max_fraction"},
        "With a=1 the answer is bra, by highest CPU use.",
    ),
    (
        {"stands": TRADE, "answer": "keep production", "why": "nobody is better"},
        "With a=1 the answer is to keep production: nobody is better.",
    ),
    (
        {"stands": BARRED, "answer": "bra", "why": "too full"},
        "With a=1 production is barred (too full); the answer is bra.",
    ),
    (
        {"stands": BARRED, "answer": "none", "why": "too full"},
        "With a=1 production is barred (too full).",
    ),
]


@pytest.mark.parametrize(("row", "wanted"), KEEPING)
def test_to_keep_production_is_a_sentence_of_its_own(row: dict[str, str], wanted: str) -> None:
    found = varied()
    rows = [{"change": "a=1", **row}, {"change": "b=1", "stands": UNTOLD}]
    changes = pl.DataFrame(rows, schema=found.frames["changes"].schema)
    about = {**found.about, "answer": [OBSERVED], "trades": ["lra"]}
    found = dataclasses.replace(found, about=about, frames={**found.frames, "changes": changes})
    begins = "The answer without changes is to keep production, unless the trade with lra is worth"
    assert answer(found) == (
        f"{begins} it. 2 changes were tried. It turns over under 1. {wanted} Nothing"
        " can be told under 1: b=1."
    )


def test_who_is_within_chance_is_said_where_it_stays() -> None:
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
        "The answer without changes is lra. It stays under 1 of 2 changes: b=1. It is not told"
        " apart from bra, as assumed or then. Nothing can be told under 1: a=1."
    )
