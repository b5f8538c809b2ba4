"""Findings are sentences with a number, or nothing at all."""

from __future__ import annotations

import re

import polars as pl
import pytest
from report_support import made_up

from tracekit.report.data import Data
from tracekit.report.figures import get_figure
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


def test_nodes_whose_use_nobody_recorded_are_told() -> None:
    data = made_up(nodes=40)
    data.info = {"tables": {"node": {"nodes": 55}, "node_usage": {"nodes": 40}}, "sources": []}
    said = all_findings()["idle"].find(data)
    assert said is not None
    assert said.sentence.endswith("15\u00a0further nodes, whose use is not recorded, are left out.")


def test_orders_differ() -> None:
    orders = [finding.order for finding in all_findings().values()]
    assert len(orders) == len(set(orders))
    assert len(key_findings(made_up())) == MOST_FINDINGS


@pytest.mark.parametrize(
    ("rows", "value"),
    [(150, "75 %"), (190, "95.00 %"), (200, "100 %"), (199.999, "> 99.99 %")],
)
def test_quality_says_how_much_was_kept(rows: float, value: str) -> None:
    ledger = pl.DataFrame({"defect": ["missing_name", "stray_time"], "rows": [7, 2]})
    data = Data(
        fetch=lambda _name, _params: ledger,
        info={
            "tables": {},
            "sources": [
                {"release": "ctm21", "rows_read": 200_000, "rows": round(rows * 1000)},
                {"release": "derived", "rows_read": 900, "rows": 900},
            ],
        },
    )
    said = all_findings()["quality"].find(data)
    assert said is not None
    assert said.value.replace("\u00a0", " ") == value
    assert "missing name, 7" in said.sentence


def test_what_nodes_report_and_what_replays_add_up_are_told_apart() -> None:
    profile = pl.DataFrame({"node": ["a", "b"], "cpu_max": [1.0, 0.5]})

    def said(production: float) -> str:
        summary = pl.DataFrame({"policy": ["observed"], "cpu_max_fraction": [production]})
        found = all_findings()["peaks"].find(
            Data(fetch=lambda _name, _params: profile, run_frames={"summary": summary})
        )
        assert found is not None
        return found.sentence.replace("\u00a0", " ")

    assert "production's 103.9 % on other pages is the sum over the containers" in said(1.039)
    assert "sum over" not in said(1.0)


def test_nodes_that_never_changed_are_not_said_to_have_too_few_samples() -> None:
    zones = pl.DataFrame({"zone": ["C", "U", "too_short"], "nodes": [10, 4, 2]})
    said = all_findings()["zones"].find(Data(fetch=lambda _name, _params: zones))
    assert said is not None
    told = said.sentence.replace("\u00a0", " ")
    assert "on 4 further nodes CPU or memory never changed (correlation zone U)" in told
    assert "on 2 further nodes there are too few samples" in told


def _zones(doubts: list[float], **nodes: int) -> Data:
    """So many nodes in each zone, and how probable another zone is for each of some."""
    zones = pl.DataFrame({"zone": list(nodes), "nodes": list(nodes.values())})
    profile = pl.DataFrame(
        {
            "node": [f"{zone}{at}" for zone, many in nodes.items() for at in range(many)],
            "zone": [zone for zone, many in nodes.items() for _ in range(many)],
            "pearson_r": [0.1] * sum(nodes.values()),
        }
    )
    known = pl.DataFrame(
        {"other_zone_probability": doubts}, schema={"other_zone_probability": pl.Float64}
    )
    return Data(
        fetch=lambda name, _: zones if name.endswith("zone_summary") else profile,
        results=lambda _: known,
    )


@pytest.mark.parametrize(
    ("nodes", "finding", "figure"),
    [
        (
            {"A": 12, "B": 8, "C": 12},
            (
                "of nodes (12 of 32) have CPU and memory that move against each other (correlation"
                " zone A); as many have CPU and memory that rise and fall together (correlation"
                " zone C)."
            ),
            (
                "No part is the largest: on 12 of 32 nodes with a correlation CPU and memory move"
                " against each other (correlation zone A); on as many CPU and memory rise and"
                " fall together (correlation zone C)."
            ),
        ),
        (
            {"A": 11, "B": 8, "C": 13},
            (
                "of nodes (13 of 32) have CPU and memory that rise and fall together (correlation"
                " zone C)."
            ),
            (
                "On 13 of 32 nodes with a correlation, the largest part, CPU and memory rise and"
                " fall together (correlation zone C)."
            ),
        ),
        (
            {"A": 1, "B": 20},
            "of nodes (20 of 21) have CPU and memory that are hardly related (correlation zone B).",
            (
                "On 20 of 21 nodes with a correlation, CPU and memory are hardly related"
                " (correlation zone B)."
            ),
        ),
    ],
)
def test_a_zone_is_called_the_largest_only_where_no_other_holds_as_many(
    nodes: dict[str, int], finding: str, figure: str
) -> None:
    rank = get_figure("zone_rank")
    for doubts, sure in (
        ([], ""),
        ([0.01] * 4, ""),
        (
            [0.01, 0.3, 0.5, 0.2],
            (
                " The zone is beyond reasonable doubt for 25 % of 4 nodes; others may be in another"
                " one."
            ),
        ),
    ):
        data = _zones(doubts, **nodes)
        said = all_findings()["zones"].find(data)
        assert said is not None
        assert said.sentence.replace("\u00a0", " ") == f"{finding}{sure}"
        assert rank.takeaway(rank.prepare(data)).replace("\u00a0", " ") == figure
