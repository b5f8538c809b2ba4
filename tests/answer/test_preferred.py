"""Which of the policies goes first that chance does not tell apart."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from replay_support import workload

from tracekit.answer.decision import decision
from tracekit.answer.fitness import YARDSTICK, yardstick
from tracekit.answer.preferred import rules_out_overload
from tracekit.replay.policy.entrant import parse_entrant
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.run_folder import manifest_of

#: 18 overloaded node-steps are allowed.
WORKLOAD = {"nodes": 130, "steps": 1440}
NEVER = (0,) * 6
#: Its mean is within 18, its interval is not.
WILD = (3, 1, 2, 17, 3, 16)


def run(
    stranded: dict[str, float],
    overloaded: dict[str, tuple[int, ...]] | None = None,
    memory: dict[str, float] | None = None,
    noise: dict[str, float] | None = None,
) -> Results:
    """Six orders; the first measure that tells is stranded CPU."""
    rng = np.random.Generator(np.random.PCG64(5))
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": float((overloaded or {}).get(name, NEVER)[at]),
            "cpu_stranded_share": share + (noise or {}).get(name, 0.002) * rng.normal(),
            "memory_stranded_share": (memory or {}).get(name, 0.1) + 0.001 * rng.normal(),
        }
        for at in range(6)
        for name, share in stranded.items()
    ]
    frame = pl.DataFrame(rows)
    about = {"workload": WORKLOAD, "repeats_cover": ["order of arrival"]}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


def test_the_least_risk_goes_first_and_the_answer_says_so() -> None:
    """The policy of the best mean may overload nodes beyond what is allowed; another does not."""
    found = run(
        {"observed": 0.4, "default_scheduler": 0.1, "tsbo": 0.1005, "poor": 0.4},
        {"default_scheduler": WILD},
    )
    assert not rules_out_overload(found, "default_scheduler")
    assert rules_out_overload(found, "tsbo")
    told = decision(found)
    assert set(told.chosen) == {"tsbo", "default_scheduler"}
    assert (told.chosen[0], told.criterion) == ("tsbo", "cpu_stranded_share")
    assert told.why_first == (
        "chance does not rule out that default_scheduler overloads nodes more than a policy may"
    )
    assert told.answer.startswith("tsbo: stranded CPU is 9.93")
    assert told.why_first in told.answer


def test_where_chance_rules_it_out_for_none_the_least_overloaded_goes_first() -> None:
    more = tuple(2 * steps for steps in WILD)
    found = run(
        {"observed": 0.4, "bdi": 0.1, "tsbo": 0.1005, "poor": 0.4}, {"bdi": more, "tsbo": WILD}
    )
    told = decision(found)
    assert told.chosen[0] == "tsbo"
    assert told.why_first == "it overloads nodes less than bdi"


def test_a_noisy_lowest_mean_does_not_hide_what_is_better_beyond_chance() -> None:
    """Of the lowest mean nothing is told; of the next one it is, and it may be chosen."""
    found = run(
        {"observed": 0.4, "bdi": 0.05, "default_scheduler": 0.1, "poor": 0.4}, noise={"bdi": 0.4}
    )
    told = decision(found)
    assert (told.chosen, told.criterion) == (("default_scheduler",), "cpu_stranded_share")


@pytest.mark.parametrize(
    ("others", "first", "why"),
    [
        (("default_scheduler", "worst_fit"), "default_scheduler", "it is what clusters run"),
        (("worst_fit", "tsbo"), "worst_fit", "it is the simpler rule"),
    ],
)
def test_of_equal_risk_the_usual_then_the_simplest_goes_first(
    others: tuple[str, ...], first: str, why: str
) -> None:
    found = run({"observed": 0.4, "cwt": 0.1, **dict.fromkeys(others, 0.1008), "poor": 0.4})
    told = decision(found)
    assert set(told.chosen) == {"cwt", *others}
    assert told.chosen[0] == first
    assert told.why_first.startswith(why)


def test_no_simple_rule_goes_first_that_is_not_better_than_production() -> None:
    """It is within chance of the best, which is better than production, and is not itself."""
    stranded = {"observed": 0.1, "cwt": 0.07, "worst_fit": 0.07, "poor": 0.4}
    found = run(stranded)
    assert found.repeats is not None
    wild = pl.when(policy="worst_fit").then(0.02 * (pl.col("repeat") - 2.5)).otherwise(0.0)
    spread = found.repeats.with_columns(pl.col("cpu_stranded_share") + wild)
    told = decision(Results(found.manifest, found.summary, spread))
    assert told.chosen == ("cwt",)


def test_what_is_too_little_to_count_beats_nobody() -> None:
    """Without production, nothing that tells: 0.3 points of memory, however sure, are nothing."""
    found = run({"random": 0.1, "default_scheduler": 0.1}, {"full": (900,) * 6})
    rng = np.random.Generator(np.random.PCG64(7))
    noise = pl.Series(0.0001 * rng.normal(size=12))
    apart = pl.when(policy="random").then(0.1).otherwise(0.103) + noise
    repeats = found.repeats.with_columns(apart.alias("memory_stranded_share"))  # type: ignore[union-attr]
    full = repeats.filter(policy="random").with_columns(
        pl.lit("full").alias("policy"), pl.lit(900.0).alias("overloaded_node_steps")
    )
    rows = pl.concat([repeats, full])
    told = decision(Results(found.manifest, rows.filter(repeat=0).drop("repeat"), rows))
    assert told.criterion == "overloaded_node_steps"
    assert told.chosen == ("default_scheduler", "random")


def test_less_risk_is_not_beaten_by_what_is_better_otherwise() -> None:
    """What is at risk is better by memory too: it stays within chance, and does not go first."""
    stranded = {"observed": 0.4, "bdi": 0.1, "tsbo": 0.1005, "poor": 0.4}
    memory = {"bdi": 0.05}
    told = decision(run(stranded, {"bdi": WILD}, memory))
    assert told.chosen == ("tsbo", "bdi")
    # of the same risk the one that is better by another measure is left alone
    assert decision(run(stranded, None, memory)).chosen == ("bdi",)


def test_beside_production_that_is_kept_the_nearest_is_of_least_risk() -> None:
    found = run(
        {"observed": 0.05, "default_scheduler": 0.1, "tsbo": 0.1005, "poor": 0.4},
        {"default_scheduler": WILD},
    )
    told = decision(found)
    assert (told.chosen, told.nearest) == ((), "tsbo")
    assert "tsbo, which comes nearest," in told.answer
    assert "default_scheduler has " in told.answer
    assert "which is within chance of that; tsbo comes first: chance" in told.answer


def one_order(times: int, **about: list[int]) -> Results:
    """Three policies of six orders, and ``full`` of one, in which it overloads nodes so often."""
    found = run({"observed": 0.4, "cwt": 0.1, "bdi": 0.4, "full": 0.3}, {"full": (times,) * 6})
    once = found.repeats.filter(~pl.col("policy").is_in(["full"]))  # type: ignore[union-attr]
    return Results({**found.manifest, **about}, found.summary, once)


def test_one_draw_judges_nobody() -> None:
    """Who met one order is neither barred nor worse, if others could make up for what it showed."""
    # 18 on average are allowed: 108 in one of six orders, where the others have none
    told = decision(one_order(108))
    assert told.unjudged == ("full",)
    assert told.left_out == ()
    met_all = run({"observed": 0.4, "cwt": 0.1, "bdi": 0.4, "full": 0.3}, {"full": (108,) * 6})
    assert [one.names for one in decision(met_all).left_out] == [("full",)]


def test_what_no_order_could_make_up_for_bars_at_once() -> None:
    told = decision(one_order(109))
    assert told.unjudged == ()
    why = (
        "nodes needed more than they have in 109 node-steps, production 0, in one order of"
        " arrival; even without any in 5 more it would be too much"
    )
    assert [(one.names, one.why) for one in told.left_out] == [(("full",), why)]


def test_more_orders_to_come_prove_nothing() -> None:
    """With twelve orders planned twice as much could be made up."""
    assert decision(one_order(109, repeats_looks=[6, 12])).unjudged == ("full",)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("tbesk_exact", True),
        ("0.5*tbesk_exact+0.5*best_fit", True),
        ("tbesk_exact+load_spread", True),
        ("0.5*first_fit+0.5*best_fit", False),
    ],
)
def test_a_yardstick_is_one_in_a_profile_and_beside_a_rebalancer(text: str, is_one: bool) -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 40, 40)] * 2)
    made = replay(load, [parse_entrant(text)], seed=0)
    assert yardstick(results(made), text) == is_one
    (about,) = manifest_of(made)["policies"]
    assert (about["used_by"] == "yardstick") == is_one


def test_a_yardstick_is_left_out_and_never_first() -> None:
    """The best mean is of a policy that no scheduler runs; of equal ones the other is named."""
    found = run({"observed": 0.4, "tbesk_exact": 0.05, "tsbo": 0.1, "poor": 0.4})
    known = [{"policy": name, "name": name} for name in found.policies]
    about = {**found.manifest, "policies": known}
    told = decision(Results(about, found.summary, found.repeats))
    assert told.chosen == ("tsbo",)
    assert [(one.names, one.why) for one in told.left_out] == [(("tbesk_exact",), YARDSTICK)]
    assert "tbesk_exact" not in told.answer
    assert found.repeats is not None
    mine = found.repeats.filter(policy="tsbo")
    others = found.repeats.filter(pl.col("policy").is_in(["observed", "poor"]))
    same = pl.concat([mine.with_columns(policy=pl.lit("tbesk_exact")), mine, others])
    both = Results(about, same.filter(repeat=0).drop("repeat"), same)
    assert ("tbesk_exact", "tsbo") in both.groups
    told = decision(both)
    assert told.chosen == ("tsbo",)
    assert told.left_out == ()


def test_the_first_of_equal_ones_does_not_hang_on_the_order_that_was_asked_for() -> None:
    """It said "Use best_fit" or "Use worst_fit" by which --policy came first."""
    values = {"best_fit": 0.52, "worst_fit": 0.5, "first_fit": 0.52, "observed": 0.6}
    for names in itertools.permutations(("best_fit", "worst_fit", "first_fit")):
        rows = [
            {
                "policy": name,
                "repeat": at,
                "pending": 0.0,
                "overloaded_node_steps": 100.0 if name == "observed" else 0.0,
                # what differs is within chance
                "memory_max_fraction": values[name] + 0.3 * ((at + (name == "worst_fit")) % 2),
            }
            for at in range(6)
            for name in ("observed", *names)
        ]
        frame = pl.DataFrame(rows)
        about = {"workload": {"nodes": 10, "steps": 100}, "seed": 0}
        told = decision(Results(about, frame.filter(repeat=0).drop("repeat"), frame))
        assert told.criterion == "overloaded_node_steps"
        assert told.chosen == ("worst_fit", "best_fit", "first_fit")
