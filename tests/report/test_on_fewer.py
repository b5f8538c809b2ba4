"""A run beside what a study found on fewer nodes: a trade that is gone, who saves, who is full."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from report_fewer_support import BETTER, COMES_TO, FULL, ON_FOUR, plain, ran, studied
from report_memory_support import LOAD

from tracekit.report.contents import answer
from tracekit.report.data import Data
from tracekit.study import Study


def test_production_is_to_be_kept_for_what_more_nodes_cost() -> None:
    found = answer.answer(ran())
    assert plain(found)[0].startswith("Keep the placement of production, unless this trade is")
    assert "more nodes on average (2.98 to 3.04); cost of nodes in use" in found.sentence
    assert found.fewer == ""


def test_the_trade_is_gone_where_fewer_nodes_are_enough_and_nothing_is_worse_there() -> None:
    lead, also, *_, head = plain(answer.answer(ran(own=studied("lra", 4, ON_FOUR))))
    assert lead.startswith("4 of 10 nodes are enough for lra in all 6 orders of arrival")
    assert also.startswith(
        "There nothing of the table is worse than in production by enough to count, on average. On"
        " all 10: under lra highest memory use is"
    )
    assert "Keep" not in also
    assert head == "lra on 4 nodes"


@pytest.mark.parametrize(
    "worse", [{"memory_max_fraction": 0.7}, {"cost_per_hour": 13.0}, {"nodes_used_mean": 7.0}]
)
def test_the_trade_stays_where_something_is_worse_there_too(worse: dict[str, float]) -> None:
    found = answer.answer(ran(own=studied("lra", 4, {**ON_FOUR, **worse})))
    assert not any("There nothing of the table is worse" in text for text in plain(found))


def test_a_count_that_leads_says_what_is_worse_there() -> None:
    """It led without a word that a measure of its own table is worse on so few."""
    full = {**ON_FOUR, "memory_max_fraction": 0.9}
    calm = {name: (values[0], *values[1:]) for name, values in BETTER.items()}
    own = studied("lra", 4, full, observed=IDLE)
    lead, also, *_ = plain(answer.answer(idle(calm, own)))
    assert lead.startswith("4 of 10 nodes are enough")
    assert "On those 4 highest memory use (90.0 %, beside 62.0 %) is worse than in prod" in also


def test_what_is_worse_by_too_little_to_count_is_not_worse() -> None:
    """By 0.1 points of memory the trade was said to stay, though fewer nodes end it."""
    near = {**ON_FOUR, "memory_max_fraction": 0.621}
    _, also, *_ = plain(answer.answer(ran(own=studied("lra", 4, near))))
    assert also.startswith("There nothing of the table is worse")


#: What a study knows of production where no node needs relief.
KNOWN = {"memory_max_fraction": 0.62, "overloaded_node_steps": 0.0}
IDLE = {"nodes": 10, "breaks": [], "measures": KNOWN}


def idle(comes_to: Mapping[str, tuple[float, ...]], own: Study) -> Data:
    """A run whose use is recorded, so that nodes that idle are what can be saved."""
    data = ran(comes_to, own=own)
    load = {**LOAD, "quantities": {"use of containers": "recorded"}}
    data.run = {**(data.run or {}), "workload": load}
    return data


@pytest.mark.parametrize(("nodes", "leads"), [(4, True), (10, False)])
def test_fewer_nodes_lead_a_recommendation_too(nodes: int, leads: bool) -> None:
    """It is of all nodes, and stood below "4 of 10 are enough" without a word of that."""
    few = {**ON_FOUR, "nodes_used_mean": float(nodes), "cost_per_hour": 2.0 * nodes}
    lead, also, *_ = plain(answer.answer(ran(BETTER, own=studied("lra", nodes, few))))
    assert lead.startswith("4 of 10 nodes are enough" if leads else "Use lra: highest memory")
    assert also.startswith("There nothing of the table is worse") == leads
    assert ("all 10: under lra highest memory use is" in also) == leads


def test_what_a_study_answers_is_not_told_of_a_policy_on_all_nodes() -> None:
    told = plain(answer.answer(ran(own=studied("lra", 4, ON_FOUR))))
    assert not any("give nodes back" in text for text in told)


def test_what_was_followed_is_not_proposed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = answer.answer(ran()).next[-1][1]
    assert asked.endswith("--out studies/fewest")
    (tmp_path / "studies" / "fewest").mkdir(parents=True)
    assert asked not in [one for _, one in answer.answer(ran()).next]


def test_who_moves_containers_already_is_not_told_to() -> None:
    """Equal rows leave nothing to choose, so that other policies are proposed."""
    same = (0.5, 6.0, 12.0, 0.0)
    for more, proposed in (("", True), ("+load_spread", False)):
        comes_to = {f"{name}{more}": same for name in ("lra", "best_fit")}
        asked = [one for _, one in answer.answer(ran(comes_to)).next]
        assert any("--rebalance" in one for one in asked) == proposed


def test_the_table_has_a_column_of_what_the_fewer_nodes_come_to() -> None:
    found = answer.answer(ran(own=studied("lra", 4, ON_FOUR)))
    shown = {row.title: (row.before, row.fewer) for row in found.changes}
    assert shown["Highest memory use"] == ("62.0\u00a0%", "60.0\u00a0%")
    assert shown["Cost of nodes in use per hour"] == ("12.00", "9.00")
    assert shown["Overloaded node-steps"] == ("0", "0")
    assert "and on 4" in found.change


def test_the_column_is_of_the_policy_of_the_table_and_the_load_of_the_run_alone() -> None:
    for other in (studied("best_fit", 4, ON_FOUR), studied("lra", 4, ON_FOUR, scale=1.3)):
        found = answer.answer(ran(own=other))
        assert found.fewer == ""
        assert {row.fewer for row in found.changes} == {""}


def test_who_saves_nodes_beyond_chance_is_told_though_another_is_named() -> None:
    told = [text for text in plain(answer.answer(ran())) if "give nodes back" in text]
    assert len(told) == 1
    assert told[0].startswith("Who wants to give nodes back: under best_fit cost of nodes in use")
    assert "against production; it is worse by highest memory use." in told[0]


def test_who_costs_more_than_production_is_not() -> None:
    dear = {**COMES_TO, "best_fit": (0.70, 7.0, 14.0, 0.0)}
    assert not any(
        "Who wants to give nodes back" in text for text in plain(answer.answer(ran(dear)))
    )


def test_the_answer_of_an_overloaded_cluster_says_so_and_asks_for_more_nodes() -> None:
    found = answer.answer(ran(FULL))
    assert found.lead.startswith("Use lra: overloaded node-steps are")
    # nine of 10 nodes times 5 steps
    assert "Nodes are overloaded under it, too: in 18 % of their steps, up to 140.3" in found.rest
    (why, asked), *_ = found.next
    assert why == "How many nodes carry this load without overload:"
    assert "--policy lra --limit 'overloaded_node_steps <= 0'" in asked
    assert not any("--scale" in command or "can go" in text for text, command in found.next)
    assert not any("give nodes back" in text for text in plain(found))


def test_what_was_asked_of_it_leads_and_is_not_proposed_again() -> None:
    all_stay = studied("lra", 10, {**ON_FOUR, "overloaded_node_steps": 9.0})
    assert plain(answer.answer(ran(FULL, own=all_stay)))[1].startswith("No node can go under lra")
    cured = studied("lra", 10, ON_FOUR, limits=["overloaded_node_steps <= 0"], limits_given=True)
    row = cured.frames["policies"].with_columns(added_nodes=3)
    cured = dataclasses.replace(cured, frames={**cured.frames, "policies": row})
    data = ran(FULL, own=all_stay, others=(("without-overload-lra", cured),))
    found = answer.answer(data)
    assert plain(found)[1].startswith("The 10 nodes are too few for lra: 3 more nodes are enough")
    assert found.next == [] or not any("overloaded_node_steps" in one for _, one in found.next)
    told = answer.told(data)
    assert told[-1].replace("\u00a0", " ").startswith("The 10 nodes are too few for lra: 3 more")
    assert not any("Another study" in text for text in plain(found))
