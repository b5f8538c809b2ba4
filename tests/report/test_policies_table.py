"""The table of all policies: what goes out as CSV says who may be chosen, in columns with words."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from report_support import made_up

from tracekit.answer.advice import NEAREST
from tracekit.report.contents import replay, words
from tracekit.report.data import Data
from tracekit.report.ranks import RISKY, UNJUDGED

VERDICTS = {"", "first choice", "not to be chosen", NEAREST, RISKY, UNJUDGED}


#: Policies, the node-steps each overloads, and how full its fullest node is.
RAN = (("a", 0, 0.5), ("b", 0, 0.7), ("c", 900, 0.4))


def _ran(rows: Sequence[tuple[str, int, float]] = RAN) -> Data:
    """One policy overloads nodes, one is best, one is worse."""
    names = [name for name, _, _ in rows]
    ran = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0,
            "overloaded_node_steps": over,
            "cpu_max_fraction": full + 0.001 * (at % 2),
            "memory_max_fraction": full,
        }
        for at in range(6)
        for name, over, full in rows
    ]
    repeats = pl.DataFrame(ran)
    policies = [{"policy": name, "name": name} for name in names]
    load = {"name": "s", "nodes": 10, "steps": 100, "containers": 9}
    run = {"policies": policies, "repeats": 6, "workload": load, "seed": 0}
    summary = repeats.filter(repeat=0).drop("repeat")
    bound = {"policy": "bound", "cpu_max_fraction": 0.3}
    summary = pl.concat([summary, pl.DataFrame([bound])], how="diagonal")
    return Data(run=run, run_frames={"summary": summary, "repeats": repeats})


def test_a_verdict_is_a_column_as_marks_are_not_in_a_file() -> None:
    data = _ran()
    shown = replay.comparison(data)
    at = [column.name for column in shown.columns].index("verdict")
    assert {len(row) for row in [*shown.rows, *shown.apart]} == {len(shown.columns)}
    verdicts = {row[0].full: set(row[at].text.split("; ")) for row in shown.rows}
    told = data.decision
    assert told is not None
    barred = {name for one in told.left_out for name in one.names}
    assert barred
    assert set().union(*verdicts.values()) <= VERDICTS
    for names, said in verdicts.items():
        first, *_ = names.split(", ")
        assert ("not to be chosen" in said) is (first in barred and first != "observed"), names
        assert bool({"first choice", NEAREST} & said) is (told.subject in names.split(", ")), names


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (RAN, "the first choice, then the others that may be chosen, best"),
        ((RAN[0], RAN[2]), "the first choice; no other may be, best"),
        ((RAN[0], ("b", 0, 0.5)), "those that may be chosen, best"),
        ((RAN[2], ("d", 800, 0.5)), "none may be chosen, best"),
    ],
)
def test_the_caption_names_those_that_may_be_chosen_only_where_there_are_some(
    rows: Sequence[tuple[str, int, float]], said: str
) -> None:
    assert replay.comparison(_ran(rows)).caption.startswith(f"Ways to place: {said} ")


def test_who_is_too_doubtful_to_be_recommended_is_none_that_the_caption_means() -> None:
    data = _ran((RAN[0], RAN[1]))
    repeats = data._run_frames["repeats"]
    once = pl.when(policy="b", repeat=2).then(60).otherwise("overloaded_node_steps")
    data._run_frames["repeats"] = repeats.with_columns(overloaded_node_steps=once)
    shown = replay.comparison(data)
    assert RISKY in {row[-1].text for row in shown.rows}
    assert "; no other may be, best" in shown.caption


def test_every_column_of_the_table_is_among_the_words() -> None:
    """cpu_stranded_share stood over a column of the file, and nowhere on the page of words."""
    data = made_up()
    glossary = words.measures(data)
    at = [column.name for column in glossary.columns].index("column")
    assert not glossary.columns[at].later
    known = {row[at].text for row in glossary.rows}
    asked = {one.name for one in replay.comparison(data).columns if one.numeric}
    assert asked
    assert asked <= known
