"""Runs: their rows, seeds, placements by name, and the run folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import STEP_MS, changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.policy.placement import all_policies
from tracekit.replay.runs.one import by_name, by_number
from tracekit.replay.runs.run import Run, choose_policies, replay
from tracekit.replay.runs.run_folder import (
    decisions_without_use,
    write_run,
)

RESERVOIR = "least_allocated[tie=reservoir]"

LOAD = workload(
    [(100, 100)] * 8, [(at * 10, 9000, 5 + at % 7, 3 + at % 5, at % 8) for at in range(40)]
)
FILES = ("manifest.json", "summary.parquet", "steps.parquet", "placements.parquet")


def run(*names: str, load: Workload = LOAD, seed: int = 0) -> Run:
    return replay(load, choose_policies(Entrants.of(names), load), seed=seed)


def test_common_are_ten() -> None:
    names = [str(policy) for policy in choose_policies(Entrants.of(["common"]), LOAD)]
    assert names[0] == "observed"
    assert len(names) == 11
    assert set(names) < set(all_policies())


def test_without_recorded_nodes_there_is_no_observed_row() -> None:
    load = workload([(100, 100)], [(0, 9000, 1, 1)])
    summary = run("first_fit", load=load).summary
    assert summary["policy"].to_list() == ["first_fit", "bound"]
    assert summary["moves"].to_list() == [0, 0]  # a bound places nobody, so that it moves nobody
    assert "observed" not in [str(policy) for policy in choose_policies(Entrants.of(["all"]), load)]
    with pytest.raises(TracekitError):
        choose_policies(Entrants.of(["observed"]), load)


def test_summary_takes_the_settled_steps() -> None:
    made = run("first_fit")
    steps = made.steps.filter(pl.col("policy") == "first_fit", pl.col("settled"))
    row = made.summary.filter(pl.col("policy") == "first_fit").row(0, named=True)
    assert row["imbalance_mean"] == pytest.approx(steps["imbalance"].mean())
    assert row["cpu_max_fraction"] == steps["cpu_max_fraction"].max()
    assert row["placed"] + row["pending"] == LOAD.containers.count
    assert row["parameters"] == "tie=first"


def test_what_is_pinned_is_no_decision_without_use() -> None:
    """Of six that come before the first sample could be seen three are daemons."""
    load = workload([(90, 90)] * 3, [(0, 9000, 8, 8)] * 6 + [(2 * STEP_MS, 9000, 8, 8)])
    policy = "target_load_packing"
    [chosen] = choose_policies(Entrants.of([policy]), load)
    assert decisions_without_use(run(policy, load=load), chosen) == 6
    pinned = changed(load, rules={"pinned": np.array([0, 1, 2, -1, -1, -1, -1])})
    assert decisions_without_use(run(policy, load=pinned), chosen) == 3
    [chosen] = choose_policies(Entrants.of(["first_fit"]), load)
    assert decisions_without_use(run("first_fit", load=load), chosen) == 0


@pytest.mark.slow
def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(run("all", RESERVOIR), tmp_path / name)
    for file in FILES:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_another_seed_breaks_ties_otherwise() -> None:
    first, second = run(RESERVOIR, seed=1).placements, run(RESERVOIR, seed=2).placements
    chosen = pl.col("policy") == RESERVOIR
    assert not first.filter(chosen).equals(second.filter(chosen))


def test_adding_a_policy_changes_no_other_result() -> None:
    alone, among = run(RESERVOIR), run("all", RESERVOIR)
    chosen = pl.col("policy") == RESERVOIR
    assert alone.placements.filter(chosen).equals(among.placements.filter(chosen))
    assert alone.steps.filter(chosen).equals(among.steps.filter(chosen))


def test_the_manifest_spells_everything_out(tmp_path: Path) -> None:
    write_run(run("least_allocated", seed=4), tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["schema"] == "tracekit/replay/1"
    assert manifest["seed"] == 4
    assert manifest["workload"]["containers"] == 40
    assert manifest["policies"][1]["parameters"] == {
        "tie": "first", "resources": "cpu:1+memory:1"
    }  # fmt: skip
    assert str(tmp_path) not in json.dumps(manifest)


def test_a_run_folder_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    target = tmp_path / "run"
    write_run(run("first_fit"), target)
    (target / "report.html").write_text("beside it")
    write_run(run("least_allocated"), target)
    assert sorted(path.name for path in target.iterdir()) == [
        "manifest.json", "moves.parquet", "nodes.parquet", "placements.parquet", "report.html",
        "stays.parquet", "steps.parquet", "summary.parquet", "timing.parquet",
    ]  # fmt: skip
    assert (target / "report.html").read_text() == "beside it"
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(TracekitError):
        write_run(run("first_fit"), mine)
    assert (mine / "thesis.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "run"]


TWO_NODES = workload([(10, 10)] * 2, [(0, 9000, 1, 1, 0)] * 3)


def test_every_policy_has_a_row_for_every_container() -> None:
    one = by_number(np.array([1, -1, 0]), np.array([5, -1, 7]))
    other = by_number(np.array([-1, -1, -1]), np.array([-1, -1, -1]))
    assert one.rows() == [(1, 5), (None, None), (0, 7)]
    named = by_name(TWO_NODES, [("one", one), ("other", other)])
    assert named.columns == ["policy", "container", "service", "node", "time_ms", "outcome"]
    names, (first, second) = TWO_NODES.containers.ids, TWO_NODES.nodes.ids
    assert named.rows() == [
        ("one", names[0], TWO_NODES.containers.services[0], second, 5, "placed"),
        ("one", names[1], TWO_NODES.containers.services[1], None, None, "pending"),
        ("one", names[2], TWO_NODES.containers.services[2], first, 7, "placed"),
        *[
            ("other", name, service, None, None, "pending")
            for name, service in zip(names, TWO_NODES.containers.services, strict=True)
        ],
    ]
