"""What of a figure's title stands above it in large letters, and what below."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.report.blocks import block
from tracekit.report.data import Data
from tracekit.report.figures import Figure

SHORT = "Nodes are half full. Two are not."
FIRST = "default_scheduler uses 24 of 24 nodes, 23 % of node-steps overloaded."
REST = "with fewer nodes none overloads less than load_variation_risk_balancing: 1.5 of 24 nodes."
ONE = f"{'a long clause, ' * 12}and no end."


@pytest.mark.parametrize(
    ("title", "head", "more"),
    [
        pytest.param(SHORT, SHORT, "", id="short"),
        pytest.param(f"{FIRST} {REST}", FIRST, REST, id="the first sentence alone is the title"),
        pytest.param(ONE, ONE, "", id="one sentence stays whole"),
    ],
)
def test_a_long_title_is_its_first_sentence(title: str, head: str, more: str) -> None:
    """In a narrow window two titles of nine lines each stood above the figures of a page."""
    figure = Figure(
        title="t", question="q", how_to_read="h", reads=(), draw=lambda _: None,
        takeaway=lambda _: "", table=lambda one: one, absent=title,
        prepare=lambda _: pl.DataFrame(),
    )  # fmt: skip
    shown = block("nodes", figure, Data())
    assert (shown.head, shown.more) == (head, more)
