"""The extender's experiments: with a clock that counts, so that their tables are known."""

from __future__ import annotations

from itertools import count

import polars as pl
import pytest

from tracekit.replay.studies import ExtenderStudy
from tracekit.replay.studies.extender_study import POLICIES, study_extender


def test_load_by_container_and_time_of_a_decision() -> None:
    ticks = count()
    study = ExtenderStudy(orders=2, decisions=3)
    frames = study_extender(study, clock=lambda: next(ticks) / 1000).frames
    # every reading of the clock is one millisecond after the last
    assert frames["latency"]["mode"].to_list() == ["default", "cached", "refetched"]
    assert frames["latency"]["decisions"].to_list() == [3, 3, 3]
    assert frames["latency"]["median_ms"].to_list() == pytest.approx([1.0] * 3)
    loads = frames["loads"]
    assert loads.height == len(POLICIES) * study.orders * study.containers * 2 * study.nodes
    # a container more adds to one node, and leaves none with less
    of_node = loads.sort("containers").group_by("policy", "order", "resource", "node")
    grown = of_node.agg(pl.col("load_fraction").diff().drop_nulls().min())
    assert (grown["load_fraction"] >= 0).all()
    moved = loads.filter(resource="cpu").group_by("policy", "order", "containers").agg(
        pl.col("load_fraction").sum()
    )  # fmt: skip
    for (_, _), part in moved.group_by("policy", "order"):
        assert part.sort("containers")["load_fraction"].is_sorted()
    last = frames["curves"].filter(containers=study.containers)
    assert last["spread_fraction"].to_list() == pytest.approx(
        (last["high_fraction"] - last["low_fraction"]).to_list()
    )
