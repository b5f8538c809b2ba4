"""Studies for reports, made up, and the answer of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
from plain_requests import random_use

from tracekit.answer.comparison.run_compare import CHANGES_SCHEMA
from tracekit.base.facts import Answer, Fact, Scalar, answer_of
from tracekit.base.study import Study
from tracekit.sizing.requests.study import every_policy, requests_of


def studies() -> Mapping[str, Study]:
    """A small study of each kind that a page shows."""
    again = replace(fewest(), frames={**fewest().frames, "sizes": sizes(less=1)})
    made = (comparison(), varied(), fewest(), requested(), extender())
    return {**{study.name: study for study in made}, "fewest-recommended": again}


def extender() -> Study:
    """Spread of load by container, as ``tracekit extender-bench`` leaves it."""
    rows = [
        {
            "policy": policy,
            "resource": resource,
            "containers": count,
            "low_fraction": 0.1,
            "high_fraction": 0.1 + spread * count,
            "spread_fraction": spread * count,
        }
        for policy, spread in (("default_scheduler", 0.03), ("bnp", 0.02))
        for resource in ("cpu", "net")
        for count in range(1, 10)
    ]
    return Study(name="extender", about={}, frames={"curves": pl.DataFrame(rows)})


def varied() -> Study:
    """The decision under three changed assumptions, as ``tracekit sensitivity`` leaves them."""
    changes = pl.DataFrame(
        {
            "change": ["node_cpu_cores=52", "arrivals=recorded", "limit_factor=0"],
            "stands": ["barred", "same", None],
            "policy": ["bra", "lra", None],
            "because": ["overloads", None, None],
            "decided_by": ["nodes_used_mean", "nodes_used_mean", None],
            "agreement": [-1.0, 1.0, None],
            "most_moved": ["lra", "lra", None],
            "places": [1.0, 0.0, None],
            "first": ["bra", "lra", None],
            "problem": [None, None, "nothing fits"],
        }
    )
    return Study(name="assumptions", about={}, frames={"changes": changes})


def fewest() -> Study:
    """The fewest nodes under three policies, as ``tracekit nodes`` leaves them."""
    policies = pl.DataFrame(
        {
            "policy": ["lra", "bra", "random"],
            "nodes": [6, 8, None],
            "of": [10, 10, None],
            "bound": [5, 5, None],
            "nodes_low": [6, 7, None],
            "nodes_high": [6, 8, None],
            "going": ["smallest", "least_asked", None],
            "tightest": ["cpu_max_fraction <= 0.8", "cpu_max_fraction <= 0.8", None],
            "tightest_room": [0.05, 0.1, None],
            "fewer": [5, 7, None],
            "fails": ["cpu_max_fraction <= 0.8", None, None],
            "fails_measure": ["cpu_max_fraction", None, None],
            "fails_value": [0.81, None, None],
            "problem": [None, None, "already with all 10 nodes cpu_max_fraction is 1, above 0.8"],
            "cpu_max_fraction": [0.76, 0.72, None],
            "memory_max_fraction": [0.5, 0.4, None],
            "overloaded_node_steps": [0.0, 0.0, None],
        }
    )
    nodes = pl.DataFrame(
        {
            "policy": ["lra"] * 10,
            # the first is named as those of the trace of 2021 are, without a place to break at
            "node": [
                "ab" * 32,
                *(f"ip-192-168-123-{at}.eu-west-1.compute.internal" for at in range(231, 240)),
            ],
            "place": range(1, 11),
            "special": pl.Series([None] * 10, dtype=pl.String),
            "requested_fraction": [0.5] * 10,
            "kept": [at < 6 for at in range(10)],
            "cpu_p99_over_time_fraction": [0.74, 0.7, 0.6, 0.5, 0.4, 0.3, *[None] * 4],
            "cpu_max_fraction": [0.76, 0.7, 0.6, 0.5, 0.4, 0.3, *[None] * 4],
            "memory_max_fraction": [0.5] * 6 + [None] * 4,
            "cpu_cores": [64.0] * 8 + [32.0] * 2,
            "memory_bytes": [256 * 2**30] * 8 + [128 * 2**30] * 2,
        }
    )
    orders = pl.DataFrame(
        {
            "policy": ["lra"] * 2 + ["bra"] * 2,
            "repeat": [0, 1] * 2,
            "nodes": [6, 6, 7, 8],
        }
    )
    about = {
        "policies": ["lra", "bra", "random"],
        "limits": ["cpu_max_fraction <= 0.8"],
        "limits_given": True,
        "measures": ["cpu_max_fraction"],
        "scale": 1.5,
        "repeats": 2,
        "repeats_cover": ["order of arrival"],
        "repeats_none": "",
        "seed": 0,
        "nodes": 10,
        "workload": {
            "name": "store",
            "nodes": 10,
            "containers": 40,
            "steps": 5,
            "quantities": {"requests": "assumed", "placement": "recorded"},
            "store": "a store",
            "loader": None,
            "assume": [],
            "made_up": False,
        },
        "observed": {
            "nodes": 10,
            "breaks": ["cpu_max_fraction <= 0.8"],
            "measures": {
                "cpu_max_fraction": 0.82,
                "memory_max_fraction": 0.5,
                "overloaded_node_steps": 0,
            },
        },
    }
    frames = {"policies": policies, "nodes": nodes, "orders": orders, "sizes": sizes()}
    return Study(name="fewest_nodes", about=about, frames=frames)


def sizes(less: int = 0) -> pl.DataFrame:
    """Replays of the search on so many nodes, in two orders of arrival at the count it came to."""
    return pl.DataFrame(
        {
            "policy": ["lra"] * 5 + ["bra"],
            "repeat": [0, 0, 0, 1, 0, 0],
            "nodes": [10, 8, 6 - less, 6 - less, 5 - less, 10],
            "holds": [True, True, True, True, False, True],
            "cpu_p99_over_time_fraction": [0.6, 0.7, 0.68, 0.78, 0.86, 0.1],
            "memory_max_fraction": [0.3, 0.4, 0.45, 0.5, 0.55, 0.1],
            "cost_kept_per_hour": [10.0, 8.0, 6.0, 6.0, 5.0, 10.0],
        }
    )


def counted() -> Answer:
    """The facts of these counts, of production, and of a ceiling."""
    cpu = "cpu_p99_over_time_fraction"
    high = {"today": 0.5, "recorded": 0.78, "recommended": 0.75}
    own: dict[str, dict[str, Scalar]] = {
        case: {"case": case, "requests": case.replace("today", "recorded"), "of": 10}
        for case in high
    }
    needed = [
        Fact(kind="nodes_needed", subject="lra", value=value, about=own[case])
        for case, value in (("recorded", 6), ("recommended", 5))
    ]
    fullest = [
        Fact(kind="fullest_node", measure=cpu, value=value, about=own[case])
        for case, value in high.items()
    ]
    bound = Fact(kind="lower_bound", value=4, about={"case": "bound", "requests": "recommended"})
    verdict = Fact(
        kind="verdict", subject="lra", value=5, unit="nodes", because="fewer_nodes",
        about={"of": 10, "case": "recommended", "requests": "recommended"},
    )  # fmt: skip
    return answer_of(
        [
            verdict,
            *needed,
            *fullest,
            bound,
            Fact(kind="ceiling", measure=cpu, value=0.8, unit="fraction"),
        ]
    )


def requested() -> Study:
    """Requests recommended from the use of three services, as ``tracekit requests`` leaves them."""
    workload = {"name": "store", "store": "a store", "made_up": False}
    return requests_of(random_use(2), every_policy(), workload=workload)


def comparison() -> Study:
    """Two runs compared, as ``tracekit compare`` leaves them."""
    changes = pl.DataFrame(
        [
            ("lra", "imbalance_mean", 0.1, 0.2, 0.1, 0.05, 0.15, True, 8, -1.0, "worse"),
            ("lra", "pending", 0.0, 1.0, 1.0, None, None, False, 1, -1.0, "worse"),
            ("bra", "imbalance_mean", 0.2, 0.1, -0.1, -0.2, 0.0, True, 8, 0.0, "within chance"),
            ("bra", "qos_share", 0.9, 0.9, 0.0, 0.0, 0.0, True, 8, 0.0, "same"),
        ],
        schema=CHANGES_SCHEMA,
        orient="row",
    )
    outcomes = pl.DataFrame(
        {
            "threshold": ["imbalance_mean > base"],
            "policy": ["lra"],
            "measure": ["imbalance_mean"],
            "base": [0.1],
            "new": [0.2],
            "failed": [True],
            "outcome": ["failed"],
            "judged": ["mean"],
            "orders": [8],
            "new_worst": [0.25],
            "base_judged": ["mean"],
            "base_worst": [0.15],
            "base_measure": ["imbalance_mean"],
        }
    )
    about = {
        "base": "main",
        "new": "mine",
        "policies": ["lra", "bra"],
        "only_base": ["first_fit"],
        "only_new": [],
        "other_workload": False,
        "settings": [{"setting": "seed", "base": 0, "new": 1}],
    }
    return Study(
        name="comparison", about=about, frames={"changes": changes, "thresholds": outcomes}
    )
