"""Where two policies differ: one rule for the first page, the page of two, and titles."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from report_support import made_up

from tracekit.answer.advice import NEAREST
from tracekit.answer.amounts import texts_apart
from tracekit.answer.compare import differences
from tracekit.answer.standings import Standing
from tracekit.replay.measures import find_measure
from tracekit.replay.runs.kept_back import not_free
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.cells import table
from tracekit.report.contents import answer, beside, pair, replay
from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.measures import NEITHER
from tracekit.words import percent

#: Means of two policies and of production; of the last the orders say nothing beyond chance.
MEANS = {
    "cpu_max_fraction": (0.5, 0.7),
    "memory_max_fraction": (0.6, 0.55),
    # sure, and too little for anybody
    "cpu_stranded_share": (0.0021, 0.0020),
    "imbalance_mean": (0.000422, 0.000424),
    "memory_std_mean_fraction": (0.12, 0.08),
    "nodes_used_mean": (157.0, 127.0),
    "nodes_used_end": (1163.0, 1075.0),
    "overloaded_node_steps": (0.0, 0.0),
    "pending": (0.0, 0.0),
}
NAMES = ("best_fit", "first_fit")


def two(spread: float = 0.0, departures: str = "none") -> Data:
    """Two policies over six orders; ``spread`` is how far CPU lies apart from node to node."""
    rng = np.random.Generator(np.random.PCG64(4))
    rows = []
    for at in range(6):
        for which, name in enumerate(NAMES):
            row: dict[str, Any] = {"policy": name, "repeat": at}
            for measure, means in MEANS.items():
                noise = 0.0 if measure.startswith("nodes") else 1e-6 * rng.normal()
                row[measure] = means[which] * (1 + noise)
            row["cpu_std_mean_fraction"] = 0.1 + 0.05 * which + spread * rng.normal()
            rows.append(row)
    repeats = pl.DataFrame(rows)
    assumed = {"departures": departures}
    load = {"nodes": 1523, "steps": 100, "containers": 900, "quantities": {}, "step_ms": 1000}
    about = {"workload": {**load, "assumptions": assumed}, "seed": 0, "policies": []}
    nodes = pl.DataFrame(
        {"policy": list(NAMES) * 2, "node": ["x", "x", "y", "y"], "cpu_mean_fraction": [0.5] * 4}
    )
    frames = {"summary": repeats.filter(repeat=0).drop("repeat"), "repeats": repeats}
    steps = pl.DataFrame({"policy": NAMES, "time_ms": [0, 0], "settled": [True, True]})
    data = Data(
        run=about, fetch=lambda *_: pl.DataFrame(),
        run_frames={**frames, "nodes": nodes, "steps": steps},
    )  # fmt: skip
    assert data.results is not None
    data._run_frames["differences"] = differences(data.results)
    return data


def test_both_pages_count_the_same_measures() -> None:
    """The first page said that none differs, the page of two that six do."""
    data = two()
    every = beside.sides(data, *NAMES)
    document = json.loads(str(pair.document(data)))
    won = {-1: 0, 0: 0, 1: 0}
    for _, _, name, _, _, which, _, _ in document["differences"]:
        measure = find_measure(name)
        won[which] += measure is not None and measure.better is not None
    worse = [one.measure.name for one in every if one.side == "worse"]
    assert worse == ["memory_max_fraction", "memory_std_mean_fraction"]
    first = answer.answer(data).beyond
    assert "first_fit is better in 2 and best_fit in 2, beyond chance" in first
    assert sorted((won[-1], won[1])) == [2, 2]
    # what the table of the page does not show is named below it
    assert "Against best_fit also speaks: standard deviation of memory use (+4.0" in first


def test_what_is_sure_and_too_small_to_count_makes_nobody_better() -> None:
    every = {one.measure.name: one.side for one in beside.sides(two(), *NAMES)}
    assert every["cpu_stranded_share"] == every["imbalance_mean"] == ""
    assert every["cpu_max_fraction"] == "better"
    assert every["nodes_used_mean"] == NEITHER


@pytest.mark.parametrize(
    ("name", "means", "texts"),
    [
        ("cpu_std_mean_fraction", (0.584, 0.581), ("58.4 %", "58.1 %")),
        ("nodes_used_mean", (12.31, 12.45), ("12.31", "12.45")),
    ],
)
def test_digits_tell_two_values_apart(
    name: str, means: tuple[float, float], texts: tuple[str, str]
) -> None:
    """Both read 60 ± 30 %, and one of them was called better."""
    measure, scale = find_measure(name), 30 if name == "nodes_used_mean" else 0.3
    rows = [
        Standing(
            names=("a",), mean=mean, low=mean - scale, high=mean + scale,
            apart_from_best=True, orders=6,
        )
        for mean in means
    ]  # fmt: skip
    assert measure is not None
    said = texts_apart(measure, rows[0], rows[1])
    assert tuple(one.replace("\u00a0", " ") for one in said) == texts


def test_many_more_nodes_stand_in_the_headline_and_in_the_table() -> None:
    """It was "worse by nodes used", of which neither end is better, at the mean over the time."""
    for departures, more, rows in (
        ("none", "at 88 more nodes at the end", ["Nodes used at the end", "Nodes used"]),
        ("recorded", "at 30 more nodes on average", ["Nodes used"]),
    ):
        said = answer.answer(two(departures=departures))
        assert said.lead.replace("\u00a0", " ").startswith("Use best_fit: ")
        assert more in said.lead
        assert "worse by nodes" not in said.sentence
        assert [one.title for one in said.changes if "Nodes used" in one.title] == rows


@pytest.mark.parametrize(
    ("spread", "how"),
    [
        (0.0, "CPU use is spread less evenly under first_fit than under best_fit: "),
        (0.5, "CPU use is spread alike under first_fit and under best_fit, within chance: "),
    ],
)
def test_titles_claim_what_is_beyond_chance(spread: float, how: str) -> None:
    """12 %, against 16 %, was "more evenly", where the difference was -7 to +12 pp."""
    data = two(spread)
    figure = get_figure("node_distribution")
    title = figure.takeaway(figure.prepare(data)).replace("\u00a0", " ")
    assert title.startswith(f"{how}the standard deviation of CPU use differs by ")
    assert " pp" in title


def kept() -> Data:
    """CPU is better than in production and memory higher in each order: a trade."""
    rng = np.random.Generator(np.random.PCG64(1))
    rows = [
        {
            "policy": name, "repeat": at, "pending": 0.0, "overloaded_node_steps": 0.0,
            "nodes_used_mean": 10.0,
            "cpu_max_fraction": full + (name != OBSERVED) * 0.001 * rng.normal(),
            "memory_max_fraction": 0.3 if name == OBSERVED else 0.42 + 0.001 * rng.normal(),
        }
        for at in range(6)
        for name, full in ((OBSERVED, 0.8), ("a", 0.5), ("b", 0.8))
    ]  # fmt: skip
    repeats = pl.DataFrame(rows)
    load = {"nodes": 10, "steps": 100, "containers": 900, "quantities": {}}
    frames = {"summary": repeats.filter(repeat=0).drop("repeat"), "repeats": repeats}
    policies = [{"policy": name} for name in (OBSERVED, "a", "b")]
    return Data(run={"workload": load, "seed": 0, "policies": policies}, run_frames=frames)


def test_where_production_is_kept_nobody_is_called_first_choice() -> None:
    """The figure and the table of policies had a first choice, which page one did not have."""
    data, figure = kept(), get_figure("policy_ranks")
    said = answer.answer(data)
    assert said.sentence.startswith("Keep the placement of production, unless this trade")
    assert said.change.startswith("What a, which comes nearest, would change")
    frame = figure.prepare(data)
    assert dict(frame.select("policy", "stands").iter_rows())["a"] == NEAREST
    heads = {one.text for one in figure.draw(frame).layout.annotations}
    assert "Comes nearest, while production is kept" in heads
    shown = replay.comparison(data)
    marks = [cell.mark for row in shown.rows for cell in row]
    assert NEAREST in marks
    assert not any("first choice" in one.lower() for one in (*heads, *marks, shown.caption))


def test_pages_that_a_report_lacks_are_not_named() -> None:
    data = kept()
    assert "page of the fewest nodes" not in answer.answer(data).sure
    assert "on the page" not in not_free({"background": {"cpu": 0.5}})
    assert not_free({"background": {"cpu": 0.5}}).endswith("says tracekit nodes.")


def test_the_dashed_line_is_spoken_of_where_it_is_drawn() -> None:
    figure, seen = get_figure("replay_tradeoff"), set()
    assert "dashed" not in figure.how_to_read
    for data in (kept(), made_up()):
        frame = figure.prepare(data)
        drawn = any(one.line.dash == "dash" for one in figure.draw(frame).layout.shapes)
        assert ("Above the dashed line" in figure.note(frame)) == drawn
        seen.add(drawn)
    assert seen


def test_a_small_share_has_the_digits_of_the_title_in_the_table() -> None:
    """The title had 0.08 %, the table below it 0.1 %."""
    rows = table(pl.DataFrame({"overload_share": [0.0008]}), "").rows
    assert rows[0][0].text == percent(0.0008)
