"""The SQL beneath a figure can be pasted: it names its node, and the folder that it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import polars as pl
from report_memory_support import memory_decides
from report_studies_support import fewest

from tracekit.report.blocks import sources
from tracekit.report.computed import ANALYSIS
from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.paths import Paths


def _fetch(name: str, _: Mapping[str, str]) -> pl.DataFrame:
    assert name == "usage/typical_nodes"
    return pl.DataFrame({"zone": ["A", "too_short"], "node": ["o'node", "other"]})


def test_the_series_of_a_typical_node_are_of_that_node() -> None:
    first, *others = sources(get_figure("typical_nodes"), Data(fetch=_fetch))
    assert first.name == "usage/typical_nodes"
    (series,) = others
    assert series.name == "usage/node_series, zone A"
    assert series.sql.startswith("SET VARIABLE node = 'o''node';\n-- title: ")


def test_what_reads_another_folder_names_it() -> None:
    """It was said to be the one that a command writes with --out."""
    study = fewest()
    data = Data(
        studies={study.name: study},
        folders={study.name: "fewest"},
        paths=Paths(studies="mine/studies", results={ANALYSIS: "mine/analysis"}),
    )
    for name, lies in (("fewest_nodes", "mine/studies/fewest"), ("zone_doubt", "mine/analysis")):
        told = [one.sql for one in sources(get_figure(name), data)]
        assert any(f"cd {lies} && duckdb\n" in sql for sql in told), name


def test_rows_of_several_studies_are_read_from_all_their_folders() -> None:
    study = fewest()
    data = memory_decides({study.name: study}, [("fewest-2", dataclasses.replace(study))])
    data.folders = {study.name: "fewest"}
    (source,) = sources(get_figure("fewest_nodes"), data)
    assert source.sql.startswith("-- in the folder of the studies: cd studies && duckdb\n")
    assert "['fewest/policies.parquet', 'fewest-2/policies.parquet']" in source.sql
