"""The cheapest nodes that are enough, against every set of nodes of a small cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from given_source import given_source
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload

from tracekit.answer.fewest.search import fewest
from tracekit.answer.fewest.search.fewest import fewest_nodes
from tracekit.answer.fewest.search.found import Fewest
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.answer.fewest.search.trials import COST
from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.fewest.words import costs, drains_told
from tracekit.answer.fewest.words.next import following
from tracekit.answer.fewest.words.told import short, told
from tracekit.errors import TracekitError
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import replay_one
from tracekit.replay.workload.changed.on_nodes import on_nodes
from tracekit.replay.workload.workload import Workload
from tracekit.study import Study

#: Six small nodes of 40 for 0.10, two large ones of 160 for 0.50; 16 containers of 10.
SMALL, LARGE = (40, 1000), (160, 4000)
PRICES = (0.1,) * 6 + (0.5,) * 2
LIMIT = "cpu_max_fraction <= 0.8"


def priced(load: Workload, prices: tuple[float, ...]) -> Workload:
    return dataclasses.replace(load, price_per_hour=np.array(prices))


MIXED = priced(
    workload([SMALL] * 6 + [LARGE] * 2, [(0, 9000, 10, 10)] * 16, used_share=1.0), PRICES
)


def shrunk(load: Workload, *limits: str, **more: Any) -> Study:
    asked = {"policies": ["least_allocated"], "limits": limits or [LIMIT], "repeats": 1, **more}
    return shrink_cluster(given_source(load), **asked)


def row(study: Study) -> dict[str, Any]:
    return study.frames["policies"].row(0, named=True)


def test_the_fewest_nodes_are_not_the_cheapest() -> None:
    """Two large ones hold all for 1.00; six small ones do for 0.60."""
    few, cheap = shrunk(MIXED), shrunk(MIXED, least=COST)
    assert (row(few)["nodes"], row(few)["cost_kept_per_hour"]) == (2, pytest.approx(1.0))
    assert (row(cheap)["nodes"], row(cheap)["cost_kept_per_hour"]) == (6, pytest.approx(0.6))
    assert row(cheap)["cost_bound_per_hour"] == pytest.approx(160 / 0.8 * 0.1 / 40, rel=0.02)
    assert row(cheap)["going"] == "dearest"
    assert (
        "Those that stay cost 0.60 per hour, of 1.60 for all 8, the least that was found"
        in short(cheap)
    )
    found = told(few)
    assert found is not None
    assert "--least cost does that" in costs.kept(found.best, found.nodes, found.about)
    commands = [asked for _, asked in following(found, to=lambda name: f"R/studies/{name}")]
    ends = f"--least cost --out R/studies/cheapest-{found.best['policy']}"
    assert any(asked.endswith(ends) for asked in commands)
    assert all(" --out R/studies/" in asked for asked in commands)


def test_of_several_policies_the_cheapest_comes_first() -> None:
    """One has to keep nodes half empty, on fewer and dearer ones than the six small ones."""
    both = ["least_allocated", "worst_fit"]
    limits = (LIMIT, "least_allocated: cpu_mean_fraction <= 0.5")
    study = shrunk(MIXED, *limits, policies=both, least=COST)
    assert study.frames["policies"].select("policy", "nodes").rows() == [
        ("worst_fit", 6),
        ("least_allocated", 5),
    ]
    assert short(study).startswith("6 of 8 nodes are enough for worst_fit")
    assert "cost 0.60 per hour, of 1.60 for all 8, the least that was found" in short(study)


def test_what_is_not_known_of_one_node_is_not_summed() -> None:
    """The large nodes stay, whose prices are known; the others have none."""
    study = shrunk(priced(MIXED, (np.nan,) * 6 + PRICES[6:]))
    found = told(study)
    assert found is not None
    assert found.best["cost_kept_per_hour"] == pytest.approx(1.0)
    assert costs.kept(found.best, found.nodes, found.about) == ""
    assert "what they cost is not known, as 6 of 8 have no price" in drains_told.goes(found)


def test_a_limit_on_what_nodes_cost_asks_for_the_cheapest() -> None:
    """On all eight nodes it breaks, which says nothing: it holds on fewer."""
    found = shrunk(MIXED, LIMIT, "cost_per_hour <= 0.7")
    assert row(found)["cost_kept_per_hour"] == pytest.approx(0.6)
    with pytest.raises(TracekitError) as told:
        shrunk(MIXED, LIMIT, "cost_per_hour <= 0.5")
    assert (
        "for the other limits (6 nodes, each paid for) cost of nodes in use per hour would"
        " come to 0.6, above 0.5" in str(told.value)
    )


def test_a_limit_on_the_nodes_in_use_is_met_by_fewer_nodes() -> None:
    assert row(shrunk(MIXED, LIMIT, "nodes_used_max <= 3"))["nodes"] == 2
    with pytest.raises(TracekitError, match=r"\(2 nodes\) .* would come to 2, above 1"):
        shrunk(MIXED, LIMIT, "nodes_used_max <= 1")


WRONG = [
    ("price", MIXED, "--least 'price' is not known"),
    (
        COST,
        dataclasses.replace(MIXED, price_per_hour=None),
        "--least cost asks what nodes cost, and 8 of 8 have no price",
    ),
    (COST, priced(MIXED, (*PRICES[:-1], np.nan)), "and 1 of 8 have no price"),
]


@pytest.mark.parametrize(("least", "load", "said"), WRONG)
def test_what_cannot_be_least_is_one_line(least: str, load: Workload, said: str) -> None:
    with pytest.raises(TracekitError) as told:
        shrunk(load, least=least)
    assert said in told.value.what


rows_of = some.lists(
    some.tuples(some.integers(5, 60), some.integers(5, 60)), min_size=2, max_size=6
)
prices_of = some.lists(some.integers(1, 9), min_size=5, max_size=5)


@pytest.mark.slow
@settings(max_examples=25)
@given(rows_of, prices_of, some.sampled_from(["first_fit", "best_fit"]))
def test_no_set_is_cheaper_than_the_bound_and_the_set_found_holds(
    sizes: list[tuple[int, int]], prices: list[int], name: str
) -> None:
    shapes = [(100, 60), (60, 100), (120, 80), (80, 80), (140, 140)]
    load = workload(shapes, [(0, 9000, *size) for size in sizes], used_share=1.0)
    load = priced(load, tuple(float(one) for one in prices))
    policy, limits = parse_policy(name), parse_limits(["cpu_max_fraction <= 0.9"], [name])

    def holds(kept: tuple[int, ...]) -> bool:
        made = replay_one(on_nodes(load, np.array(kept)), policy, 0).row
        return not made["pending"] and made["cpu_max_fraction"] <= 0.9

    try:
        found = fewest_nodes(load, policy, limits, seed=0, repeats=1, by=COST)
    except TracekitError:
        return
    kept = tuple(np.sort(found.place[: found.nodes]).tolist())
    paid = sum(prices[at] for at in kept)
    # where a limit breaks on all nodes, the search by number may find none where that by cost does
    with contextlib.suppress(TracekitError):
        few = fewest_nodes(load, policy, limits, seed=0, repeats=1)
        assert paid <= sum(prices[at] for at in few.place[: few.nodes])
    every = (some_ for size in range(1, 6) for some_ in itertools.combinations(range(5), size))
    by_price = sorted((sum(prices[at] for at in one), one) for one in every)
    least = next(price for price, one in by_price if holds(one))
    assert holds(kept)
    assert found.cheapest is not None
    assert found.cheapest <= least + 1e-9
    assert least <= paid


#: Kinds of 4, 8 and 32 cores for 0.25, 0.40 and 2.00; 24 containers of 2 cores.
THREE = priced(
    workload([(4, 64)] * 6 + [(8, 64)] * 4 + [(32, 64)] * 2, [(0, 9000, 2, 1)] * 24),
    (0.25,) * 6 + (0.4,) * 4 + (2.0,) * 2,
)


def test_how_many_of_each_kind_stay_is_chosen() -> None:
    """The knapsack: 4 small and 4 middle ones hold 48 for 2.60, what no order of removal leaves."""
    found = shrunk(THREE, "cpu_max_fraction <= 1", least=COST, policies=["best_fit"])
    counts = {
        prefix: sum(name in kept for name in THREE.node_ids[begin:end])
        for kept in [found.frames["nodes"].filter("kept")["node"].to_list()]
        for prefix, begin, end in (("small", 0, 6), ("middle", 6, 10), ("large", 10, 12))
    }
    assert counts == {"small": 4, "middle": 4, "large": 0}
    assert row(found)["cost_kept_per_hour"] == pytest.approx(2.6)
    assert row(found)["cost_bound_per_hour"] == pytest.approx(2.6)
    assert "the least that was found; none can cost less (proven)" in short(found)
    exactly = shrunk(THREE, "cpu_max_fraction <= 1", "cost_per_hour <= 2.6", policies=["best_fit"])
    assert row(exactly)["cost_kept_per_hour"] == pytest.approx(2.6)
    with pytest.raises(TracekitError) as told:
        shrunk(THREE, "cost_per_hour <= 2.6", least="nodes", policies=["best_fit"])
    assert (
        "on the fewest nodes found for the other limits (2 nodes, each paid for) cost of nodes"
        in str(told.value)
    )
    assert told.value.hint == "--least cost looks for cheaper nodes"


def test_a_limit_on_cost_is_on_all_nodes_that_are_kept() -> None:
    """Most containers leave at half of the time: nodes in use cost less than those kept."""
    short_lived = [(0, 4000, 10, 10)] * 3 + [(0, 2000, 10, 10)] * 13
    load = priced(workload([SMALL] * 6 + [LARGE] * 2, short_lived, used_share=1.0), PRICES)
    found = shrunk(load, LIMIT, "cost_per_hour <= 0.6")
    best = row(found)
    assert best["cost_per_hour"] < best["cost_kept_per_hour"] == pytest.approx(0.6)
    with pytest.raises(TracekitError, match=r"each paid for\) cost .* come to 0.6, above 0.55"):
        shrunk(load, LIMIT, "cost_per_hour <= 0.55")


#: 3 nodes of 4 for 0.20, 2 of 16 for 0.90; 30 containers of 3: 13 have a place, 17 lack one.
LACKING = priced(
    workload([(4, 64)] * 3 + [(16, 64)] * 2, [(0, 9000, 3, 1)] * 30, used_share=1.0),
    (0.2,) * 3 + (1.3,) * 2,
)


@pytest.mark.parametrize(
    ("least", "large", "small", "kept", "paid"),
    [("nodes", 4, 0, 6, 6 * 1.3), (COST, 3, 2, 10, 5 * 1.3 + 5 * 0.2)],
)
def test_the_nodes_to_add_are_the_fewest_or_the_cheapest(
    least: str, large: int, small: int, kept: int, paid: float
) -> None:
    """With 4 large ones more the 3 small ones can go: 6 nodes for 7.80.

    With 3 large and 2 small ones all 10 stay, for 7.50.
    """
    found = shrunk(LACKING, "cpu_max_fraction <= 1", least=least, policies=["best_fit"])
    added = found.frames["nodes"].filter(pl.col("like_node").is_not_null())
    like = added["like_node"].replace_strict({f"n{at}": at > 2 for at in range(5)}).to_list()
    assert (sum(like), len(like) - sum(like)) == (large, small)
    assert (row(found)["added_nodes"], row(found)["nodes"]) == (large + small, kept)
    assert row(found)["cost_kept_per_hour"] == pytest.approx(paid)
    # with fewer a limit breaks, or it is proven that no fewer are enough
    assert (row(found)["fails"] is None) == (row(found)["bound"] == kept)
    assert row(found)["bound"] <= 9
    best = told(found)
    assert best is not None
    said = drains_told.goes(best).replace("\N{NO-BREAK SPACE}", " ")
    kinds = found.frames["kinds"].filter("chosen")["like_node"].to_list()
    assert (kinds == [None]) == bool(small)
    assert ("all of one kind, which takes the least" in said) == (not small)
    assert "Instead of these are enough:" in said


def test_the_cheapest_stands_where_the_fewest_are_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search by number goes through fewer orders of nodes, so that it may end without one."""
    policy, limits = parse_policy("least_allocated"), parse_limits([LIMIT], ["least_allocated"])
    usual = fewest._found

    def found(*given_: Any, by: str, **more: Any) -> Fewest:
        if by == COST:
            return usual(*given_, by=by, **more)
        raise TooFewError("a limit breaks on all of them")

    monkeypatch.setattr(fewest, "_found", found)
    cheap = fewest.fewest_nodes(MIXED, policy, limits, seed=0, repeats=1, by=COST)
    assert cheap.nodes == 6
