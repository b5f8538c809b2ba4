"""Who has the better mean by what decides and is not chosen: named, with the reason."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.answer.advice import alike
from tracekit.answer.decision import decision
from tracekit.replay.runs.results import Results

ORDERS = 6
#: Nodes used in each order, and stranded CPU: few nodes always, and fewer nodes in most orders.
NODES = {
    "first_fit": [14.0] * ORDERS,
    "balanced_allocation": [14.0, 15.0, 24.0, 25.0, 24.0, 22.0],
    "observed": [39.0] * ORDERS,
}


def _made(stranded: dict[str, float]) -> Results:
    rng = np.random.Generator(np.random.PCG64(1))
    rows = [
        {
            "repeat": at,
            "policy": name,
            "pending": 0,
            "overloaded_node_steps": 0,
            "nodes_used_mean": nodes[at],
            "cpu_stranded_share": stranded[name] + 0.0001 * rng.random(),
        }
        for name, nodes in NODES.items()
        for at in range(ORDERS)
    ]
    repeats = pl.DataFrame(rows)
    load = {"nodes": 40, "containers": 300, "background": {"cpu": 0.0, "memory": 0.0}}
    about = {"repeats_cover": ["order of arrival"], "policies": [], "workload": load}
    return Results(about, repeats.filter(repeat=0).drop("repeat"), repeats)


def test_who_has_the_better_mean_is_named_with_what_speaks_against_it() -> None:
    """What is called the lowest is the lowest, whoever is chosen."""
    found = _made({"first_fit": 0.2, "balanced_allocation": 0.01, "observed": 0.01})
    told = decision(found)
    assert (told.chosen, told.criterion) == (("balanced_allocation",), "nodes_used_mean")
    assert told.why_first == "first_fit, at 14 within chance of it, is worse by stranded CPU"
    said = "within chance of the lowest of 2 policies that may be chosen (first_fit, 14"
    assert said in told.answer
    assert alike(found, told) == f"{told.why_first}."
