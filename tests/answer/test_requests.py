"""Facts of requests: from a store to its answer, and sums that agree with the frames."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from plain_requests import made_cluster, random_use

import tracekit
from tracekit import ingest
from tracekit.answer.production import facts_of_use
from tracekit.answer.requests import answer_of_requests, facts_of_requests
from tracekit.base.facts import Fact
from tracekit.base.study import Study
from tracekit.cluster.request_table import request_changes, use_over_requested
from tracekit.cluster.source import source_of
from tracekit.commands.shell import run
from tracekit.report.sentences import long, short
from tracekit.sizing.requests import REPLAYED, SHRUNK
from tracekit.sizing.requests.read_use import NoUseError
from tracekit.sizing.requests.study import every_policy, recommended, requests_of
from tracekit.store.folder import open_store

WORKLOAD = {"name": "store", "store": "a store", "made_up": False, "never_ran": 0}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pods of five services on two nodes, 48 minutes."""
    folder = tmp_path_factory.mktemp("cluster")
    ingest(made_cluster(folder / "files"), folder / "store")
    return folder / "store"


def of(facts: list[Fact], kind: str, because: str = "", measure: str = "") -> list[Fact]:
    return [
        one
        for one in facts
        if one.kind == kind
        and (not because or one.because == because)
        and (not measure or one.measure == measure)
    ]


def number(fact: Fact) -> float:
    assert isinstance(fact.value, int | float)
    return float(fact.value)


def study_of(seed: int, risk_share: float) -> Study:
    return requests_of(random_use(seed), every_policy(), workload=WORKLOAD, risk_share=risk_share)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), risk_share=st.sampled_from([0.0, 0.05, 0.5, 1.0]))
def test_facts_agree_with_the_frames(seed: int, risk_share: float) -> None:
    try:
        study = study_of(seed, risk_share)
    except NoUseError:  # a drawn record may have no sample in its first half
        reject()
    facts, subject = facts_of_requests(study), study.about["subject"]
    rows = study.frames["services"].filter(policy=subject)
    for name in ("cpu", "memory"):
        moved = rows.filter(resource=name)["freed"]
        (in_all,) = of(facts, "requests_moved", "in_all", name)
        freed, added = (
            sum(map(number, of(facts, "requests_moved", because, name)))
            for because in ("freed", "added")
        )
        assert isinstance(in_all.against, float)
        assert freed == pytest.approx(moved.filter(moved > 0).sum(), rel=1e-4)
        assert added == pytest.approx(-moved.filter(moved < 0).sum(), rel=1e-4)
        assert in_all.against - number(in_all) == pytest.approx(
            freed - added, rel=1e-4, abs=1e-4 * in_all.against
        )
        if in_all.low is not None and in_all.high is not None:
            rounding = 1e-12 * abs(number(in_all))
            assert in_all.low - rounding <= number(in_all) <= in_all.high + rounding
    (change,) = of(facts, "requests_to_change")
    assert number(change) <= rows["service"].n_unique() == change.about["of"]
    (risk,) = [one for one in of(facts, "requests_risk") if one.because != "limits"]
    assert risk.value == rows.filter("at_risk")["service"].n_unique()
    exceeded = max(study.frames["policies"].filter(policy=subject)["above_share"].to_list())
    assert (risk.because == "beyond") == (exceeded > risk_share)
    # every fact has its words
    assert all(short(one) and long(one) for one in answer_of_requests(study).facts)


@pytest.mark.parametrize(
    ("value", "because", "rank"),
    [(1.31, "above", 1), (1.0, "", 2), (0.5, "", 2), (0.49, "below_half", 1)],
)
def test_requests_far_from_use_come_first(value: float, because: str, rank: int) -> None:
    (fact,) = facts_of_use({"cpu": value})
    assert (fact.measure, fact.value, fact.because, fact.weight) == ("cpu", value, because, rank)


def test_without_a_change_there_is_a_fact_that_says_so() -> None:
    study = study_of(1, 0.05)
    calm = study.frames["services"].with_columns(freed=pl.lit(0.0))
    calmed = dataclasses.replace(study, frames={**study.frames, "services": calm})
    (fact,) = of(facts_of_requests(calmed), "requests_to_change")
    assert (fact.value, fact.because, fact.subject) == (0, "none", "")
    followups = answer_of_requests(calmed, "mystore", "mine/sized").next
    outs = [one.arguments.get("out") for one in followups]
    assert outs == [None, f"mine/{SHRUNK}", f"mine/sized{REPLAYED}"]
    assert not of(facts_of_requests(calmed), "requests_moved", "freed")


def test_a_run_has_what_the_command_has_and_replays_the_whole_record(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = source_of(open_store(store), None).load()
    study = recommended(open_store(store), tmp_path / "studies" / "requests", load=before)
    assert study is not None
    assert study.about["use_over_requested"] == use_over_requested(before)
    capsys.readouterr()
    assert run(["requests", str(store), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    ours = [one.document() for one in answer_of_requests(study).facts]
    assert printed["facts"] == json.loads(json.dumps(ours))
    assert {"policy", "service", "resource", "recommended", "unit"} <= set(printed["services"][0])
    assumed = f"requests=sized:{tmp_path / 'studies' / 'requests'}"
    after = source_of(open_store(store), None, assume=[assumed]).load()
    assert after.use.times_ms.tolist() == before.use.times_ms.tolist()
    assert after.containers.ids == before.containers.ids
    chosen = study.frames["services"].filter(policy=study.about["subject"])
    moved = set(chosen.filter(pl.col("recommended").is_not_null())["service"])
    differ = request_changes(before, after)
    assert {before.containers.services[at] for at in differ.nonzero()[0]} <= moved
    assert differ.any()


def test_of_assumed_or_missing_use_there_is_no_study(tmp_path: Path) -> None:
    head = "timestamp,nodeid,node_cpu_usage,node_memory_usage"
    (tmp_path / "Node_0.csv").write_text(f"{head}\n0,n1,0.5,0.5\n")
    ingest(tmp_path / "Node_0.csv", tmp_path / "nodes")
    assert recommended(open_store(tmp_path / "nodes"), tmp_path / "studies") is None
    files = tmp_path / "files"
    files.mkdir()
    (files / "containers.csv").write_text(
        "container,arrival_ms,cpu_milli,memory_bytes,service\nc0,0,500,1000,s\n"
    )
    (files / "nodes.csv").write_text("node,cpu_milli,memory_bytes\nn0,4000,8000\n")
    ingest(files, tmp_path / "asked")
    assert recommended(open_store(tmp_path / "asked"), tmp_path / "studies") is None
    assert not (tmp_path / "studies").exists()


def test_the_terminal_needs_no_folder_and_fits_a_page(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["requests", str(store)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 + len(str(store))
    assert sorted(store.parent.iterdir()) == [store.parent / "files", store]
    study = tracekit.requests(store, out=tmp_path / "sized")
    assert "default/web" in study._repr_html_()
