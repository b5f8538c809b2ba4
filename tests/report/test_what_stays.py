"""Runs in which containers stay where they ran: what is said of them, and what is asked next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_fewer_support import BETTER, FULL, ON_FOUR, plain, ran, studied
from report_memory_support import LOAD

from tracekit.report.contents import answer, fewest_others
from tracekit.report.data import of_the_answer
from tracekit.verbs.replay import replay


def stuck(share: float | None, start: str = "observed", **facts: int) -> dict[str, Any]:
    movable = {} if share is None else {"cpu": share, "memory": 0.1}
    return {**LOAD, "assumptions": {"start": start}, "movable": movable, "facts": facts}


@pytest.mark.parametrize(
    ("share", "start", "anew"),
    [(0.1, "observed", True), (0.9, "observed", False), (0.1, "empty", False)],
)
def test_who_cannot_move_load_is_not_asked_for_more_nodes(
    share: float, start: str, anew: bool
) -> None:
    """The search for more nodes failed, wrote no study, and was proposed for ever."""
    data = ran(FULL)
    data.run = {**(data.run or {}), "workload": stuck(share, start)}
    (why, asked), *_ = answer.answer(data).next
    assert ("when all containers are placed anew" in why) == anew
    assert ("tracekit replay" in asked) == anew
    assert ("start=observed" in asked) == (start == "observed" and not anew)


@pytest.mark.parametrize(
    ("pinned", "said"),
    [
        (0, "placed 40 containers anew on 10 nodes, beside where production ran them."),
        (1, "placed 39 of 40 containers anew on 10 nodes, beside where production ran them; 1 st"),
        (40, "placed 0 of 40 containers anew on 10 nodes, beside where production ran them; 40 "),
    ],
)
def test_who_stays_was_not_placed_anew(pinned: int, said: str) -> None:
    data = ran(BETTER)
    data.run = {**(data.run or {}), "workload": stuck(0.5, containers_pinned=pinned)}
    assert said in answer.answer(data).asked.replace("\u00a0", " ")


@pytest.mark.parametrize("more", [{"lost": [{"node": "n1", "after_ms": 1, "drawn": False}]}, {}])
def test_who_is_taken_off_a_node_does_not_stay(more: dict[str, Any]) -> None:
    """Their node was lost, and the first page said that all of them stay where they ran."""
    data = ran(BETTER)
    data.run = {**(data.run or {}), "workload": {**stuck(0.5, containers_pinned=40), **more}}
    said = "40 begin where they ran, until they are taken off their nodes and placed anew"
    assert (said in answer.answer(data).asked) == bool(more)


def test_what_a_followed_replay_came_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It vanished from the proposals, and no page said what came of it."""
    monkeypatch.chdir(tmp_path)
    same = (0.5, 6.0, 12.0, 0.0)
    data = ran({"lra": same, "best_fit": same})
    command = next(one for _, one in answer.answer(data).next if "--rebalance" in one)
    assert not any("was followed" in one for one in plain(answer.answer(data)))
    folder = command.rpartition(" ")[2]
    replay(None, ["best_fit"], workload="paper000[containers=9,nodes=3]", out=Path(folder))
    (said,) = (one for one in plain(answer.answer(data)) if "was followed" in one)
    assert said.startswith('"Replay policies that move containers later, too" was followed')
    assert f"(tracekit report {folder} has all of it): " in said
    assert command not in [one for _, one in answer.answer(data).next]


def test_the_study_of_the_recommended_policy_leads_whatever_its_folder_is_called() -> None:
    """A proposed study of another policy, first by its name, took the place of the answer."""
    limit = ["overloaded_node_steps <= 0"]
    other = studied("best_fit", 10, {**ON_FOUR, "overloaded_node_steps": 29.0})
    ours = studied("lra", 4, ON_FOUR, limits=limit, limits_given=True)
    data = ran(FULL, own=other, others=(("without-overload-lra", ours),))
    of_the_answer(data)
    assert data.studies[ours.name] is ours
    assert plain(answer.answer(data))[0].startswith("4 of 10 nodes are enough for lra")


def test_a_proposed_study_of_another_policy_keeps_the_limits() -> None:
    limit = ["overloaded_node_steps <= 0"]
    data = ran(FULL, own=studied("lra", 10, ON_FOUR, limits=limit, limits_given=True))
    command = fewest_others.command(data)
    assert "--limit 'overloaded_node_steps <= 0'" in command
    assert command.endswith("--out studies/without-overload-best_fit")
    plain_ = ran(FULL, own=studied("lra", 10, ON_FOUR))
    assert "--limit" not in fewest_others.command(plain_)
