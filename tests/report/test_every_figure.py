"""What every figure promises, whatever its data."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace

import polars as pl
import pytest
from report_studies_support import fewest
from report_support import made_up

from tracekit.base.facts import Answer, Fact, Scalar, answer_of
from tracekit.replay.runs.run_folder import FRAMES
from tracekit.report.blocks import COMMANDS, block, rows_of
from tracekit.report.data import Data
from tracekit.report.drawing import drawn
from tracekit.report.figures import FACTS, Figure, all_figures
from tracekit.report.plot import color
from tracekit.store.sqlfiles import all_queries

SIZES = {"few rows": (3, 3), "many rows": (3000, 5000)}
FIGURES = sorted(all_figures())
_UNIT = re.compile(r"\[[^\]]+\]$")


@functools.cache
def made_of(size: str) -> Data:
    """Rows of one of the sizes, the same for every figure."""
    return made_up(*SIZES[size])


def _columns(figure: Figure) -> set[str]:
    layers = [one for layer in figure.layers for one in (layer.x, layer.y, layer.by, layer.low)]
    return {one for one in (*layers, figure.label, figure.beside, figure.panel) if one}


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_declared_whole(name: str) -> None:
    figure = all_figures()[name]
    assert figure.question.endswith("?")
    for source in figure.reads:
        subject, _, frame = source.partition("/")
        recorded = source in all_queries() or subject in COMMANDS or source == FACTS
        assert frame in FRAMES if subject == "replay" else recorded
    for shade in (*(layer.color for layer in figure.layers), *figure.colors.values()):
        assert color(shade)


@pytest.mark.parametrize("name", FIGURES)
def test_without_data_it_says_what_is_lacking(name: str) -> None:
    shown = block(name, all_figures()[name], Data(answer=Answer(facts=(), next=())))
    assert shown.absent
    assert (shown.json, shown.csv_uri, shown.table) == ("", "", None)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FIGURES)
def test_what_is_drawn_is_what_its_rows_say(name: str, size: str) -> None:
    figure = all_figures()[name]
    frame = rows_of(figure, made_of(size))
    assert _columns(figure) <= set(frame.columns)
    wide, narrow = (drawn(figure, frame, narrow=one).to_plotly_json() for one in (False, True))
    # the page carries the marks once
    assert json.dumps(wide["data"]) == json.dumps(narrow["data"])
    marks = [one for one in wide["data"] if one["x"] != [None]]
    assert marks
    assert all(len(one["x"]) == len(one["y"]) > 0 for one in marks)
    held = {
        round(100 * float(value), 3) if figure.x.percent else round(float(value), 3)
        for column in {one.x for one in figure.layers if one.mark != "levels"}
        for value in frame[column].drop_nulls()
    }
    for mark in marks:
        for value in mark["x"]:
            assert (
                any(abs(value - one) <= 1e-3 + 1e-4 * abs(one) for one in held)
                or size != "few rows"
            )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FIGURES)
def test_axes_have_units_and_colours_are_of_the_palette(name: str, size: str) -> None:
    shown = block(name, all_figures()[name], made_of(size))
    whole = json.loads(shown.json)
    for layout in (whole["layout"], whole["narrow"]):
        axes = [value for key, value in layout.items() if re.match(r"[xy]axis\d*$", key)]
        titles = [one["title"]["text"] for one in axes if one["title"]["text"]]
        assert titles
        assert all(_UNIT.search(title) for title in titles), titles
    used = set(re.findall(r"var\(--([\w-]+)\)", shown.json))
    assert used
    assert all(color(one) for one in used)
    assert not re.search(r'"#[0-9a-f]{3,8}"', shown.json)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FIGURES)
def test_table_and_download_are_of_the_rows_that_are_drawn(name: str, size: str) -> None:
    figure = all_figures()[name]
    shown, frame = block(name, figure, made_of(size)), rows_of(figure, made_of(size))
    assert shown.table is not None
    assert len(shown.table.rows) == min(frame.height, 40)
    assert shown.csv_uri.count("%0A") == frame.height + 1
    assert frame.height <= 2500
    assert shown.sources
    assert {one.name for one in shown.sources} <= set(figure.reads)


def test_the_curve_has_the_numbers_of_the_search_and_of_the_answer() -> None:
    """Production, both counts and the bound as facts have them; the highest CPU of all orders."""
    frame = rows_of(all_figures()["nodes_curve"], made_of("few rows"))
    points = {row["mark"]: (row["nodes"], row["value"]) for row in frame.to_dicts()}
    assert points["today"] == (10, 0.5)
    assert points["recorded"] == (6, 0.78)
    assert points["recommended"] == (5, 0.75)
    assert points["bound"] == (4, 1.0)
    line = frame.filter(
        pl.col("mark") == "cpu_p99_over_time_fraction", pl.col("requests") == "requests as they are"
    )
    assert dict(line.select("nodes", "value").iter_rows()) == {10: 0.6, 8: 0.7, 6: 0.78, 5: 0.86}
    assert line.filter(~pl.col("holds"))["nodes"].to_list() == [5]
    assert frame.filter(mark="cost_per_hour").sort("nodes")["value"].to_list() == [
        5.0, 6.0, 8.0, 10.0
    ]  # fmt: skip
    assert frame.filter(mark="ceiling")["value"].to_list() == [0.8]


def test_production_above_the_ceiling_has_a_curve_too() -> None:
    """Nothing holds at the ceiling then; what was counted as in production is drawn."""
    base = fewest()
    frames = {
        "sizes_as_production": base.frames["sizes"],
        "nodes_as_production": base.frames["nodes"],
    }
    about: dict[str, Scalar] = {"case": "no_more_often", "requests": "recorded", "of": 10}
    cpu = "cpu_p99_over_time_fraction"
    answer = answer_of(
        [
            Fact(kind="nodes_needed", subject="bra", value=10, about=about),
            Fact(kind="fullest_node", measure=cpu, value=0.1, about=about),
        ]
    )
    data = Data(studies={"fewest": replace(base, frames=frames)}, answer=answer)
    frame = rows_of(all_figures()["nodes_curve"], data)
    assert frame.filter(mark=cpu).select("nodes", "value").rows() == [(10, 0.1)]
    assert frame.filter(mark="recorded").select("nodes", "value").rows() == [(10, 0.1)]
    assert block("nodes_curve", all_figures()["nodes_curve"], data).sources
