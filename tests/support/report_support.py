"""All that a report may show, made up from a seed."""

from __future__ import annotations

import polars as pl
from report_queries_support import queries
from report_results_support import results
from report_runs_support import (
    manifest,
    nodes_frame,
    repeats_frame,
    steps_frame,
    summary_frame,
)
from report_studies_support import counted, studies

from tracekit.report.data import Data


def made_up(nodes: int = 40, samples: int = 50, steps: int = 50, more: int = 0) -> Data:
    """A store and a run with so many nodes, samples per node, steps and further policies."""
    frames, made = queries(nodes, samples), results(nodes)
    others = [f"policy_{at}" for at in range(more)]
    policies = ["observed", "first_fit", "least_allocated", *others]
    rows = {
        "observed": (0.2, 0.9, 0),
        "first_fit": (0.1, 1.0, 0),
        "least_allocated": (0.15, 0.8, 0),
        **{name: (0.1 + at / 1000, 0.8 + at / 500, 0) for at, name in enumerate(others)},
    }
    return Data(
        fetch=lambda name, _: frames[name],
        info={"tables": {}, "sources": []},
        run=manifest(policies),
        results=lambda name: made.get(name, pl.DataFrame()),
        studies=studies(),
        answer=counted(),
        run_frames={
            "summary": summary_frame({**rows, "bound": (0.05, 0.7, 0)}),
            "steps": steps_frame([*policies, "bound"], steps),
            "nodes": nodes_frame(policies, nodes),
            "repeats": repeats_frame(rows),
        },
    )
