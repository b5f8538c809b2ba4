"""Reports of the five kinds of cluster, and their pages as plain text."""

from __future__ import annotations

import dataclasses
import functools
from html.parser import HTMLParser

from answer_support import count_of, five_cases

from tracekit.answer.run_facts import answer_run
from tracekit.base.facts import Answer
from tracekit.report.data import Data
from tracekit.report.render import render_data

CASES = tuple(five_cases())
#: Elements whose text is not prose of a page.
APART = frozenset({"table", "figure", "pre", "script", "style", "button", "header", "footer"})
_BLOCKS = frozenset({"p", "li", "h1", "h2", "h3", "tr", "dt", "dd", "pre"})


@functools.cache
def report_of(case: str) -> tuple[Answer, str]:
    """The answer of a kind of cluster, and its report."""
    evidence = five_cases()[case]
    answer = answer_run(evidence)
    result = evidence.results
    data = Data(answer=answer, run=dict(result.manifest), run_frames={"summary": result.summary})
    return answer, render_data(data)


def widest_answer() -> Answer:
    """An answer whose table has every column, and a row for each case that a run may have."""
    usual = five_cases()["requests_below_use"]
    counts = {
        "recorded": count_of("recorded", 1_180, of=12_345, cost_per_hour=12_345.67),
        "recommended": count_of("recommended", 1_064, of=12_345, cost_per_hour=11_049.2),
        "no_more_often": count_of("no_more_often", 1_091, of=12_345, cost_per_hour=11_349.2),
    }
    return answer_run(
        dataclasses.replace(usual, counts=counts, broken=("node-1",), cost_per_hour=123_456.78)
    )


class Pages(HTMLParser):
    """The text of each page: a line for each block; without some elements."""

    def __init__(
        self, html: str, *, without: frozenset[str] = frozenset({"script", "style", "button"})
    ) -> None:
        super().__init__()
        self.pages: dict[str, list[str]] = {}
        self._without, self._page, self._apart = without, "", 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._page = (dict(attrs)["id"] or "").removeprefix("/")
            self.pages[self._page] = [""]
        if tag in self._without:
            self._apart += 1
        if self._page and tag in _BLOCKS:
            self.pages[self._page].append("")
        if self._page and tag in ("td", "th"):
            self.pages[self._page][-1] += " | "

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._page = ""
        if tag in self._without:
            self._apart -= 1

    def handle_data(self, data: str) -> None:
        if self._page and not self._apart:
            self.pages[self._page][-1] += data

    def text(self, page: str) -> str:
        """A page in lines."""
        lines = [" ".join(line.split()) for line in self.pages[page]]
        return "\n".join(line for line in lines if line) + "\n"
