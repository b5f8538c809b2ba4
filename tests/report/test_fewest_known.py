"""A study of another policy that found fewer nodes leads, beside the run's own answer."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest
from report_memory_support import LOAD, memory_decides
from report_studies_support import fewest

from tracekit.report import fewest_known as known
from tracekit.report.contents import answer, fewest_others
from tracekit.report.contents.fewest import answer as of_page
from tracekit.report.contents.fewest import policies, removed
from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.study import Study


def study_of(policy: str, nodes: int, **about: Any) -> Study:
    """A study of one policy, of 10 nodes, in six orders of arrival."""
    made = fewest()
    row = made.frames["policies"].head(1)
    row = row.with_columns(
        policy=pl.lit(policy), nodes=nodes, nodes_low=nodes, nodes_high=nodes, bound=3
    )
    nodes_ = made.frames["nodes"].with_columns(policy=pl.lit(policy), kept=pl.col("place") <= nodes)
    orders = pl.DataFrame({"policy": policy, "repeat": range(6), "nodes": nodes})
    given = {"policies": [policy], "scale": 1, "repeats": 6, "workload": LOAD, **about}
    return dataclasses.replace(
        made,
        about={**made.about, **given},
        frames={"policies": row, "nodes": nodes_, "orders": orders},
    )


def ran(*others: Study) -> Data:
    """A run with a study of its own, under which all ten nodes stay, and others beside."""
    beside = [(f"fewest-{at}", one) for at, one in enumerate(others)]
    return memory_decides({"fewest_nodes": study_of("lra", 10, subject="lra")}, beside)


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_first_page_leads_with_fewer_nodes_of_another_policy() -> None:
    said = _plain(answer.answer(ran(study_of("bra", 7))).also)
    assert said.startswith("7 of 10 nodes are enough for bra in all 6 orders of arrival: 3 can go.")
    assert "bra may be chosen, too: by highest memory use it is within chance of lra (" in said
    assert said.endswith("All 10 nodes stay, as no fewer were found to be enough for lra.")
    told = [_plain(one) for one in answer.answer(ran(study_of("bra", 7))).told]
    assert not any("Another study" in one for one in told)
    assert any(one.startswith("On the number of nodes for lra: All 10 nodes stay") for one in told)


def test_so_does_its_own_page() -> None:
    data = ran(study_of("bra", 7))
    found = of_page(data)
    assert _plain(found.lead).startswith("7 of 10 nodes are enough for bra")
    assert "For lra: All 10" in _plain(found.sentence)
    said = " ".join(map(_plain, found.told))
    assert "Whether another policy gets by with fewer than 7 is open." in said
    assert [row[0].text for row in policies(data).rows] == ["bra", "lra"]
    assert len(removed(data).rows) == 3
    figure = get_figure("fewest_nodes")
    drawn = figure.prepare(data)
    assert drawn["policy"].to_list() == ["bra", "lra"]
    assert figure.takeaway(drawn).startswith("7 of 10")
    assert fewest_others.unasked(data) == ["cwt", "random"]


def test_who_needs_further_nodes_does_not_lead_where_the_own_answer_needs_none() -> None:
    """Seven with one that is to be bought stand behind ten that are there."""
    made = study_of("bra", 7)
    row = made.frames["policies"].with_columns(added_nodes=1)
    data = ran(dataclasses.replace(made, frames={**made.frames, "policies": row}))
    assert known.ahead(data) is None
    assert known.rows(data)["policy"].to_list() == ["lra", "bra"]


def test_who_may_not_be_chosen_does_not_lead_and_is_not_left_open() -> None:
    data = ran(study_of("random", 6))
    assert known.ahead(data) is None
    said = " ".join(map(_plain, of_page(data).told))
    assert "random gets by with 6. Whether one needs fewer than 6 is open." in said


@pytest.mark.parametrize(
    "about",
    [
        {"scale": 1.3},
        {"least": "cost"},
        {"limits": ["cpu_max_fraction <= 0.9"]},
        {"repeats": 1},
        {"workload": {**LOAD, "assumptions": {"start": "observed"}}},
    ],
)
def test_a_study_that_asks_something_else_does_not_lead(about: dict[str, Any]) -> None:
    data = ran(study_of("bra", 7, **about))
    assert known.ahead(data) is None
    assert _plain(answer.answer(data).also).startswith("All 10 nodes stay")


def test_one_that_is_worse_by_what_decides_is_said_to_be() -> None:
    said = _plain(answer.answer(ran(study_of("cwt", 7))).also)
    assert "cwt may be chosen, too, though it is worse than lra by highest memory use (+21" in said


def test_as_many_nodes_do_not_lead() -> None:
    assert known.ahead(ran(study_of("bra", 10))) is None


def test_what_was_asked_already_is_not_proposed_again() -> None:
    """More load: the first page asks it at the usual limits, the page as the study did."""
    usual, given = (study_of("lra", 10, scale=1.3, limits_given=one) for one in (False, True))
    for page, there in ((answer.answer, usual), (of_page, given)):
        assert any("--scale 1.3" in command for _, command in page(ran()).next)
        assert not any("--scale 1.3" in command for _, command in page(ran(there)).next)
    other = ran(study_of("bra", 10, scale=1.3, limits_given=False))
    assert any("--scale 1.3" in command for _, command in answer.answer(other).next)
