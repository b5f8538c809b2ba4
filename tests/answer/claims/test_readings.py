"""What claims are judged by, read from frames whose truth is known."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

from tracekit.answer.claims.every import claim_facts, recorded, with_all
from tracekit.answer.claims.experiments import stands_from
from tracekit.answer.claims.table import TRACE, all_claims
from tracekit.answer.claims.trace import has_cliff, has_period
from tracekit.base.facts import Fact
from tracekit.replay.studies.placement_study import counts
from tracekit.report.sentences import command

RNG = np.random.default_rng(0)


def of(frames: dict[str, pl.DataFrame], *experiments: str) -> dict[str, Fact]:
    facts = claim_facts(lambda name: frames.get(name, pl.DataFrame()), experiments)
    return {one.subject: one for one in facts}


def profile(samples: int) -> pl.DataFrame:
    """130 nodes, of which 24 are busy and 4 idle: shares of the study's own counts."""
    cpu = np.concatenate([np.full(24, 0.8), np.full(4, 0.2), np.full(102, 0.5)])
    return pl.DataFrame(
        {
            "node": [f"n{at:03}" for at in range(130)],
            "samples": samples,
            "cpu_mean": cpu,
            "cpu_std": 0.1,
            "memory_mean": 0.7,
            "memory_std": 0.02,
            "util_diff": np.abs(cpu - 0.7),
            "pearson_r": np.linspace(-1, 1, 130),
            "zone": ["B"] * 130,
        }
    )


def test_counts_are_held_to_the_printed_ones() -> None:
    result = of({"usage/node_profile": profile(1440)}, "trace")
    assert (result["busy_nodes"].value, result["busy_nodes"].against) == (2400, 2387)
    assert result["idle_nodes"].value == 400
    assert result["far_apart"].value == 400
    assert result["node_memory"].verdict == "holds"
    assert result["memory_steadier"].value == pytest.approx(0.08)
    # 24 of 130 may as well be 15 % or 25 %
    assert result["busy_nodes"].because == "within_chance"


def test_one_sample_says_nothing_of_a_deviation_nor_of_a_mean() -> None:
    stays = pl.DataFrame(
        {"container": [f"c{at}" for at in range(130)], "samples": 1, "cpu_std": 0.0, "cpu_max": 0.3}
    ).with_columns(pl.Series("node", profile(1)["node"]), cpu_mean=pl.col("cpu_max"))
    frames = {
        "usage/node_profile": profile(1),
        "usage/container_profile": stays,
        "usage/node_containers": stays.select("node", containers=pl.lit(8)),
        "usage/cohort_members": stays.select("node", cohort=pl.lit("MEMSKEW")),
    }
    result = of(frames, "trace")
    assert {one.verdict for one in result.values()} == {"cannot_tell"}
    enough = {name: one.with_columns(pl.lit(1440).alias("samples")) if "samples" in one.columns
              else one for name, one in frames.items()}  # fmt: skip
    expected = of(enough, "trace")
    assert expected["skewed_container_cpu"].verdict == "holds"
    assert expected["skewed_container_std"].verdict == "does_not_hold"
    assert expected["containers_per_node"].verdict == "holds"


def test_a_period_and_a_cliff_are_found_where_they_are() -> None:
    at, noise = np.arange(24), RNG.normal(0, 0.01, (200, 24))
    waves = 0.5 + 0.1 * np.sin(2 * np.pi * at / 6) + noise
    falls = np.where(at < 15, 0.7, 0.4) + noise
    trends = 0.7 - 0.01 * at + noise
    flat = 0.5 + noise
    assert all(map(has_period, waves))
    assert not any(map(has_cliff, waves))
    assert all(map(has_cliff, falls))
    assert not any(map(has_cliff, flat))
    assert not any(map(has_cliff, 1.1 - falls))  # a rise is no fall
    assert not any(map(has_cliff, 0.5 + 0.1 * (flat - 0.5)))
    # of series without a period about one in twenty has one by chance
    assert 0 < sum(map(has_period, flat)) < 24
    assert sum(map(has_period, trends)) < 24


def placed(curves: dict[str, list[float]]) -> dict[str, pl.DataFrame]:
    """Eight sets with these curves and a little noise; nodes of bra are far apart."""
    at = counts(400)
    rows = [
        {"policy": name, "set": one, "containers": count, "imbalance": value + 1e-4 * one}
        for name, curve in curves.items()
        for one in range(8)
        for count, value in zip(at, curve, strict=True)
    ]
    ends = [
        {
            "policy": name,
            "set": one,
            "resource": resource,
            "low_fraction": 0.55,
            "high_fraction": 0.95 + (0.4 if name == "bra" else 0.0),
            "overfull_nodes": 3 if name == "bra" else 0,
        }
        for name in curves
        for one in range(8)
        for resource in ("cpu", "memory", "net", "disk")
    ]
    return {
        "search_placement/sets": pl.DataFrame(rows),
        "search_placement/ends": pl.DataFrame(ends),
    }


def test_a_claim_on_the_whole_is_judged_on_the_whole() -> None:
    """TBESK above BRA nearly all the way and below it only at the end, as an audit found."""
    result = of(
        placed(
            {
                "tbesk": [0.06, 0.05, 0.05, 0.02],
                "tbesk_exact": [0.08, 0.07, 0.07, 0.01],
                "lra": [0.08, 0.065, 0.06, 0.03],
                "bra": [0.03, 0.03, 0.03, 0.03],
            }
        ),
        "placement",
    )
    assert result["tbesk_bra"].verdict == "does_not_hold"
    assert result["tbesk_lra"].verdict == "holds"
    # scoring every node is more even at the end alone
    assert result["tbesk_exact"].verdict == "holds"
    assert result["tbesk_net_low"].verdict == result["tbesk_overfull"].verdict == "holds"
    assert result["lra_overfull"].verdict == "does_not_hold"
    assert result["bra_overfull"].verdict == "holds"
    assert result["cpu_alike"].verdict == "does_not_hold"


def test_losses_on_test_functions_stand_beside_wins() -> None:
    words = ["better"] * 4 + ["even"] * 6 + ["worse"] * 10
    searches = ["tbesk[mutated=proposed]", *["bes"] * 20]
    frame = pl.DataFrame(
        {"search": searches, "variant": "original", "tbesk_is": ["better", *words]}
    )
    (fact,) = of({"search_functions/summary": frame}, "functions").values()
    assert (fact.value, fact.about_it("worse_fraction")) == (0.2, 0.5)
    assert fact.verdict == "does_not_hold"


def sized(qos: float) -> dict[str, pl.DataFrame]:
    plain = {"container_memory_fraction": 0.5, "change_share": 0.1, "node_g": 0.11}
    rows = [
        {"seed": seed, "policy": name, **plain, "qos": served, "container_cpu_fraction": cpu,
         "node_cpu_fraction": cpu + seed / 1000}
        for seed in range(3)
        for name, served, cpu in (
            ("ddqn", qos, 0.9), ("minimum_selection", 0.97, 0.5), ("random_selection", 0.9, 0.5)
        )
    ]  # fmt: skip
    return {"size/table": pl.DataFrame(rows)}


def test_a_gain_where_nothing_is_served_is_none() -> None:
    """As an untrained network showed: much CPU in use at 2 % QoS."""
    bad, good = of(sized(0.02), "sizing"), of(sized(0.97), "sizing")
    for name in ("agent_container_cpu", "agent_node_cpu", "agent_container_memory", "agent_node_g"):
        assert (bad[name].verdict, bad[name].because) == ("does_not_hold", "not_met")
        assert good[name].verdict == "holds"


def test_a_reward_stands_from_where_it_stays() -> None:
    assert stands_from(np.array([1.0, 80, 91, 60, 90, 92, 91])) == 5
    assert stands_from(np.array([91.0, 91, 91])) == 1


def test_every_claim_is_listed_whatever_was_run() -> None:
    assert [one.subject for one in with_all(())] == list(all_claims())
    given = of({"usage/node_profile": profile(1440)}, "trace")["node_cpu"]
    changed = dataclasses.replace(given, value=0.123)
    listed = {one.subject: one for one in with_all([changed])}
    assert listed["node_cpu"].value == 0.123


def test_times_of_decisions_are_held_to_the_printed_ratios() -> None:
    noise = RNG.normal(1, 0.01, 100)
    for slower, verdict in ((4.439, "holds"), (1.7, "does_not_hold")):
        took = {"default": 0.945, "cached": slower, "refetched": 250 * slower}
        rows = [
            {"mode": mode, "decision": at, "took_ms": ms * one}
            for mode, ms in took.items()
            for at, one in enumerate(noise if mode == "cached" else np.ones(100))
        ]
        result = of({"extender/decisions": pl.DataFrame(rows)}, "extender")
        assert result["extender_slower"].verdict == verdict
        assert result["fetching_slower"].verdict == "holds"


def test_commands_are_of_the_store_and_of_the_folders_beside_it() -> None:
    store = all_claims()["busy_nodes"].of_store("mystore").arguments
    assert (store["STORE"], store["NAME"]) == ("mystore", "usage/node_cohorts")
    bound = all_claims()["binding_first_free"].of_store("out/store").arguments
    assert (bound["STORE"], bound["fit"], bound["repeat"]) == ("out/store", "out/fit", "6")
    for claim in all_claims().values():
        assert claim.experiment == TRACE or claim.of_store("demo/store") == claim.followup


def test_what_is_recorded_is_of_the_commands_of_the_table() -> None:
    made = {one.experiment: command(one.followup) for one in all_claims().values()}
    of_experiments = {name: one["command"] for name, one in recorded().items()}
    assert of_experiments == {name: line for name, line in made.items() if name != TRACE}
    for one in with_all(()):
        if one.about_it("experiment") != TRACE:
            assert one.about_it("commit")
            assert (one.about_it("samples") or 0) >= all_claims()[one.subject].fewest  # type: ignore[operator]
