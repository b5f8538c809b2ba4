"""The page on two runs: what changed, what is the same, and no figure where nothing changed."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from report_studies_support import comparison

from tracekit.report.contents import comparison as page
from tracekit.report.contents.answer import answer
from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.render import render_data


def _alike() -> Data:
    study = comparison()
    changes = study.frames["changes"].with_columns(
        verdict=pl.lit("same"), change=0.0, change_low=None, new=pl.col("base")
    )
    frames = {**study.frames, "changes": changes}
    return Data(studies={"comparison": dataclasses.replace(study, frames=frames)})


@pytest.fixture
def data() -> Data:
    return Data(studies={"comparison": comparison()})


def test_what_changed_and_what_is_the_same_is_said(data: Data) -> None:
    lead = page.lead(data).replace("\u00a0", " ")
    assert lead == (
        "From main to mine, 3 values of 4 changed (3 measures of 2 policies): 2 worse and"
        " 1 within chance."
    )
    assert page.same(data).lower() == "the same in both runs: qos share, under every policy."
    assert any("interval may be chance" in said for said in page.sentences(data))


def test_runs_that_are_alike_have_a_sentence_and_no_figure(data: Data) -> None:
    alike = _alike()
    lead = page.lead(alike).replace("\u00a0", " ")
    assert lead == (
        "Nothing changed from main to mine: 3 measures of 2 policies came out the same."
    )
    assert page.same(alike) == ""
    assert not any("interval" in said for said in page.sentences(alike))
    assert get_figure("comparison_changes").prepare(alike).is_empty()
    assert 'id="figure-comparison_changes"' not in render_data(alike)
    assert 'id="figure-comparison_changes"' in render_data(data)


def test_many_names_are_counted() -> None:
    assert page.some([f"p{at}" for at in range(8)]) == "p0, p1, p2, p3, p4, p5 and 2 more"


def test_the_first_page_says_it_too(data: Data) -> None:
    said = answer(data)
    assert said.sentence == page.lead(data)
    assert said.warnings == ["Failed: imbalance_mean > base, under lra."]
    assert page.same(data) in said.told
    assert answer(_alike()).sentence.startswith("Nothing changed from main")
