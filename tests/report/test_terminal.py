"""What ends a run on a terminal: the verdict, what matters, what to do next; as approved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from answer_support import five_cases

from tracekit.answer.run_facts import answer_run
from tracekit.report.sentences import command, headline, short
from tracekit.report.terminal import COMMANDS, LINES, answer_lines, following, summary

APPROVED = Path(__file__).parents[1] / "approved" / "terminal"
CASES = tuple(five_cases())


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(line.removeprefix("- ").split()) for line in lines)


@pytest.mark.parametrize("case", CASES)
def test_every_fact_of_rank_1_is_in_the_summary(case: str) -> None:
    answer = answer_run(five_cases()[case])
    printed = _joined(summary(answer, rank=1))
    assert printed.startswith(headline(answer))
    counted = answer.facts[0].about.get("case")
    for fact in answer.facts:
        if fact.weight <= 1 and not (
            fact.kind == "nodes_needed" and fact.about.get("case") == counted
        ):
            assert short(fact) in printed, fact


@pytest.mark.parametrize("case", CASES)
def test_it_is_short_and_fits(case: str) -> None:
    answer = answer_run(five_cases()[case])
    lines = summary(answer, rank=1)
    assert len(lines) <= LINES
    assert all(len(line) <= 80 for line in lines)
    steps = list(following(answer.next))
    pasted = "\n".join(steps).replace(" \\\n", " ")
    wanted = [" ".join(command(one).split()) for one in answer.next[:COMMANDS]]
    assert all(one in " ".join(pasted.split()) for one in wanted)


@pytest.mark.parametrize("case", CASES)
def test_the_summaries_are_the_approved_ones(case: str) -> None:
    """``make approve`` writes those of today."""
    printed = "\n".join(answer_lines(answer_run(five_cases()[case]))) + "\n"
    approved = APPROVED / f"{case}.txt"
    if os.environ.get("TRACEKIT_APPROVE"):
        approved.parent.mkdir(parents=True, exist_ok=True)
        approved.write_text(printed, encoding="utf-8")
    assert printed == approved.read_text(encoding="utf-8")
