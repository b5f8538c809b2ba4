"""Placement traces through the store: the same containers on the same nodes as by their loaders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from tests_support import shared_data
from workload_support import OPENB, TIANCHI, written

from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.runs.run import replay

#: What the loader of openb assumes; it knows nothing of the GPUs that pods insist on.
_STUDY = ("departures=none", "resources=cpu+memory", "selectors=none", "step_ms=10800000")


def placements(load: Workload, *more: str) -> pl.DataFrame:
    run = replay(load, [parse_policy(name) for name in ("first_fit", "best_fit", *more)], seed=3)
    return run.placements.select("policy", "container", "node", "outcome").sort(pl.all())


def both(
    folder: Path, name: str, tmp_path: Path, assume: Sequence[str]
) -> tuple[Workload, Workload]:
    ingest(folder, tmp_path / "store")
    stored = source_of(tmp_path / "store", None, assume=assume, seed=3).load()
    return stored, source_of(None, f"{name}:{folder}", seed=3).load()


@pytest.mark.parametrize(
    ("name", "files", "assume"),
    [
        ("openb", OPENB, _STUDY),
        ("tianchi18", TIANCHI, ()),
    ],
)
def test_placements_are_the_same(
    tmp_path: Path, name: str, files: dict[str, list[str]], assume: tuple[str, ...]
) -> None:
    stored, loaded = both(written(tmp_path / "files", files), name, tmp_path, assume)
    assert stored.node_ids == loaded.node_ids
    assert stored.container_ids == loaded.container_ids
    assert stored.request.tolist() == loaded.request.tolist()
    more = ("least_allocated", "random")
    assert placements(stored, *more).equals(placements(loaded, *more))


@pytest.mark.slow
def test_the_real_pods_of_openb(tmp_path: Path) -> None:
    stored, loaded = both(shared_data("openb"), "openb", tmp_path, _STUDY)
    found, wanted = placements(stored), placements(loaded)
    assert found.equals(wanted)
    used = {
        str(policy[0]): rows["node"].drop_nulls().n_unique()
        for policy, rows in found.group_by("policy")
    }
    assert used["first_fit"] == 1077
    assert used["best_fit"] == 1163
    assert demand_bound(stored) == 843
