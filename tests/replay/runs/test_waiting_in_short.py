"""Who waits, on a terminal: three kinds in all, and where the others are."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.replay.runs.waiting import waiting_told
from tracekit.replay.runs.waiting_in_short import waiting_in_short

WHERE = "run/manifest.json"


def waits(policy: str, containers: int) -> dict[str, Any]:
    """A policy under which four kinds of containers wait."""
    kinds = [
        {
            "service": f"s{at}",
            "containers": containers,
            "request": {"cpu_milli": 1000 * (at + 1)},
            "nodes": 3,
            "may_take": 3,
            "closed": {},
            "in_the_way": {"cpu_milli": 3},
            "most_free": {"cpu_milli": 10},
        }
        for at in range(4)
    ]
    return {"policy": policy, "waiting": {"containers": 4 * containers, "gone": 0, "kinds": kinds}}


@pytest.mark.parametrize(
    ("counts", "begins", "last"),
    [
        ([], [], None),
        ([7], ["p0"], None),
        ([7, 7], ["p0 and p1"], None),
        ([7, 5], ["p1", "p0"], f"more kinds that wait, and why: {WHERE}"),
        (
            [9, 7, 5, 8, 6],
            ["p2", "p4", "p1"],
            f"2 more policies left containers waiting, too; more kinds that wait, and why: {WHERE}",
        ),
    ],
)
def test_three_kinds_in_all_the_fewest_that_wait_first(
    counts: list[int], begins: list[str], last: str | None
) -> None:
    policies = [waits(f"p{at}", many) for at, many in enumerate(counts)]
    told = waiting_in_short(policies, WHERE)
    assert [one.partition(" left")[0] for one in told[: len(begins)]] == begins
    assert told[len(begins) :] == ([last] if last else [])
    kinds = sum(one.count(" requested") for one in told)
    assert kinds == (3 if len(begins) in (1, 3) else len(begins))
    if len(begins) == 1:
        assert told == waiting_told(policies)
