"""Findings are sentences with a number, or nothing at all."""

from __future__ import annotations

import re

import polars as pl
import pytest
from report_runs_support import manifest, summary_frame
from report_support import made_up

from tracekit.report.data import Data
from tracekit.report.findings import MOST_FINDINGS, all_findings, key_findings
from tracekit.report.pages import all_pages

FINDINGS = sorted(all_findings())


@pytest.mark.parametrize("nodes", [1, 40])
@pytest.mark.parametrize("name", FINDINGS)
def test_it_is_a_sentence_after_a_number(name: str, nodes: int) -> None:
    said = all_findings()[name].find(made_up(nodes=nodes))
    if name == "quality":
        assert said is None  # the made-up store has read no rows
        return
    assert said is not None
    assert re.match(r"[\d,.]+", said.value)
    assert said.sentence.endswith(".")
    assert not re.search(r"\bnan\b|None", said.sentence)
    assert said.page in all_pages()


@pytest.mark.parametrize("name", FINDINGS)
def test_without_data_there_is_nothing_to_say(name: str) -> None:
    assert all_findings()[name].find(Data()) is None


def test_orders_differ() -> None:
    orders = [finding.order for finding in all_findings().values()]
    assert len(orders) == len(set(orders))
    assert len(key_findings(made_up())) == MOST_FINDINGS


def test_quality_says_how_much_was_kept() -> None:
    ledger = pl.DataFrame({"defect": ["missing_name", "stray_time"], "rows": [7, 2]})
    data = Data(
        fetch=lambda _name, _params: ledger,
        info={"tables": {"call": {"rows_read": 200, "rows": 150}}, "sources": []},
    )
    said = all_findings()["quality"].find(data)
    assert said is not None
    assert said.value.replace("\u00a0", " ") == "75 %"
    assert "missing name, 7" in said.sentence


def test_replay_says_when_nothing_separates_the_policies() -> None:
    rows = {"a": (0.25, 0.9, 0), "b": (0.25, 0.9, 0)}
    data = Data(run=manifest(["a", "b"]), run_frames={"summary": summary_frame(rows)})
    said = all_findings()["replay"].find(data)
    assert said is not None
    assert "nothing separates them" in said.sentence


def test_replay_compares_with_production() -> None:
    rows = {"observed": (0.5, 0.9, 0), "a": (0.25, 0.9, 0), "bound": (0.2, 0.8, 0)}
    data = Data(run=manifest(["a"]), run_frames={"summary": summary_frame(rows)})
    said = all_findings()["replay"].find(data)
    assert said is not None
    # 0.25 / 0.5 - 1 = -50 %
    assert "by a, 50\u00a0% below production\u2019s own placement (0.500)" in said.sentence
    assert "no placement can be below 0.200" in said.sentence
