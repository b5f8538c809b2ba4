"""How many nodes the policy needs that a run names: what the stage of ``tracekit run`` does."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given_source import given_source
from replay_support import workload
from store_support import tree

from tracekit.answer import followed as runs_followed
from tracekit.answer.decision import decision
from tracekit.answer.fewest import after_run, facts, few_nodes
from tracekit.answer.fewest.after_run import nodes_after
from tracekit.answer.repeat import repeat_replay
from tracekit.crew.crew import Alone, OnProgress, Task
from tracekit.replay.runs.one import replay_nodes
from tracekit.replay.runs.run import choose_policies
from tracekit.replay.runs.run_folder import write_run
from tracekit.replay.workload.source import WorkloadSource
from tracekit.study import read_study

POLICIES = ("best_fit", "worst_fit")


def made(
    folder: Path, repeats: int, names: Sequence[str] = POLICIES
) -> tuple[Path, WorkloadSource]:
    """A run of two policies on a cluster of twelve nodes that are far from full."""
    rng = np.random.Generator(np.random.PCG64(4))
    rows = [(at * 100, 9000, *rng.integers(5, 25, 2).tolist(), at % 12) for at in range(30)]
    fixed = workload([(100, 100)] * 12, rows)
    load = dataclasses.replace(
        fixed,
        usage=np.repeat(fixed.request.T[:, None], 4, axis=1).astype(np.float32),
        exchangeable=np.arange(30) < 25,
        settled_ms=2000,
    )
    policies = choose_policies(names, load, ())
    run = repeat_replay(load, policies, seed=0, repeats=repeats)
    write_run(run, folder / "replay", store=None)
    return folder / "replay", given_source(load)


def asked(run: Path, source: WorkloadSource, out: Path, **more: Any) -> str:
    given = {"policies": POLICIES, "seed": 0, "crew": Alone(), **more}
    return nodes_after(run, source, out, **given)[1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, WorkloadSource, Path]:
    folder = tmp_path_factory.mktemp("after")
    run, source = made(folder, 6)
    out = folder / "studies" / "fewest"
    assert asked(run, source, out) == ""
    return run, source, out


def test_the_policy_that_the_run_names_is_searched_for(
    whole: tuple[Path, WorkloadSource, Path],
) -> None:
    run, _, out = whole
    study = read_study(out)
    row = study.frames["policies"].row(0, named=True)
    assert row["policy"] == decision(run).chosen[0]
    assert row["bound"] <= row["nodes"] < row["of"] == 12
    assert study.about["repeats"] == 6
    assert not list(out.parent.glob(".*"))


def test_interrupted_it_goes_on_to_the_same_bytes(
    whole: tuple[Path, WorkloadSource, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, source, out = whole
    calls = 0
    replay = replay_nodes

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise KeyboardInterrupt
        return replay(*given, **named)

    monkeypatch.setattr(few_nodes, "replay_nodes", counted)
    with pytest.raises(KeyboardInterrupt):
        asked(run, source, tmp_path / "fewest")
    kept = sorted(tmp_path.glob(".fewest.unfinished/*.json"))
    assert len(kept) == 8
    kept[0].write_text(kept[0].read_text() + " ")
    assert asked(run, source, tmp_path / "fewest") == ""
    together = calls
    assert asked(run, source, tmp_path / "again") == ""
    # the one that was interrupted, and the one that was damaged
    assert together <= (calls - together) + 2
    assert tree(tmp_path / "fewest") == tree(out)
    assert not list(tmp_path.glob(".*"))


class Two(Alone):
    """A crew of two that does each task here, as another process would read it."""

    size = 2

    def submit(self, task: Task[Any], on_progress: OnProgress) -> Future[Any]:
        again = pickle.loads(pickle.dumps(task))  # noqa: S301 - our own
        return super().submit(again, on_progress)


def test_several_processes_find_the_same(
    whole: tuple[Path, WorkloadSource, Path], tmp_path: Path
) -> None:
    run, source, out = whole
    assert asked(run, source, tmp_path / "fewest", crew=Two()) == ""
    assert tree(tmp_path / "fewest") == tree(out)


def test_what_is_not_asked_says_why_and_leaves_no_older_answer(
    whole: tuple[Path, WorkloadSource, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, source, out = whole
    few, _ = made(tmp_path, 2)
    old = tmp_path / "fewest"
    old.mkdir()
    assert "none can be recommended" in asked(few, source, old)
    assert not old.exists()
    monkeypatch.setattr(after_run, "LARGEST_ONCE", 12 * 30 // 3)
    monkeypatch.setattr(runs_followed, "LARGEST", 12 * 30 // 3)
    why = asked(run, source, old)
    assert "one replay of 30 containers on 12 nodes is 3.0 times as large as the largest" in why
    assert out.exists()


def test_a_large_one_is_searched_for_in_one_order_unless_the_policy_searches_itself(
    whole: tuple[Path, WorkloadSource, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, source, _ = whole
    for module in (after_run, facts, runs_followed):
        monkeypatch.setattr(module, "LARGEST", 12 * 30 // 3)
    out = tmp_path / "fewest"
    assert asked(run, source, out) == ""
    assert read_study(out).about["repeats"] == 1
    told = dataclasses.replace(decision(run), chosen=("tbesk[iterations=5]",))
    assert "a search replays tbesk" in after_run.unasked(told, (), containers=30, nodes=12)
    told = dataclasses.replace(told, chosen=("best_fit",))
    assert not after_run.unasked(told, (), containers=30, nodes=12)


@pytest.mark.slow
def test_beside_the_named_policy_stands_what_clusters_run_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, source = made(tmp_path, 6, ("default_scheduler", *POLICIES))
    out = tmp_path / "studies" / "fewest"
    named = "worst_fit"
    told = dataclasses.replace(decision(run), chosen=(named,), simple="best_fit")
    monkeypatch.setattr(after_run, "decision", lambda _: told)
    assert asked(run, source, out, policies=("default_scheduler", *POLICIES)) == ""
    study = read_study(out)
    assert study.about["policies"] == [named, "default_scheduler", "best_fit"]


def test_where_none_is_recommended_nodes_are_counted_for_what_clusters_run(
    tmp_path: Path,
) -> None:
    """Two orders tell nothing, so that no policy is recommended."""
    names = ("default_scheduler", *POLICIES)
    run, source = made(tmp_path, 2, names)
    assert not decision(run).subject
    out = tmp_path / "studies" / "fewest"
    assert asked(run, source, out, policies=names) == ""
    assert read_study(out).about["policies"] == ["default_scheduler"]
