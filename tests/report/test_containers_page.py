"""The page on containers gives advice that can be followed."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.report.contents import analysis
from tracekit.report.data import Data

#: How many nodes are busy and how many idle, what is said, and what is not.
BUSY = [
    (82, 2, "82 nodes are HIGH and 2 are LOW: hardly any node could take their load", "could go"),
    (1, 0, "1 node is HIGH and no node is LOW: hardly any", "could go"),
    (20, 9, "Load could go from 20 HIGH nodes to 9 LOW nodes", "hardly any"),
    (0, 9, "LOW ones below 30 %.", "could go"),
]


@pytest.mark.parametrize(("high", "low", "said", "not_said"), BUSY)
def test_load_is_sent_where_there_is_room_alone(
    high: int, low: int, said: str, not_said: str
) -> None:
    rows = {name: many for name, many in (("HIGH", high), ("LOW", low)) if many}
    frame = pl.DataFrame({"cohort": list(rows), "nodes": list(rows.values())})
    text = analysis.busy(Data(fetch=lambda *_: frame)).replace("\u00a0", " ")
    assert said in text
    assert not_said not in text
    assert "relieve them" not in text


def test_a_store_without_groups_has_their_meaning_alone() -> None:
    assert "HIGH nodes have 70" in analysis.busy(Data())
