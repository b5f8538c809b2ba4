from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from tracekit.synth.call_trees import (
    ENTRIES,
    MOST_DOTS,
    RPC_TYPES,
    Calls,
    Directory,
    grow,
    make_directory,
)
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import World


@pytest.fixture(scope="module")
def directory(small_world: World) -> Directory:
    return make_directory(small_world.seeds, small_world.services.ids)


@pytest.fixture(scope="module")
def calls(directory: Directory) -> Calls:
    return grow(Seeds(5).stream("test"), directory, 3000, calls_on=(0.68, 0.5))


def test_a_path_extends_its_parents(calls: Calls) -> None:
    paths = calls.rpc_id.to_list()
    for number, parent in enumerate(calls.parent):
        if parent < 0:
            assert paths[number] in ENTRIES
            continue
        assert parent < number
        assert calls.trace[parent] == calls.trace[number]
        head, _, ordinal = paths[number].rpartition(".")
        assert head == paths[parent]
        assert int(ordinal) >= 1


def test_the_caller_is_whom_the_parent_called(calls: Calls) -> None:
    below = calls.parent >= 0

    assert np.array_equal(calls.caller[below], calls.callee[calls.parent[below]])
    assert (calls.caller[~below] == -1).all()


def test_a_call_runs_within_its_parent(calls: Calls) -> None:
    below = np.flatnonzero(calls.parent >= 0)
    up = calls.parent[below]
    end = calls.offset_ms + calls.duration_ms

    assert (calls.duration_ms >= 0).all()
    assert (calls.offset_ms[below] >= calls.offset_ms[up]).all()
    assert (end[below] <= end[up]).all()


def test_callees_are_targets_of_the_caller(calls: Calls, directory: Directory) -> None:
    for code, name in enumerate(RPC_TYPES):
        chosen = np.flatnonzero((calls.kind == code) & (calls.parent >= 0))
        caller, callee = calls.caller[chosen], calls.callee[chosen]
        if name == "userDefined":
            assert np.array_equal(caller, callee)
            continue
        target = (directory.targets[name][caller] == callee[:, None]).any(axis=1)
        assert (target | ((caller == callee) & (name == "rpc"))).all()


def test_fan_out_is_as_published(calls: Calls) -> None:
    children = np.bincount(calls.parent[calls.parent >= 0])
    children = children[children > 0]

    assert children.mean() == pytest.approx(3.6, abs=0.4)
    assert np.median(children) == 2
    assert (children >= 4).mean() == pytest.approx(0.12, abs=0.04)
    dots = calls.rpc_id.str.count_matches(".", literal=True).to_numpy()
    assert 8 <= dots.max() <= MOST_DOTS


def test_truth_describes_the_recorded_traces(
    good_rows: Callable[[str], pl.DataFrame], tiny_truth: dict[str, pl.DataFrame]
) -> None:
    rows = good_rows("MSCallGraph")
    truth = tiny_truth["trace"]
    result = rows.group_by(trace_id="traceid").agg(
        pl.len().alias("rows"), pl.col("rpcid").str.count_matches(r"\.").max().alias("dots")
    )
    both = truth.join(result, on="trace_id", how="left")

    assert truth.height == 300
    assert both["rows"].to_list() == both["records"].to_list()
    assert both["dots"].to_list() == both["depth"].to_list()
    calls = tiny_truth["call"].group_by("trace_id").agg(pl.len().alias("all"))
    assert truth.join(calls, on="trace_id").select((pl.col("all") == pl.col("calls")).all()).item()


def test_every_recorded_row_has_its_true_call(
    good_rows: Callable[[str], pl.DataFrame], tiny_truth: dict[str, pl.DataFrame]
) -> None:
    rows = good_rows("MSCallGraph")
    both = rows.join(
        tiny_truth["call"], left_on=["traceid", "rpcid"], right_on=["trace_id", "path"]
    )
    named = both.filter(pl.col("dm").str.len_chars() == 64)

    assert both.height == rows.height
    assert named["dm"].to_list() == named["callee_id"].to_list()
