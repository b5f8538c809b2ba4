"""The same answer from ``run`` and ``nodes`` on clusters that a decision has to get right."""

from __future__ import annotations

import functools
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from clusters import CLUSTERS, PRICES, make
from report_answers_support import APART, Pages

import tracekit
from tracekit.answer.counts import FULLEST
from tracekit.answer.nodes import answer_of_nodes
from tracekit.base.facts import Fact
from tracekit.commands._whole import RunSummary
from tracekit.policy.placement import all_policies
from tracekit.report.sentences import long, short, value
from tracekit.report.terminal import summary

pytestmark = pytest.mark.slow

NAMES = ("requests_below_use", "special", "above_ceiling", "priced")
#: One node is special only where it is below 5 % of all.
SIZES = {"special": 24}
CEILING = dict(zip(FULLEST.values(), (0.8, 0.9), strict=True))
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


@functools.cache
def _ran(name: str) -> RunSummary:
    folder = Path(tempfile.mkdtemp())
    made = replace(CLUSTERS[name], nodes=SIZES.get(name, 12), pods=80, steps=24)
    tracekit.ingest(make(folder / "trace", made), folder / "store")
    return tracekit.run(folder / "store", folder / "out", policies=["common"], jobs=1)


def _needed(facts: list[Fact]) -> list[tuple[object, ...]]:
    return [(one.subject, one.value, one.low, one.high, one.about["bound"]) for one in facts]


@pytest.mark.parametrize("name", NAMES)
def test_nodes_gives_the_number_of_the_run(name: str) -> None:
    done = _ran(name)
    for case in ("recorded", "recommended"):
        counted = done.answer.of("nodes_needed", case=case)
        if not counted:
            assert case == "recommended"
            continue
        sized = f"requests=sized:{done.out / 'studies' / 'requests'}"
        study = tracekit.nodes(
            done.store,
            [str(counted[0].subject)],
            assume=[sized] if case == "recommended" else [],
        )
        answer = answer_of_nodes(study)
        assert _needed(answer.of("nodes_needed", case=case)) == _needed(counted)
        if case == "recorded":
            for kind in ("ceiling_broken", "use_over_requested", "special_nodes"):
                assert answer.of(kind) == done.answer.of(kind)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_above_the_ceiling_and_none_is_of_a_yardstick(name: str) -> None:
    answer = _ran(name).answer
    for case in ("recorded", "recommended"):
        for one in answer.of("fullest_node", case=case):
            assert float(str(one.value)) <= CEILING[one.measure]
    known = all_policies()
    for kind in ("verdict", "recommended_policy", "nodes_needed", "confidence"):
        for one in answer.of(kind):
            assert known[str(one.subject)].used_by == "scheduler"


def test_special_nodes_stay_and_are_a_fact() -> None:
    done = _ran("special")
    (one,) = done.answer.of("special_nodes")
    assert (one.value, one.because) == (1, "resource")
    nodes = pl.read_parquet(done.out / "studies" / "fewest" / "nodes.parquet")
    assert nodes.filter(pl.col("special").is_not_null())["kept"].to_list().count(False) == 0


def test_production_above_the_ceiling_comes_first_with_a_count_beside_production() -> None:
    answer = _ran("above_ceiling").answer
    assert next(one.kind for one in answer.facts if one.weight == 1) == "ceiling_broken"
    assert answer.of("nodes_needed", case="no_more_often")


def test_the_saving_is_the_price_of_the_nodes_that_go() -> None:
    done = _ran("priced")
    saving = done.answer.first("saving")
    assert saving is not None
    nodes = pl.read_parquet(done.out / "studies" / "fewest" / "nodes.parquet")
    policy = done.answer.facts[0].subject
    gone = nodes.filter(~pl.col("kept"), policy=policy)["node"].to_list()
    types = sorted(PRICES, key=lambda one: PRICES[one])
    small = CLUSTERS["priced"].small * 12
    paid = sum(PRICES[types[int(one.removeprefix("node-")) >= small]] for one in gone)
    assert saving.value == pytest.approx(paid)


@pytest.mark.parametrize("name", NAMES)
def test_all_that_matters_is_on_the_first_page_and_in_the_terminal(name: str) -> None:
    done = _ran(name)
    html = done.report.read_text(encoding="utf-8")
    page, prose = Pages(html).text("answer"), Pages(html, without=APART).text("answer")
    facts = done.answer.facts
    words = " ".join("\n".join(summary(done.answer)).replace("\n- ", "\n").split())
    numbers = {
        number
        for one in facts
        for text in (short(one), long(one))
        for number in _NUMBER.findall(text)
    }
    # how long the record is, and of how many containers and nodes, is of the manifest
    assert set(_NUMBER.findall(prose)) <= numbers | {"80", str(SIZES.get(name, 12)), "2"}
    case = facts[0].about.get("case")
    for one in facts:
        if one.weight <= 1:
            assert short(one) in page or f"| {value(one)} " in page, one
            if one.kind != "nodes_needed" or one.about["case"] != case:
                assert short(one) in words, one
