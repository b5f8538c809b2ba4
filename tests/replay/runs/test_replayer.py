"""Replays in other processes, interrupted or of changed workloads give the same results."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cluster_support import parquet_folder
from replay_support import changed, workload
from threadpoolctl import threadpool_info, threadpool_limits

from tracekit.answer.repeat import repeat_replay
from tracekit.base.facts import remark
from tracekit.base.progress import Silent
from tracekit.base.units import MS_PER_HOUR
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.commands import _replaying as verb
from tracekit.commands.replay import replay
from tracekit.policy.entrant import Entrants
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.runs import one
from tracekit.replay.runs import replayer as replayers
from tracekit.replay.runs.one import LEAST_SHARE, ORDER, SEED, Replayed, replay_one, varying
from tracekit.replay.runs.replayer import StoredReplays, fingerprint, replays_alike
from tracekit.replay.runs.run import choose_policies

POLICIES = ["first_fit", "least_allocated[tie=reservoir]", "random"]
FILES = ("manifest.json", "summary.parquet", "steps.parquet", "placements.parquet")
LOAD = workload([(100, 100)] * 4, [(at * 10, 9000, 5 + at, 3, at % 4) for at in range(12)])


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


@pytest.mark.slow
def test_two_processes_write_the_bytes_of_one(tmp_path: Path) -> None:
    load = parquet_folder(tmp_path / "load")
    for jobs in (1, 2):
        replay(None, POLICIES, out=tmp_path / f"run{jobs}", workload=load, jobs=jobs, repeats=2)
    assert contents(tmp_path / "run1") == contents(tmp_path / "run2")
    names = ("repeats.parquet", "differences.parquet")
    first, second = ([(tmp_path / f"run{n}" / one).read_bytes() for one in names] for n in (1, 2))
    assert first == second


def test_products_of_matrices_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Watched(Engine):
        def run(self, *arguments: Any) -> Any:
            seen.extend(
                lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
            )
            return super().run(*arguments)

    monkeypatch.setattr(one, "Engine", Watched)
    with threadpool_limits(limits=2, user_api="blas"):
        replay_one(LOAD, parse_policy("first_fit"), 0)
        after = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    assert seen
    assert set(seen) == {1}
    assert set(after) == {2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run, beside its workload."""
    folder = tmp_path_factory.mktemp("whole")
    load = parquet_folder(folder / "load")
    replay(None, POLICIES, out=folder / "run", workload=load, repeats=1)
    return folder / "run"


def test_an_interrupted_run_goes_on(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, out = whole.with_name("load"), whole.with_name(tmp_path.name)
    done: list[str] = []

    def interrupted(*arguments: Any, **named: Any) -> Replayed:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(str(arguments[1]))
        return replay_one(*arguments, **named)

    monkeypatch.setattr(replayers, "replay_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replay(None, POLICIES, out=out, workload=load, repeats=1)
    assert not out.exists()
    done.clear()
    replay(None, POLICIES, out=out, workload=load, repeats=1)
    assert len(done) == 2  # two of the four, observed included, were done before
    assert contents(out) == contents(whole)
    assert not list(out.parent.glob(f".{out.name}*"))


def test_what_is_kept_is_of_one_workload_seed_and_policy(tmp_path: Path) -> None:
    staying, policy = StoredReplays(tmp_path / "run", LOAD), parse_policy("first_fit")
    one = replay_one(LOAD, policy, 0)
    staying.put(policy, 0, 0, one)
    result = staying.get(policy, 0, 0)
    assert result is not None
    assert result.steps.equals(one.steps)
    assert staying.get(policy, 1, 0) is None
    assert staying.get(policy, 0, 1) is None
    assert staying.get(parse_policy("random"), 0, 0) is None
    other = workload([(100, 100)] * 4, [(0, 9000, 5, 3)])
    assert StoredReplays(tmp_path / "run", other).get(policy, 0, 0) is None


class Ran:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("sorts", [("pickle", "cut", "bit", "empty"), ("another's",) * 4])
def test_a_kept_replay_that_is_damaged_is_done_again(
    whole: Path, tmp_path: Path, sorts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    load, out = whole.with_name("load"), whole.with_name(tmp_path.name)
    files = stopped_at_the_end(load, out, monkeypatch)
    others = [files[at - 1].read_bytes() for at in range(len(files))]
    for file, sort, other in zip(files, sorts, others, strict=True):
        spoil(file, sort, tmp_path / "ran", other)
    result = Told()
    replay(None, POLICIES, out=out, workload=load, repeats=1, progress=result)
    assert contents(out) == contents(whole)
    assert sum("is replayed anew" in line for line in result.stages) == len(files)
    assert not (tmp_path / "ran").exists()
    assert not list(out.parent.glob(f".{out.name}*"))


def stopped_at_the_end(load: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What a run kept that was stopped before it was written."""

    def stopped(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(verb, "write_run", stopped)
        with pytest.raises(KeyboardInterrupt):
            replay(None, POLICIES, out=out, workload=load, repeats=1)
    files = sorted((out.parent / f".{out.name}.unfinished").rglob("*.replay"))
    assert len(files) == len(POLICIES) + 1
    return files


def spoil(file: Path, sort: str, mark: Path, other: bytes) -> None:
    data = file.read_bytes()
    file.write_bytes(
        {
            "pickle": pickle.dumps(Ran(mark)),
            "cut": data[:100],
            "bit": data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
            "empty": b"",
            "another's": other,
        }[sort]
    )


class Told(Silent):
    """Progress that keeps what was said."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, text: str, *, then: str = "") -> None:
        if not then:  # what is remarkable, not what is under way
            self.stages.append(text)


# The key under which finished replays are kept: all that a replay can depend on.


NODES = 3_000


def _closed(node: int) -> Workload:
    """One container that may run on every node but one."""
    mask = np.ones((1, NODES), dtype=np.bool_)
    mask[0, node] = False
    part = Allowed(label="selector", of=np.zeros(1, dtype=np.int64), mask=mask)
    load = workload([(100, 100)] * NODES, [(0, 9000, 1, 1)], steps=1)
    return changed(load, rules={"constraints": Constraints(parts=(part,))})


def test_a_node_in_the_middle_of_many_counts() -> None:
    assert fingerprint(_closed(1_500)) != fingerprint(_closed(1_501))
    assert fingerprint(_closed(1_500)) == fingerprint(_closed(1_500))


def test_what_a_workload_says_of_itself_makes_no_other_replay() -> None:
    load = _closed(7)
    other = changed(
        load, provenance={"assumptions": {"cells": "none"}, "remarks": (remark("fit_proxy"),)}
    )
    assert fingerprint(other) != fingerprint(load)
    assert replays_alike(other) == replays_alike(load)
    assert replays_alike(other) != replays_alike(_closed(8))


DAYS, PER_DAY = 7, 4
STEP_MS = 24 * MS_PER_HOUR // PER_DAY
STEPS = DAYS * PER_DAY


def long(*, exchangeable: bool = False, steps: int = STEPS) -> Workload:
    """Containers that come one by one and stay, over a week; what they use differs by the hour."""
    end = steps * STEP_MS
    load = workload([(60, 60)] * 4, [(at, end, 8, 4, at % 2) for at in range(12)])
    rng = np.random.Generator(np.random.PCG64(2))
    return changed(
        load,
        use={
            "times_ms": np.arange(steps, dtype=np.int64) * STEP_MS,
            "step_ms": STEP_MS,
            "values": rng.uniform(2, 9, size=(2, steps, 12)).astype(np.float32),
            "background": np.zeros((2, steps, 4), dtype=np.float32),
            "settled_ms": 12,
        },
        containers={"exchangeable": np.full(12, exchangeable)},
    )


def test_orders_vary_only_where_times_are_free_or_tied() -> None:
    assert varying(long()) == []
    assert varying(long(exchangeable=True)) == [ORDER]
    tied = changed(long(), containers={"arrival_ms": np.zeros(12, np.int64)})
    assert varying(tied) == [ORDER]


def test_a_few_ties_make_no_other_order() -> None:
    """One tie among many would count nearly equal replays as independent repeats."""
    pairs = changed(long(), containers={"arrival_ms": np.repeat(np.arange(6), 2)})
    assert varying(pairs) == [ORDER]
    few = changed(long(), containers={"arrival_ms": np.array([*range(11), 10])})
    assert varying(few) == []
    least = round(LEAST_SHARE * 12)
    tied = np.array([0] * least + list(range(1, 13 - least)))
    assert varying(changed(long(), containers={"arrival_ms": tied})) == [ORDER]
    assert varying(changed(long(), containers={"arrival_ms": np.unique(tied).repeat(2)[:12]})) == [
        ORDER
    ]


def test_parts_of_one_replay_are_no_repeats() -> None:
    """The days of one replay hold the same placements, so that they make nothing sure."""
    load = long()
    names = ["first_fit", "worst_fit", "best_fit"]
    run = repeat_replay(load, choose_policies(Entrants.of(names), load), seed=0, repeats=8)
    assert run.covers == (SEED,)
    assert run.repeats is not None
    mine = run.repeats.filter(policy="first_fit")
    assert mine["repeat"].to_list() == list(range(8))
    assert mine["cpu_max_fraction"].n_unique() == 1
    assert run.differences is not None
    assert not run.differences["separated"].any()
    # what a policy comes to is of the whole trace, as the bound is
    bound = run.summary.filter(policy="bound")
    for name in ("cpu_max_fraction", "memory_max_fraction", "nodes_used_mean"):
        assert (run.repeats[name] >= bound[name][0]).all(), name


def test_repeats_that_differ_by_the_seed_alone_make_nothing_sure() -> None:
    rows = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
    load = workload([(60, 60)] * 3, rows)
    policies = choose_policies(
        Entrants.of(["first_fit", "worst_fit", "random", "random[tie=reservoir]"]), load
    )
    run = repeat_replay(load, policies, seed=0, repeats=8)
    assert run.covers == (SEED,)
    assert run.differences is not None
    fixed = run.differences.filter(policy_a="first_fit", policy_b="worst_fit")
    assert not fixed["separated"].any()
    assert fixed.filter(pl.col("difference_mean") != 0)["low"].is_null().all()
    drawn = run.differences.filter(policy_a="random", policy_b="random[tie=reservoir]")
    assert drawn["p"].is_not_null().any()
