"""Results in a notebook: facts where something is concluded, else plain values, never all data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_studies_support import comparison
from store_support import tiny_store

import tracekit
from tracekit.answer.caveats import answer_of_trace
from tracekit.answer.comparison.facts import answer_of_comparison
from tracekit.base.shown import Shown
from tracekit.commands import listing as catalogue
from tracekit.report.sentences import short


@dataclass(frozen=True, kw_only=True, repr=False)
class Made(Shown):
    """A result from which nothing is concluded."""

    where: str
    frame: pl.DataFrame
    frames: dict[str, pl.DataFrame]


def test_a_result_without_facts_is_its_plain_values_and_first_rows() -> None:
    made = Made(
        where="<here>",
        frame=pl.DataFrame({"name": [f"<{at}>" for at in range(100)], "value": [0.123456] * 100}),
        frames={"a/b": pl.DataFrame({"x": [1]})},
    )
    text, html = repr(made), made._repr_html_()
    assert ".frames['a/b']" in text
    assert "shape:" not in text
    assert "<here>" not in html
    assert html.count("<tr>") == 1 + 1 + 1 + 15
    assert "<td style='text-align:right'>0.1235</td>" in html


def test_a_study_shows_its_facts() -> None:
    study = comparison()
    text, html = repr(study), study._repr_html_()
    first = [one for one in answer_of_comparison(study).facts if one.weight < 2]
    assert first
    assert all(short(one) in text for one in first)
    assert all(escape(short(one)) in html for one in first)


@pytest.mark.slow
def test_a_store_shows_what_it_holds(tmp_path: Path) -> None:
    store = tiny_store(tmp_path).path
    info = tracekit.info(store)
    facts = [one for one in answer_of_trace(info).facts if one.weight < 2]
    assert facts
    assert all(short(one) in repr(info) for one in facts)
    assert len(tracekit.check(store)._repr_html_()) < 60_000
    assert "usage_zone_summary" in tracekit.connect(store)._repr_html_()  # type: ignore[attr-defined]
    rows: Any = tracekit.connect(store).sql("FROM range(40)")
    assert rows._repr_html_().count("<tr>") == 16


@pytest.mark.parametrize("kind", catalogue.KINDS)
def test_entries_of_a_kind_show_themselves(kind: str) -> None:
    entries = tracekit.listing(kind)
    assert list(entries) == catalogue.KINDS[kind]()
    html = entries._repr_html_()  # type: ignore[attr-defined]
    assert html.count("<tr>") == len(entries) + 1
