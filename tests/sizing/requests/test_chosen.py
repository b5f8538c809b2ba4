"""Which policy is followed: one with a margin, CPU and memory weighed apart."""

from __future__ import annotations

import polars as pl
import pytest
from plain_requests import GIB, random_use

from tracekit.sizing.policies import (
    all_sizing_policies,
    parse_sizing_policies,
    parse_sizing_policy,
)
from tracekit.sizing.requests.study import (
    POLICIES,
    every_policy,
    margin_of,
    requests_of,
    subject_of,
)

VPA, PERCENTILE, MOST, ORACLE = (str(parse_sizing_policy(name)) for name in POLICIES)
WORKLOAD = {"name": "store", "store": "a store", "made_up": False}


def totals(**found: tuple[float, float, float, int]) -> pl.DataFrame:
    """By policy: cores freed of 100, GiB freed of 100, share above, services at risk."""
    rows = [
        {
            "policy": {"vpa": VPA, "percentile": PERCENTILE, "most": MOST, "oracle": ORACLE}[name],
            "resource": resource,
            "requested_now": 100.0 * scale,
            "requested": (100.0 - freed) * scale,
            "freed": freed * scale,
            "above_share": above,
            "services_at_risk": risky if resource == "cpu" else 0,
        }
        for name, (cores, gib, above, risky) in found.items()
        for resource, freed, scale in (("cpu", cores, 1.0), ("memory", gib, float(GIB)))
    ]
    return pl.DataFrame(rows)


def followed(found: pl.DataFrame, risk_share: float = 0.05) -> str:
    names = found["policy"].unique(maintain_order=True)
    return subject_of(found, [parse_sizing_policy(name) for name in names], risk_share)


def test_the_most_there_was_without_a_margin_is_not_followed() -> None:
    best = totals(vpa=(10, 10, 0.01, 0), most=(40, 40, 0.0, 0), oracle=(60, 60, 0.0, 0))
    assert followed(best) == VPA
    # not even where the one with a margin is beyond the risk
    assert followed(totals(vpa=(10, 10, 0.2, 9), most=(40, 40, 0.0, 0))) == VPA
    assert followed(totals(most=(40, 40, 0.0, 0), oracle=(60, 60, 0.0, 0))) == MOST
    margins = [margin_of(parse_sizing_policy(name)) for name in (VPA, PERCENTILE, MOST)]
    assert margins == [0.15, 0.15, 0.0]


def test_the_fewest_services_at_risk_come_before_what_is_freed() -> None:
    assert followed(totals(vpa=(40, 40, 0.01, 4), percentile=(20, 20, 0.01, 0))) == PERCENTILE
    # at the risk is within it; what frees nothing is worth nothing
    assert followed(totals(vpa=(40, 40, 0.05, 0), percentile=(20, 20, 0.01, 0))) == VPA
    assert followed(totals(vpa=(40, 40, 0.01, 0), percentile=(0, 0, 0.01, 0))) == VPA
    # beyond the risk is out, however few are at risk
    assert followed(totals(vpa=(40, 40, 0.01, 4), percentile=(20, 20, 0.06, 0))) == VPA


def test_cores_do_not_make_up_for_bytes() -> None:
    # added up, 60 and 10 would be more than 30 and 30
    assert followed(totals(vpa=(60, 10, 0.01, 0), percentile=(30, 30, 0.01, 0))) == PERCENTILE
    # a risk in memory alone is a risk
    one = totals(vpa=(60, 60, 0.0, 0), percentile=(30, 30, 0.0, 0)).with_columns(
        above_share=pl.when(policy=pl.lit(VPA), resource=pl.lit("memory"))
        .then(0.2)
        .otherwise(pl.col("above_share"))
    )
    assert followed(one) == PERCENTILE


@pytest.mark.parametrize("seed", [1, 2, 5, 7])  # in each somebody is gone before it is judged
def test_a_study_follows_one_with_a_margin(seed: int) -> None:
    use = random_use(seed)
    study = requests_of(use, every_policy(), workload=WORKLOAD, risk_share=0.5)
    assert study.about["subject"] in {VPA, PERCENTILE}
    facts = study.about["facts"]
    end = len(use.times_ms) * use.step_ms
    alive = (use.arrival_ms < end) & (use.departure_ms > end - facts["judged_ms"])
    assert facts["containers"] == alive.sum() < len(alive)
    assert facts["services"] == len(set(use.service[alive].tolist()))


def test_all_names_every_policy_and_each_once() -> None:
    names = [str(one) for one in parse_sizing_policies(["all", "oracle"], every_policy())]
    assert {name.split("[")[0] for name in names} == set(all_sizing_policies())
    assert len(set(names)) == len(names)
