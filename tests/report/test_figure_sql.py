"""The SQL beneath a figure can be pasted: it names its node, and the folder that it reads."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from tracekit.report.blocks import sources
from tracekit.report.data import Data
from tracekit.report.figures import get_figure


def _fetch(name: str, _: Mapping[str, str]) -> pl.DataFrame:
    assert name == "usage/typical_nodes"
    return pl.DataFrame({"zone": ["A", "too_short"], "node": ["o'node", "other"]})


def test_the_series_of_a_typical_node_are_of_that_node() -> None:
    first, *others = sources(get_figure("typical_nodes"), Data(fetch=_fetch))
    assert first.name == "usage/typical_nodes"
    (series,) = others
    assert series.name == "usage/node_series, zone A"
    assert series.sql.startswith("SET VARIABLE node = 'o''node';\n-- title: ")
