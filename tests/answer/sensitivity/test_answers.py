"""The answer under a change is what a run says, also where it says to keep production."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.answer.advice import sentence
from tracekit.answer.decision import decision
from tracekit.answer.sensitivity.answers import KEPT, OTHER, SAME, TRADE, answered, stands, why
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED


def run(memory: float, name: str = "a") -> Results:
    """A policy with less use of CPU than production, and so much of memory; another has more."""
    rng = np.random.Generator(np.random.PCG64(0))
    means = {OBSERVED: (0.8, 0.3), name: (0.5, memory), "b": (0.9, 0.5)}
    rows = [
        {
            "policy": policy,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": 0.0,
            "cpu_max_fraction": cpu + 0.001 * rng.normal() * (policy != OBSERVED),
            "memory_max_fraction": full + 0.001 * rng.normal() * (policy != OBSERVED),
        }
        for at in range(6)
        for policy, (cpu, full) in means.items()
    ]
    frame = pl.DataFrame(rows)
    about = {"workload": {"nodes": 10, "steps": 100}, "seed": 0}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


def test_where_a_run_says_to_keep_production_unless_a_trade_so_does_a_change() -> None:
    trade, use, other = answered(run(0.42)), answered(run(0.3)), answered(run(0.42, "c"))
    said = sentence(run(0.42), decision(run(0.42)))
    assert said.startswith("Keep the placement of production, unless this trade")
    assert trade.said == said
    assert (trade.names, trade.trades) == ((OBSERVED,), ("a",))
    assert trade.text == "keep production, unless the trade with a is worth it"
    assert use.names[:1] == ("a",)
    told = [stands(*pair) for pair in ((trade, trade), (use, trade), (trade, use), (trade, other))]
    assert told == [SAME, KEPT, OTHER, TRADE]
    assert why(use, trade) == "a is better by highest CPU use and worse otherwise"
