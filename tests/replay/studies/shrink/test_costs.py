"""The cheapest nodes that are enough, against every set of nodes of a small cluster."""

from __future__ import annotations

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

from tracekit.errors import TracekitError
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import replay_one
from tracekit.replay.studies.shrink import costs, drains_told
from tracekit.replay.studies.shrink.fewest import fewest_nodes
from tracekit.replay.studies.shrink.limits import parse_limits
from tracekit.replay.studies.shrink.next import following
from tracekit.replay.studies.shrink.study import shrink_cluster
from tracekit.replay.studies.shrink.told import short, told
from tracekit.replay.studies.shrink.trials import COST
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
    assert "Their nodes cost 0.60 per hour, of 1.60 now, the least that was found" in short(cheap)
    found = told(few)
    assert found is not None
    assert "--least cost does that" in costs.kept(found.best, found.nodes, "nodes")
    assert any(asked.endswith("--least cost") for _, asked in following(found))


def test_a_limit_on_what_nodes_cost_asks_for_the_cheapest() -> None:
    """On all eight nodes it breaks, which says nothing: it holds on fewer."""
    found = shrunk(MIXED, LIMIT, "cost_per_hour <= 0.7")
    assert row(found)["cost_kept_per_hour"] == pytest.approx(0.6)
    with pytest.raises(TracekitError) as told:
        shrunk(MIXED, LIMIT, "cost_per_hour <= 0.5")
    assert "on the 6 nodes that the other limits need cost_per_hour is 0.6, above 0.5" in str(
        told.value
    )


def test_a_limit_on_the_nodes_in_use_is_met_by_fewer_nodes() -> None:
    assert row(shrunk(MIXED, LIMIT, "nodes_used_max <= 3"))["nodes"] == 2
    with pytest.raises(TracekitError, match=r"on the 2 nodes .* nodes_used_max is 2, above 1"):
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
    every = (some_ for size in range(1, 6) for some_ in itertools.combinations(range(5), size))
    least = min(sum(prices[at] for at in one) for one in every if holds(one))
    assert holds(kept)
    assert found.cheapest is not None
    assert found.cheapest <= least + 1e-9
    assert least <= paid
    fewer = fewest_nodes(load, policy, limits, seed=0, repeats=1)
    assert paid <= sum(prices[at] for at in fewer.place[: fewer.nodes].tolist())


def test_of_one_kind_alone_fewer_may_be_enough() -> None:
    """60 containers of 10: 6 small ones hold 18, 2 large ones 24; so 18 more are to be held."""
    load = priced(
        workload([SMALL] * 6 + [LARGE] * 2, [(0, 9000, 10, 10)] * 60, used_share=1.0), PRICES
    )
    found = shrunk(load)
    assert row(found)["nodes"] > 8
    kinds = found.frames["kinds"].with_columns(
        pl.col("like_node").replace_strict({f"n{at}": at for at in range(8)}) >= 6
    )
    assert dict(kinds.select("like_node", "more").iter_rows()) == {True: 2, False: 6}
    best = told(found)
    assert best is not None
    assert (
        "Of one kind alone are enough: 2 with 0.16 cores and 4.0 kB (1.00 per hour), or 6 with"
        " 0.04 cores and 1.0 kB (0.60 per hour)."
    ) in drains_told.goes(best).replace("\N{NO-BREAK SPACE}", " ")
