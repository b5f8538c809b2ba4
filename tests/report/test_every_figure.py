"""What every figure promises, whatever its data."""

from __future__ import annotations

import functools
import json
import re

import pytest
from report_support import made_up

from tracekit.replay.runs.run_folder import FRAMES
from tracekit.report.blocks import COMMANDS, block
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import MOST_LINE_POINTS
from tracekit.report.figures import all_figures
from tracekit.sqlfiles import all_queries

SIZES = {"one row": (1, 1, 1), "some rows": (40, 50, 50), "many rows": (3000, 5000, 5000)}
FIGURES = sorted(all_figures())
#: Figures of counted nodes, whose rows are no samples of them.
COUNTED = {
    "util_diff",
    "fewest_nodes",
    "node_distribution",
    "replay_tradeoff",
    "requested_capacity",
    "waiting_tradeoff",
}
_UNIT = re.compile(r"\[[^\]]+\]$")


@functools.cache
def made_of(size: str) -> Data:
    """Rows of one of the sizes, the same for every figure."""
    return made_up(*SIZES[size])


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_documented(name: str) -> None:
    figure = all_figures()[name]
    assert figure.question.endswith("?")
    for sentence in (figure.how_to_read, figure.absent):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
    for source in figure.reads:
        subject, _, frame = source.partition("/")
        assert (
            frame in FRAMES
            if subject == "replay"
            else source in all_queries() or subject in COMMANDS
        )


@pytest.mark.parametrize("name", FIGURES)
def test_without_data_a_sentence_stands_in_its_place(name: str) -> None:
    figure = all_figures()[name]
    shown = block(name, figure, Data())
    assert shown.takeaway == figure.absent
    assert (shown.json, shown.csv_uri, shown.table) == ("", "", None)


@pytest.mark.parametrize("name", FIGURES)
def test_an_empty_frame_can_still_be_drawn(name: str) -> None:
    figure = all_figures()[name]
    assert figure.draw(figure.prepare(Data())).layout.height > 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FIGURES)
def test_the_takeaway_is_one_sentence_with_a_number(name: str, size: str) -> None:
    figure = all_figures()[name]
    said = figure.takeaway(figure.prepare(made_of(size)))
    assert said.endswith(".")
    assert re.search(r"\d", said)
    assert not re.search(r"\bnan\b|None|\binf\b", said)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FIGURES)
def test_axes_carry_units_and_every_trace_has_points(name: str, size: str) -> None:
    figure = all_figures()[name]
    drawn = figure.draw(figure.prepare(made_of(size))).to_plotly_json()
    axes = [value for key, value in drawn["layout"].items() if re.match(r"[xy]axis\d*$", key)]
    titles = [axis["title"]["text"] for axis in axes if axis["title"]["text"]]
    # where names stand on an axis it needs no title
    assert titles
    assert all(_UNIT.search(title) for title in titles), titles
    assert drawn["data"]
    assert all(len(trace["x"]) == len(trace["y"]) > 0 for trace in drawn["data"])
    if figure.narrow is not None:
        narrow = figure.narrow(figure.prepare(made_of(size))).to_plotly_json()
        assert len(narrow["data"]) >= 1
        # without texts of their own, ticks at rows would be numbered by row
        for key, value in narrow["layout"].items():
            if re.match(r"yaxis\d*$", key) and value.get("tickmode") == "array":
                assert len(value["ticktext"]) == len(value["tickvals"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FIGURES)
def test_table_and_download_say_the_same(name: str, size: str) -> None:
    shown = block(name, all_figures()[name], made_of(size))
    assert shown.table is not None
    assert 1 <= len(shown.table.rows) <= 40
    assert shown.csv_uri.count("%0A") == shown.csv_rows + 1
    assert shown.csv_rows <= max(MOST_LINE_POINTS, 2000) * 1.1


@pytest.mark.parametrize("name", FIGURES)
def test_colours_come_from_the_palette(name: str) -> None:
    drawn = json.loads(block(name, all_figures()[name], made_of("some rows")).json)
    used = set(re.findall(r"var\(--([\w-]+)\)", json.dumps(drawn)))
    assert used
    assert all(color(one) for one in used)
    assert not re.search(r'"#[0-9a-f]{3,8}"', json.dumps(drawn))


@pytest.mark.parametrize("name", FIGURES)
def test_thinning_is_told(name: str) -> None:
    figure = all_figures()[name]
    frame = figure.prepare(made_of("many rows"))
    if {"samples", "nodes"} & set(frame.columns) and name not in COUNTED:
        assert re.search(r"[\d,]+ of [\d,]+ \w+ are drawn", figure.note(frame))
    line = "Above the dashed line a policy overloads more than is allowed on average."
    assert figure.note(figure.prepare(made_of("one row"))).removeprefix(line) == ""
