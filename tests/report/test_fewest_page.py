"""The page of the fewest nodes, beside production or beside all nodes, as far as they are known."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from report_studies_support import fewest

from tracekit.report.contents.fewest import answer
from tracekit.report.data import Data


@pytest.mark.parametrize(("replayed", "before"), [(6, "\u2013"), (10, "70.0 %")])
def test_without_production_it_is_beside_all_nodes_if_they_were_replayed(
    replayed: int, before: str
) -> None:
    """A search that begins with few nodes need never come to all of them."""
    study = fewest()
    sizes = {"policy": ["lra"], "repeat": [0], "nodes": [replayed], "cpu_max_fraction": [0.7]}
    alone = dataclasses.replace(
        study,
        about={**study.about, "observed": None},
        frames={**study.frames, "sizes": pl.DataFrame(sizes)},
    )
    told = answer(Data(studies={study.name: alone}))
    assert told.before == "all nodes"
    rows = {one.title: one for one in told.changes}
    assert rows["Nodes kept"].before == "10"
    cpu = rows["Highest CPU use"]
    assert (cpu.before.replace("\u00a0", " "), cpu.after) == (before, "76.0\u00a0%")


def test_the_lost_node_is_named_and_another_is_not_covered() -> None:
    study = fewest()
    lost = [{"node": "n4", "after_ms": 180_000, "drawn": True}]
    about = {**study.about, "workload": {**study.about["workload"], "lost": lost}}
    told = answer(Data(studies={study.name: dataclasses.replace(study, about=about)}))
    said = [one.replace("\u00a0", " ") for one in told.told]
    assert (
        "1 node is lost: n4 after 3 min, which the seed drew; it counts as needed, as load is there"
        " before."
    ) in said
    assert "the loss of another node than n4" in told.sure
