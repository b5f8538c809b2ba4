"""The first page of each kind of cluster: all that matters, nothing else, and no other number."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from report_answers_support import APART, CASES, Pages, report_of

from tracekit.report.sentences import headline, long, short, value

APPROVED = Path(__file__).parents[1] / "approved" / "pages"
MOST_WORDS, MOST_ROWS, MOST_COMMANDS = 120, 6, 3
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


@pytest.mark.parametrize("case", CASES)
def test_every_fact_of_rank_1_is_on_the_first_page(case: str) -> None:
    answer, html = report_of(case)
    text = Pages(html).text("answer")
    for fact in answer.facts:
        if fact.weight <= 1:
            assert short(fact) in text or f"| {value(fact)} " in text, fact


@pytest.mark.parametrize("case", CASES)
def test_it_is_short(case: str) -> None:
    answer, html = report_of(case)
    pages = Pages(html, without=APART | {"ol"})
    lines = pages.text("answer").splitlines()
    assert lines[0] == headline(answer)
    assert sum(len(line.split()) for line in lines[1:]) <= MOST_WORDS
    page = html[html.index('id="/answer"') : html.index("</section>")]
    assert page.count("<tr data-case") <= MOST_ROWS
    assert page.count('class="command"') <= MOST_COMMANDS


@pytest.mark.parametrize("case", CASES)
def test_every_number_in_prose_is_of_a_fact(case: str) -> None:
    answer, html = report_of(case)
    names = {
        number
        for fact in answer.facts
        for text in (short(fact), long(fact))
        for number in _NUMBER.findall(text)
    }
    pages = Pages(html, without=APART)
    for page in pages.pages:
        if page != "words":
            assert set(_NUMBER.findall(pages.text(page))) <= names, page


@pytest.mark.parametrize("case", CASES)
def test_the_pages_are_the_approved_ones(case: str) -> None:
    """``make approve`` writes those of today."""
    pages = Pages(report_of(case)[1])
    for page in ("answer", "nodes", "policies"):
        approved = APPROVED / f"{case}-{page}.txt"
        if os.environ.get("TRACEKIT_APPROVE"):
            approved.parent.mkdir(parents=True, exist_ok=True)
            approved.write_text(pages.text(page), encoding="utf-8")
        assert pages.text(page) == approved.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_what_is_copied_is_one_line(case: str) -> None:
    _, html = report_of(case)
    commands = re.findall(r'<div class="command"><pre[^>]*>(.*?)</pre>', html, re.DOTALL)
    assert commands
    assert all(one.startswith("tracekit ") and "\n" not in one for one in commands)
