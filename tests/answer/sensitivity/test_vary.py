"""Changed assumptions: ranks, agreement with the defaults, and what cannot be replayed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cluster_support import stored, workload
from polars.testing import assert_frame_equal
from report_studies_support import varied
from store_support import tiny_store

from tracekit.answer.advice import sentence
from tracekit.answer.decision import decision
from tracekit.answer.sensitivity.answers import (
    BARRED,
    BASE,
    KEPT,
    NOTHING,
    OTHER,
    SAME,
    TRADE,
    UNTOLD,
    Answered,
    stands,
    why,
)
from tracekit.answer.sensitivity.rows import rows
from tracekit.answer.sensitivity.study import (
    USUAL,
    that_decides,
    vary_assumptions,
)
from tracekit.answer.sensitivity.told import (
    NONE,
    answer,
    following,
    problems,
    question,
    subject,
)
from tracekit.answer.sensitivity.tried import SIZED_CHANGES
from tracekit.errors import TracekitError
from tracekit.replay.measures import OVERLOAD, find_measure
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import OBSERVED
from tracekit.verbs.replay import replay


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_store(tmp_path_factory.mktemp("vary")).path


def test_ranks_and_agreement(store: Path) -> None:
    changes = ["requests=uniform", "background=none", "limit_factor=2"]
    found = vary_assumptions(store, policies=["first_fit", "worst_fit", "cwt"], changes=changes)
    ranks = found.frames["ranks"]
    assert ranks["change"].unique(maintain_order=True).to_list() == [BASE, *changes[:2]]
    assert found.about["repeats"] == 6
    for _, part in ranks.group_by("change"):
        assert set(part.filter("best")["rank"]) <= {1.0}
        carried = part.filter(~pl.col("waited"))["value"]
        assert part.filter("best")["value"].min() == carried.min()
        assert (part["low"] <= part["value"]).all()
    told = {row["change"]: row for row in found.frames["changes"].iter_rows(named=True)}
    assert all(told[change]["stands"] != NOTHING for change in changes[:2])
    # limits are recorded
    assert told["limit_factor=2"]["stands"] == NOTHING
    assert told["limit_factor=2"]["agreement"] is None
    assert answer(found)


@pytest.mark.slow
def test_what_is_assumed_throughout_is_the_base_of_every_change(store: Path) -> None:
    """The base is as the same assumption by itself; a change of its name takes its place."""
    policies, given = ["first_fit", "worst_fit"], "requests=uniform"
    alone = vary_assumptions(store, policies=policies, changes=[given], measure="nodes_used_max")
    both = vary_assumptions(
        store,
        policies=policies,
        assume=[given],
        changes=["background=none", "requests=inferred"],
        measure="nodes_used_max",
    )
    under = alone.frames["ranks"].filter(change=given).drop("change")
    assert_frame_equal(both.frames["ranks"].filter(change=BASE).drop("change"), under)
    assert both.about["assume"] == [given]
    assert f"with {given} throughout?" in question(both)
    for _, command in following(both):
        assert command.count("--assume requests=") == 1


def test_one_order_tells_nothing_and_says_so(store: Path) -> None:
    found = vary_assumptions(
        store, policies=["first_fit", "worst_fit"], changes=["background=none"], repeats=1
    )
    # production is ranked beside the two
    assert found.frames["ranks"]["rank"].to_list() == [1.0] * 6
    assert found.frames["changes"]["stands"].to_list() == [UNTOLD]
    assert answer(found) == (
        "Nothing can be told of changed assumptions: the policies met one order of arrival, 6 are"
        " needed (--repeat 6)."
    )
    assert rows(found) == [("background=none", "not told", "-", "-")]
    ((why, command),) = following(found)
    assert "more orders" in why
    assert " --change background=none " in command
    # a folder of its own beside the store, so that the next report shows it
    assert command.endswith(f"--repeat 6 --out {store.parent / 'studies' / 'assumptions-6-orders'}")


def test_a_change_that_makes_another_the_best_is_what_the_answer_hangs_on() -> None:
    found = varied()
    assert answer(found) == (
        "The answer without changes is lra. It stays under 1 of 3 changes: arrival=trace. It turns"
        " over under 1. With node_cpu_cores=52 lra is barred (nodes needed more than they have in"
        " 70 node-steps, production 1); the answer is bra. 1 change could not be replayed:"
        " limit_factor=0."
    )
    ((_, command),) = following(found)
    assert "--assume node_cpu_cores=52" in command


OF_LOAD = ("name", "nodes", "steps", "assumptions")
CHANGES = ("limit_factor=2", "background=none", "node_cpu_cores=30", "requests=uniform")


@pytest.mark.parametrize(
    "policies",
    [("first_fit", "worst_fit"), pytest.param(("best_fit", "cwt"), marks=pytest.mark.slow)],
)
def test_the_answer_under_each_change_is_that_of_a_run_with_it(
    store: Path, tmp_path: Path, policies: tuple[str, ...]
) -> None:
    """A run under the change, made for itself and read from its folder, decides alike."""
    found = vary_assumptions(store, policies=policies, changes=CHANGES)
    rows = {row["change"]: row for row in found.frames["changes"].to_dicts()}
    for at, change in enumerate(("", *CHANGES)):
        if change and rows[change]["problem"]:
            continue
        out, assume = tmp_path / f"run{at}", [change] if change else []
        replay(store, ["observed", *policies], out=out, assume=assume, repeats=6)
        told = decision(out)
        load = results(out).manifest["workload"]
        assert change or found.about["workload"] == {name: load[name] for name in OF_LOAD}
        keeps = sentence(results(out), told).startswith("Keep the placement of production")
        names = [OBSERVED] if keeps else list(told.chosen)
        if not change or rows[change]["stands"] == NOTHING:
            assert found.about["answer"] == names
            continue
        trade = f", unless the trade with {told.chosen[0]} is worth it" if told.chosen else ""
        wanted = f"keep production{trade}" if keeps else ", ".join(names) or "none"
        assert rows[change]["answer"] == wanted
        barred = {name for one in told.left_out for name in one.names}
        ranks = found.frames["ranks"].filter(change=change)
        assert set(ranks.drop_nulls("barred")["policy"]) == barred
        usual = next(iter(found.about["answer"]), "")
        assert (rows[change]["stands"] == BARRED) == (usual in barred)
        holds = rows[change]["stands"] in {SAME, TRADE}
        assert holds == (usual in names and usual not in barred)


HOLDS = Answered(names=("a", "b"), subject="a", criterion="cpu_max_fraction", said="", barred={})
#: The answer under a change, and how that of the defaults stands there.
STANDS: list[tuple[dict[str, Any], str]] = [
    ({}, SAME),
    ({"names": ("b", "a")}, SAME),
    ({"names": ("b",)}, OTHER),
    ({"names": (OBSERVED,)}, KEPT),
    ({"names": (), "said": "No policy can be recommended: chance."}, UNTOLD),
    ({"names": ("b",), "barred": {"a": "left containers waiting"}}, BARRED),
    ({"names": (), "barred": {"a": "left containers waiting"}}, BARRED),
]


@pytest.mark.parametrize(("here", "wanted"), STANDS)
def test_how_an_answer_stands(here: dict[str, Any], wanted: str) -> None:
    changed = dataclasses.replace(HOLDS, **here)
    assert stands(HOLDS, changed) == wanted
    assert bool(why(HOLDS, changed)) == (wanted != SAME)


@pytest.mark.slow
def test_a_change_under_which_nothing_fits_is_told(store: Path) -> None:
    found = vary_assumptions(
        store,
        policies=["first_fit", "worst_fit"],
        changes=["background=none", "node_cpu_cores=zero"],
    )
    told = found.frames["changes"].filter(change="node_cpu_cores=zero")
    assert "node_cpu_cores" in told["problem"][0]
    assert set(found.frames["ranks"]["change"]) == {BASE, "background=none"}


def test_where_no_change_can_be_replayed_none_is_proposed_again() -> None:
    found = varied()
    failed = found.frames["changes"].with_columns(
        pl.lit("nothing fits").alias("problem"), pl.lit(None, dtype=pl.String).alias("stands")
    )
    found = dataclasses.replace(found, frames={**found.frames, "changes": failed})
    assert answer(found).startswith("Nothing can be told: no changed assumption")
    assert following(found) == []
    assert problems(found)[0] == "node_cpu_cores=52: nothing fits"


def test_a_change_that_failed_is_not_proposed_again() -> None:
    found = varied()
    about = {**found.about, "answer": [], "answer_said": "No policy can be recommended: chance."}
    about["changes"] = ["node_cpu_cores=52", "limit_factor=0"]
    ((_, command),) = following(dataclasses.replace(found, about=about))
    assert "node_cpu_cores=52" in command
    assert "limit_factor" not in command
    assert subject(dataclasses.replace(found, about=about)) == NONE


def test_bad_calls(store: Path) -> None:
    with pytest.raises(TracekitError, match="no measure 'imbalance'"):
        vary_assumptions(store, measure="imbalance")
    with pytest.raises(TracekitError, match="one policy has no rank"):
        vary_assumptions(store, policies=["lra"])
    with pytest.raises(TracekitError, match="no such store"):
        vary_assumptions(store / "nowhere", policies=["lra", "bra"])


@pytest.mark.slow
def test_a_store_with_sizes_has_changes_of_its_own(tmp_path: Path) -> None:
    found = vary_assumptions(stored(tmp_path).path, policies=["first_fit", "worst_fit"], repeats=1)
    changes = found.frames["changes"]
    assert set(changes["change"]) == set(SIZED_CHANGES)
    problems = changes.filter(changes["problem"].is_not_null())["problem"].to_list()
    assert not problems


@pytest.mark.slow
def test_what_leaves_the_workload_as_it_is_is_not_counted(tmp_path: Path) -> None:
    """Every change whose workload differs in an array is replayed, and no other one."""
    store = stored(tmp_path)
    usual = workload(store)
    differ = {
        change
        for change in SIZED_CHANGES
        if any(
            repr(getattr(load, field)) != repr(getattr(usual, field))
            for load in (workload(store, change),)
            for field in ("times_ms", "arrival_ms", "departure_ms", "usage", "background",
                          "request", "resources", "container_ids")
        )
    }  # fmt: skip
    policies = ["first_fit", "worst_fit"]
    found = vary_assumptions(store.path, policies=policies, repeats=1)
    same = found.frames["changes"].filter(stands=NOTHING)["change"].to_list()
    assert same
    assert not differ & set(same)
    assert not set(found.frames["ranks"]["change"]) & set(same)
    assert f"{len(SIZED_CHANGES)} assumptions were changed, one at a time" in question(found)
    none = vary_assumptions(store.path, policies=policies, changes=same[:1], repeats=6)
    assert f"1 change alters nothing here: {same[0]}." in answer(none) or not none.about["answer"]


@pytest.mark.slow
def test_without_a_measure_the_first_that_separates_ranks(store: Path) -> None:
    found = vary_assumptions(store, policies=["best_fit", "worst_fit"], changes=["limit_factor=2"])
    chosen = find_measure(found.about["measure"])
    assert chosen is not None
    assert chosen.better
    told = found.frames["ranks"].filter(pl.col("policy") != OBSERVED, change=BASE)["value"]
    assert told.n_unique() == 2
    alike = vary_assumptions(store, policies=["first_fit", "bcdi"], changes=["limit_factor=2"])
    assert alike.about["measure"] == USUAL


@pytest.mark.slow
def test_a_measure_of_a_resource_that_a_change_brings_is_told(store: Path) -> None:
    with pytest.raises(TracekitError, match="the workload has no measure 'gpu_max_fraction'"):
        vary_assumptions(
            store, policies=["lra", "bra"], changes=["background=none"],
            measure="gpu_max_fraction",
        )  # fmt: skip


def test_without_a_measure_what_decides_the_answer_ranks() -> None:
    """One measure in the answer and in the ranks beside it."""
    assert that_decides(HOLDS) == "cpu_max_fraction"
    assert not that_decides(dataclasses.replace(HOLDS, criterion=OVERLOAD))
    assert not that_decides(dataclasses.replace(HOLDS, criterion=""))
