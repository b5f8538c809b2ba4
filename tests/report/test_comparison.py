"""The page on two runs: what changed, what is the same, and no figure where nothing changed."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from report_studies_support import comparison

from tracekit.answer.comparison.run_compare import CHANGES_SCHEMA
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


def test_what_is_too_close_to_count_did_not_change() -> None:
    study = comparison()
    changes = study.frames["changes"].with_columns(
        verdict=pl.col("verdict").replace("within chance", "alike")
    )
    frames = {**study.frames, "changes": changes}
    data = Data(studies={"comparison": dataclasses.replace(study, frames=frames)})
    lead = page.lead(data).replace("\u00a0", " ")
    assert lead.endswith("2 values of 4 changed (3 measures of 2 policies): 2 worse.")
    assert "bra, by every measure" in page.same(data)
    assert get_figure("comparison_changes").prepare(data)["policy"].unique().to_list() == ["lra"]


def test_settings_that_differ_are_one_table() -> None:
    rows = {"setting": ["arrival_span_ms"], "base": ["no such setting"], "new": ["2 h"]}
    study = comparison()
    frames = {**study.frames, "settings": pl.DataFrame(rows)}
    data = Data(studies={"comparison": dataclasses.replace(study, frames=frames)})
    assert [[cell.text for cell in row] for row in page.differing(data).rows] == [
        ["arrival_span_ms", "no such setting", "2 h"]
    ]
    assert not any("The runs differ in" in said for said in page.sentences(data))


def test_the_first_page_says_it_too(data: Data) -> None:
    said = answer(data)
    assert said.sentence == page.lead(data)
    assert said.warnings == ["Failed: imbalance_mean > base, under lra: it happened."]
    assert page.same(data) in said.told
    assert answer(_alike()).sentence.startswith("Nothing changed from main")


def _changed(**rows: tuple[float, float, str]) -> pl.DataFrame:
    """What the figure draws of changes by measure: before, after, verdict."""
    frame = pl.DataFrame(
        [
            {"policy": "p", "measure": name, "base": base, "new": new, "change": new - base,
             "change_low": None, "change_high": None, "paired": False, "orders": 1, "verdict": said}
            for name, (base, new, said) in rows.items()
        ],
        schema=CHANGES_SCHEMA,
    )  # fmt: skip
    study = comparison()
    study = dataclasses.replace(study, frames={**study.frames, "changes": frame})
    return get_figure("comparison_changes").prepare(Data(studies={"comparison": study}))


def test_one_change_does_not_press_the_others_flat_and_one_from_zero_is_drawn() -> None:
    frame = _changed(
        cpu_stranded_share=(0.001, 0.5, "worse"),
        overloaded_node_steps=(0.0, 3462.0, "worse"),
        cpu_max_fraction=(0.8, 0.6, "better"),
        memory_max_fraction=(0.5, 0.5, "same"),
        nodes_used_mean=(100.0, 150.0, "within chance"),
    )
    shares = dict(zip(frame["measure"], frame["share_of_base"], strict=True))
    assert shares == {
        "cpu_stranded_share": 1.0,
        "overloaded_node_steps": 1.0,
        "cpu_max_fraction": pytest.approx(-0.25),
        "nodes_used_mean": 0.5,
    }
    # what is judged stands first
    assert frame["measure"][-1] == "nodes_used_mean"


def test_each_row_says_its_values_in_the_unit_of_its_measure_and_points() -> None:
    frame = _changed(
        cpu_max_fraction=(0.8, 0.6, "better"), overloaded_node_steps=(0.0, 3462.0, "worse")
    )
    figure = get_figure("comparison_changes")
    for drawn, between in ((figure.draw(frame), ": "), (figure.narrow(frame), " ")):  # type: ignore[misc]
        names = " | ".join(one.text for one in drawn.layout.annotations).replace("\u00a0", " ")
        assert f"<b>p</b>{between}" in names
        assert "80.0 % \u2192 60.0 %" in names
        assert "0 \u2192 3,462" in names
        told = " | ".join(text for bar in drawn.data for text in bar.customdata)
        assert "Highest CPU use: \u221220.0 pp, better" in told.replace("\u00a0", " ")
