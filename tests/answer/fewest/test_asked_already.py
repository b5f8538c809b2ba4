"""What studies that are there have asked is told by what they ask, not by their folders."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from report_studies_support import fewest, varied

from tracekit.answer.fewest.asked_already import AskedAlready
from tracekit.answer.sensitivity.told import following
from tracekit.study import Study

ABOUT = {
    "policies": ["lra", "bra"],
    "workload": {"assumptions": {"start": "empty"}},
    "scale": 1,
    "least": "nodes",
    "limits": ["overloaded_node_steps <= 0"],
    "limits_given": False,
    "repeats": 6,
}


def study_of(**about: Any) -> Study:
    made = fewest()
    return dataclasses.replace(made, about={**made.about, **ABOUT, **about})


@pytest.mark.parametrize(
    ("theirs", "policy", "asked", "already"),
    [
        ({}, "lra", {}, True),
        ({}, "cwt", {}, False),
        ({}, "lra", {"scale": 1.3}, False),
        ({"scale": 1.3, "limits": ["overloaded_node_steps <= 4"]}, "lra", {"scale": 1.3}, True),
        ({"least": "cost"}, "lra", {"least": "cost"}, True),
        ({"least": "cost"}, "lra", {}, False),
        ({"limits_given": True}, "lra", {}, False),
        ({"repeats": 1}, "lra", {}, False),
        ({"repeats": 1, "repeats_none": "all orders are the recorded one"}, "lra", {}, True),
        ({"workload": {"assumptions": {"start": "observed"}}}, "lra", {}, False),
    ],
)
def test_a_study_has_asked_what_it_is_about(
    theirs: dict[str, Any], policy: str, asked: dict[str, Any], already: bool
) -> None:
    there = AskedAlready([study_of(**theirs)])
    assert there.shrunk(policy, ABOUT, **asked) == already
    assert not AskedAlready().shrunk(policy, ABOUT, **asked)
    assert not there.varied(policy, ABOUT)


def test_a_study_of_assumptions_does_not_propose_a_count_that_is_there() -> None:
    made = varied()
    changes = made.frames["changes"].filter(stands="same")
    about = {**made.about, "workload": ABOUT["workload"]}
    stays = Study(name=made.name, about=about, frames={**made.frames, "changes": changes})
    ((_, command),) = following(stays)
    assert " nodes " in command
    assert following(stays, there=AskedAlready([study_of(scale=1.3)])) == [*following(stays)]
    assert following(stays, there=AskedAlready([stays, study_of()])) == []
    assert AskedAlready([stays]).varied("lra", ABOUT)
