"""What leads the first page: the nodes that can go, where none needs relief, else the policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from report_memory_support import LOAD as MADE_UP_LOAD
from report_studies_support import fewest

from tracekit.report.contents import answer, nodes_needed
from tracekit.report.data import Data

#: When the steps of a run are.
TIMES = {"time_min_ms": 0, "time_max_ms": 99 * 30_000, "step_ms": 30_000}
LOAD = {**MADE_UP_LOAD, "quantities": {"use of containers": "recorded"}}


def ran(
    production: float,
    nodes: int = 6,
    replayed: Mapping[str, Any] = LOAD,
    studied: Mapping[str, Any] = LOAD,
) -> Data:
    """lra is best by memory; production's fullest node uses this much CPU, ``nodes`` are enough."""
    peaks = {"observed": 0.6, "lra": 0.4, "bra": 0.5}
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": 0.0,
            "cpu_max_fraction": production if name == "observed" else 0.5,
            "memory_max_fraction": peak + 0.0001 * at * (name != "observed"),
        }
        for at in range(6)
        for name, peak in peaks.items()
    ]
    repeats = pl.DataFrame(rows)
    study = fewest()
    measures = {"cpu_max_fraction": production, "memory_max_fraction": 0.6}
    about = {
        **study.about,
        "scale": 1,
        "workload": studied,
        "observed": {"nodes": 10, "breaks": [], "measures": measures},
    }
    some = study.frames["policies"].with_columns(nodes=pl.lit(nodes), problem=pl.lit(None))
    frames = {**study.frames, "policies": some.filter(policy="lra")}
    run = {
        "workload": {**TIMES, **replayed},
        "repeats": 6,
        "repeats_cover": ["order of arrival"],
        "policies": [{"policy": name, "name": name} for name in peaks],
    }
    return Data(
        run=run,
        run_frames={"summary": repeats.filter(repeat=0).drop("repeat"), "repeats": repeats},
        studies={study.name: dataclasses.replace(study, about=about, frames=frames)},
    )


def test_nodes_lead_where_no_node_needs_relief() -> None:
    found = answer.answer(ran(0.6))
    assert found.lead.replace("\u00a0", " ").startswith("6 of 10 nodes are enough for lra")
    also = found.also.replace("\u00a0", " ")
    assert also.startswith("On all 10: under lra highest memory use is")
    assert also.endswith(
        "No node needs relief, though: the fullest uses 60 % of its CPU and 60 % of its memory in"
        " production."
    )
    first, second = (one.replace("\u00a0", " ") for one in answer.told(ran(0.6)))
    assert first.startswith("6 of 10 nodes are enough")
    assert second == also


@pytest.mark.parametrize(("production", "nodes"), [(0.85, 6), (0.6, 10)])
def test_the_policy_leads_where_a_node_is_full_or_none_can_go(
    production: float, nodes: int
) -> None:
    found = answer.answer(ran(production, nodes))
    assert found.lead.replace("\u00a0", " ").startswith("Use lra: highest memory use is")
    assert "relief" not in found.also
    assert answer.told(ran(production, nodes))[0].startswith("Use ")


def test_a_count_is_shown_where_some_nodes_left_by_themselves() -> None:
    """It leaves them out, and the run has them: the answer stood on no page."""
    replayed = {**LOAD, "nodes": 12}
    for known, shown in (({"nodes_with_left": 12}, True), ({"nodes_with_left": 13}, False)):
        data = ran(0.6, replayed=replayed, studied={**LOAD, **known})
        assert bool(nodes_needed.whole(data)) == shown
