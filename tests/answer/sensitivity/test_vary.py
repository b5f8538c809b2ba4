"""Changed assumptions: ranks, agreement with the defaults, and what cannot be replayed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cluster_support import stored, workload
from polars.testing import assert_frame_equal
from replay_support import fields_of
from store_support import tiny_store

from tracekit.answer.admissible import Barred
from tracekit.answer.decide import Choice, choose
from tracekit.answer.sensitivity.answers import BASE, stands
from tracekit.answer.sensitivity.study import SIZED_CHANGES, answer_of_sensitivity, vary_assumptions
from tracekit.base.errors import TracekitError
from tracekit.commands.replay import replay
from tracekit.policy.entrant import Entrants
from tracekit.replay.runs.results import results
from tracekit.store.folder import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("vary"))


def test_ranks_and_agreement(store: Store) -> None:
    changes = ["requests=uniform", "background=none", "limit_factor=2"]
    result = vary_assumptions(
        store, policies=Entrants.of(["first_fit", "worst_fit", "cwt"]).chosen, changes=changes
    )
    ranks = result.frames["ranks"]
    assert ranks["change"].unique(maintain_order=True).to_list() == [BASE, *changes[:2]]
    assert result.about["repeats"] == 6
    for _, part in ranks.group_by("change"):
        assert set(part.filter("best")["rank"]) <= {1.0}
        carried = part.filter(~pl.col("waited"))["value"]
        # where the measure tells no two policies apart none is best
        assert part.filter("best")["value"].min() in (carried.min(), None)
        assert (part["low"] <= part["value"]).all()
    by_name = {row["change"]: row for row in result.frames["changes"].iter_rows(named=True)}
    assert all(by_name[change]["stands"] != "nothing changes" for change in changes[:2])
    # limits are recorded
    assert by_name["limit_factor=2"]["stands"] == "nothing changes"
    assert by_name["limit_factor=2"]["agreement"] is None
    assert answer_of_sensitivity(result).facts[0].kind == "sensitivity"


@pytest.mark.slow
def test_what_is_assumed_throughout_is_the_base_of_every_change(store: Store) -> None:
    """The base is as the same assumption by itself; a change of its name takes its place."""
    policies, given = ["first_fit", "worst_fit"], "requests=uniform"
    alone = vary_assumptions(
        store, policies=Entrants.of(policies).chosen, changes=[given], measure="nodes_used_max"
    )
    both = vary_assumptions(
        store,
        policies=Entrants.of(policies).chosen,
        assume=[given],
        changes=["background=none", "requests=inferred"],
        measure="nodes_used_max",
    )
    under = alone.frames["ranks"].filter(change=given).drop("change")
    assert_frame_equal(both.frames["ranks"].filter(change=BASE).drop("change"), under)
    assert both.about["assume"] == [given]


def test_one_order_tells_nothing_and_says_so(store: Store) -> None:
    result = vary_assumptions(
        store,
        policies=Entrants.of(["first_fit", "worst_fit"]).chosen,
        changes=["background=none"],
        repeats=1,
    )
    # production is ranked beside the two
    assert result.frames["ranks"]["rank"].to_list() == [1.0] * 6
    assert result.frames["changes"]["stands"].to_list() == ["undecided"]
    answer = answer_of_sensitivity(result)
    assert answer.facts[0].because == "unknown"
    (more,) = answer.next
    assert more.arguments["repeat"] == 6


OF_LOAD = ("name", "nodes", "steps", "assumptions")
CHANGES = ("limit_factor=2", "background=none", "node_cpu_cores=30", "requests=uniform")


@pytest.mark.parametrize(
    "policies",
    [("first_fit", "worst_fit"), pytest.param(("best_fit", "cwt"), marks=pytest.mark.slow)],
)
def test_the_answer_under_each_change_is_that_of_a_run_with_it(
    store: Store, tmp_path: Path, policies: tuple[str, ...]
) -> None:
    """A run under the change, made for itself and read from its folder, decides alike."""
    result = vary_assumptions(store, policies=Entrants.of(policies).chosen, changes=CHANGES)
    rows = {row["change"]: row for row in result.frames["changes"].to_dicts()}
    for at, change in enumerate(("", *CHANGES)):
        if change and rows[change]["problem"]:
            continue
        out, assume = tmp_path / f"run{at}", [change] if change else []
        replay(store.path, ["observed", *policies], out=out, assume=assume, repeats=6)
        choice = choose(results(out), named=policies)
        load = results(out).manifest["workload"]
        assert change or result.about["workload"] == {name: load[name] for name in OF_LOAD}
        if not change or rows[change]["stands"] == "nothing changes":
            assert result.about["policy"] == choice.policy
            continue
        assert rows[change]["policy"] == (choice.policy or None)
        barred = {one.policy for one in choice.barred}
        ranks = result.frames["ranks"].filter(change=change)
        assert set(ranks.drop_nulls("barred")["policy"]) == barred
        usual = result.about["policy"]
        assert (rows[change]["stands"] == "barred") == (usual in barred)
        assert (rows[change]["stands"] == "same") == (
            usual == choice.policy and usual not in barred
        )


HOLDS = Choice(
    policy="a",
    because="in_use",
    measure="cpu_max_fraction",
    value=0.5,
    against=None,
    barred=(),
    may=("a", "b"),
    orders=6,
)
OVER = Barred(policy="a", because="overload")
#: The decision under a change, and how the policy recommended as assumed stands there.
STANDS: list[tuple[dict[str, Any], str]] = [
    ({}, "same"),
    ({"policy": "b"}, "another policy"),
    ({"because": "few_orders"}, "undecided"),
    ({"policy": ""}, "undecided"),
    ({"policy": "b", "barred": (OVER,)}, "barred"),
]


@pytest.mark.parametrize(("here", "wanted"), STANDS)
def test_how_an_answer_stands(here: dict[str, Any], wanted: str) -> None:
    assert stands(HOLDS, dataclasses.replace(HOLDS, **here)) == wanted


@pytest.mark.slow
def test_a_change_under_which_nothing_fits_is_told(store: Store) -> None:
    result = vary_assumptions(
        store,
        policies=Entrants.of(["first_fit", "worst_fit"]).chosen,
        changes=["background=none", "node_cpu_cores=zero"],
    )
    rows = result.frames["changes"].filter(change="node_cpu_cores=zero")
    assert "node_cpu_cores" in rows["problem"][0]
    assert set(result.frames["ranks"]["change"]) == {BASE, "background=none"}


@pytest.mark.slow
def test_a_store_with_sizes_has_changes_of_its_own(tmp_path: Path) -> None:
    result = vary_assumptions(
        stored(tmp_path), policies=Entrants.of(["first_fit", "worst_fit"]).chosen, repeats=1
    )
    changes = result.frames["changes"]
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
            repr(fields_of(load)[field]) != repr(fields_of(usual)[field])
            for load in (workload(store, change),)
            for field in ("use.times_ms", "containers.arrival_ms", "containers.departure_ms",
                          "use.values", "use.background", "containers.request", "resources",
                          "containers.ids")
        )
    }  # fmt: skip
    policies = ["first_fit", "worst_fit"]
    result = vary_assumptions(store, policies=Entrants.of(policies).chosen, repeats=1)
    same = result.frames["changes"].filter(stands="nothing changes")["change"].to_list()
    assert same
    assert not differ & set(same)
    assert not set(result.frames["ranks"]["change"]) & set(same)


@pytest.mark.slow
def test_a_measure_of_a_resource_that_a_change_brings_is_told(store: Store) -> None:
    with pytest.raises(TracekitError, match="'gpu_max_fraction'"):
        vary_assumptions(
            store, policies=Entrants.of(["lra", "bra"]).chosen, changes=["background=none"],
            measure="gpu_max_fraction",
        )  # fmt: skip
