"""The page on two policies carries what is so: peaks of lines, and nodes that differ most."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_support import made_up

from tracekit.answer.amounts import standing_text, value_text
from tracekit.replay.measures import find_measure, is_share
from tracekit.replay.runs.run import BOUND
from tracekit.report.contents import pair
from tracekit.report.data import load
from tracekit.units import MS_PER_HOUR
from tracekit.verbs.replay import replay

POLICIES = ["first_fit", "best_fit", "worst_fit", "random"]
STEPS = 2 * pair._STRETCHES


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with more steps than the page draws."""
    out = tmp_path_factory.mktemp("pair") / "run"
    replay(None, POLICIES, out=out, workload="paper000[containers=300,nodes=60]", repeats=1)
    return out


def carried(run: Path) -> dict[str, Any]:
    return json.loads(str(pair.document(load(None, None, run))))  # type: ignore[no-any-return]


def test_values_are_written_as_on_the_other_pages() -> None:
    data = made_up()
    document = json.loads(str(pair.document(data)))
    several = 0
    for at, one in enumerate(document["measures"]):
        measure = find_measure(one["column"])
        assert measure is not None
        for name, texts in document["texts"].items():
            row = data.standings(measure.name).row(name)
            if row is not None:
                assert texts[at] == standing_text(measure, row)
                several += "\u00b1" in texts[at]
    assert several


def test_what_nodes_cost_has_the_same_digits_on_every_page() -> None:
    cost = find_measure("cost_per_hour")
    assert cost is not None
    assert value_text(cost, 412.888) == "412.89"
    assert value_text(cost, 413.0) == "413.00"
    assert value_text(cost, 1412.888) == "1,412.89"


def drawn(part: dict[str, Any], one: str, other: str) -> list[int]:
    """By how much the two differ where the page draws them."""
    apart = [abs(x - y) for x, y in zip(part["counts"][one], part["counts"][other], strict=True)]
    return sorted(apart, reverse=True)[: pair._DRAWN]


def apart(run: Path, by: str, one: str, other: str) -> list[int]:
    """The same, of all there are."""
    placed = pl.read_parquet(run / "placements.parquet").drop_nulls("node")
    counts: list[dict[str, int]] = [{}, {}]
    seen: set[tuple[str, str, str]] = set()
    for row in placed.iter_rows(named=True):
        at = row["policy"], row["node"], row["service"]
        if row["policy"] not in (one, other) or (by == "service" and at in seen):
            continue
        seen.add(at)
        count = counts[row["policy"] == other]
        count[row[by]] = count.get(row[by], 0) + 1
    names = counts[0].keys() | counts[1].keys()
    found = (abs(counts[0].get(name, 0) - counts[1].get(name, 0)) for name in names)
    return sorted(found, reverse=True)[: pair._DRAWN]


@pytest.mark.parametrize("by", ["node", "service"])
def test_those_that_differ_most_are_those_of_the_pair(run: Path, by: str) -> None:
    part = carried(run)[f"{by}s"]
    assert len(part["names"]) == part["all"]
    for one, other in itertools.combinations(POLICIES, 2):
        assert drawn(part, one, other) == apart(run, by, one, other)


def test_of_a_large_cluster_they_are_right_beside_the_two_it_opens_with(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[pair.__name__], "_MOST_COUNTS", 1)
    monkeypatch.setattr(sys.modules[pair.__name__], "_DRAWN", 3)
    document = carried(run)
    part = document["nodes"]
    assert len(part["names"]) < part["all"]
    for one, other in itertools.product(document["first"], POLICIES):
        if one != other:
            assert drawn(part, one, other) == apart(run, "node", one, other)


def test_peaks_and_lows_are_among_what_is_drawn(run: Path) -> None:
    document, steps = carried(run), pl.read_parquet(run / "steps.parquet")
    assert steps.filter(policy=POLICIES[0]).height > STEPS
    assert len(document["times_h"]) == STEPS
    assert document["times_h"] == sorted(document["times_h"])
    assert re.fullmatch(r"\d+ (h|min)( \d+ (min|s))?", document["stretch"])
    for name in POLICIES:
        mine = steps.filter(policy=name)
        for column, values in document["course"][name].items():
            scale = 100 if is_share(column) else 1
            assert len(values) == STEPS
            assert max(values) == pytest.approx(mine[column].max() * scale, rel=1e-3)
            assert min(values) == pytest.approx(mine[column].min() * scale, rel=1e-3, abs=1e-9)
    filling = steps.filter(policy=POLICIES[0], settled=False)
    last_ms = max(filling["time_ms"].to_list(), default=0)
    assert document["filling_h"] == last_ms / MS_PER_HOUR
    assert BOUND not in document["course"]


def test_names_that_begin_alike_are_rows_of_their_own(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    file = tmp_path / "run" / "placements.parquet"
    placed = pl.read_parquet(file)
    named = pl.format("checkout-payment-service-{}-of-the-shop-in-europe", pl.col("service"))
    placed.with_columns(named.alias("service")).write_parquet(file)
    names = carried(tmp_path / "run")["services"]["names"]
    assert len(set(names)) == len(names) == placed["service"].n_unique() > 1


def test_times_since_1970_are_hours_since_the_start(run: Path, tmp_path: Path) -> None:
    """As such they have more digits than a figure carries, and all were one."""
    moved = shutil.copytree(run, tmp_path / "run")
    steps = pl.read_parquet(moved / "steps.parquet")
    steps.with_columns(pl.col("time_ms") + 1_767_225_600_000).write_parquet(moved / "steps.parquet")
    now, then = carried(moved), carried(run)
    assert now["times_h"] == then["times_h"]
    assert now["filling_h"] == pytest.approx(then["filling_h"])
    assert len(set(now["times_h"])) == len(now["times_h"])
