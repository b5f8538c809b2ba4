from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
import pytest

from tracekit.synth.call_records import CallPart, CallWorld, call_parts, trace_starts
from tracekit.synth.call_trees import Directory, make_directory
from tracekit.synth.presets import Preset, get_preset
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import World

EPOCH_MS = 1_591_923_600_000


def parts(preset: Preset, seeds: Seeds, directory: Directory) -> Iterator[CallPart]:
    world = CallWorld(preset=preset, seeds=seeds, directory=directory)
    return call_parts(world, trace_starts(preset, seeds))


@pytest.fixture(scope="module")
def small_calls(small_world: World) -> pl.DataFrame:
    directory = make_directory(small_world.seeds, small_world.services.ids)
    return pl.concat(
        [part.rows for part in parts(small_world.preset, small_world.seeds, directory)]
    )


@pytest.fixture(scope="module")
def tiny_calls(good_rows: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
    return good_rows("MSCallGraph").with_columns(pl.col("timestamp").cast(int))


def test_rows_are_in_the_file_of_their_time(small_world: World) -> None:
    preset = small_world.preset
    directory = make_directory(small_world.seeds, small_world.services.ids)
    files = parts(preset, small_world.seeds, directory)
    for number, file in zip(range(3), files, strict=False):
        times = file.rows["timestamp"] // preset.call_file_ms
        assert times.unique().to_list() == [number]
        assert not file.rows["timestamp"].is_sorted()
        runs = (file.rows["traceid"] != file.rows["traceid"].shift()).sum()
        assert runs > file.rows["traceid"].n_unique()


def test_trace_ids_hide_the_wall_clock(
    tiny_calls: pl.DataFrame, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    ids = tiny_calls["traceid"]
    born = ids.str.slice(8, 13).cast(pl.Int64) - EPOCH_MS
    start = tiny_calls.join(tiny_truth["trace"], left_on="traceid", right_on="trace_id")

    assert ids.str.contains(r"^0b[0-9a-f]{28}$").all()
    assert (tiny_calls["timestamp"] - born).min() == 0
    assert start.height == tiny_calls.height
    assert (start["traceid"].str.slice(8, 13).cast(pl.Int64) - EPOCH_MS).to_list() == start[
        "start_ms"
    ].to_list()


def test_both_ends_agree_but_for_the_sign(tiny_calls: pl.DataFrame) -> None:
    rows = tiny_calls.filter(pl.col("rpctype") == "rpc").with_columns(
        pl.col("rt").cast(int, strict=False)
    )
    calling = rows.filter(pl.col("rt") >= 0)
    called = rows.filter(pl.col("rt") < 0)
    both = calling.join(called, on=["traceid", "rpcid"])

    assert both.height > 20
    assert (both["rt"] + both["rt_right"]).is_between(0, 2).all()
    assert both["interface"].to_list() == both["interface_right"].to_list()


def test_an_interface_is_there_exactly_for_rpc_and_http(small_calls: pl.DataFrame) -> None:
    present = small_calls.group_by("rpctype").agg((pl.col("interface") != "").mean())

    assert dict(present.iter_rows()) == {
        "rpc": 1,
        "http": 1,
        "mc": 0,
        "db": 0,
        "mq": 0,
        "userDefined": 0,
    }


@pytest.mark.parametrize("name", ["db", "mc", "userDefined"])
def test_some_types_are_only_recorded_by_the_caller(small_calls: pl.DataFrame, name: str) -> None:
    times = small_calls.filter(pl.col("rpctype") == name)["rt"].to_numpy()

    assert times.min() >= 0


def test_most_services_are_in_no_usage_table(small_world: World, small_calls: pl.DataFrame) -> None:
    inside = np.mean(np.isin(small_calls["dm"].to_numpy(), small_world.services.ids.to_numpy()))

    assert 0.05 < inside < 0.3


def test_files_can_be_made_from_the_one_before_their_first() -> None:
    preset, seeds = get_preset("tiny"), Seeds(3)
    preset = dataclasses.replace(preset, call_minutes_per_file=10, traces=4_000, batch_traces=150)
    directory = make_directory(seeds, pl.Series(["a" * 64, "b" * 64]))
    starts = trace_starts(preset, seeds)
    world = CallWorld(preset=preset, seeds=seeds, directory=directory)
    whole = list(call_parts(world, starts))
    assert {part.number for part in whole} == set(range(12))
    assert len(whole) > 24
    middle = list(call_parts(world, starts[4:8], first=5))
    expected = [part for part in whole if part.number in {5, 6, 7}]
    assert len(middle) == len(expected)
    for one, other in zip(middle, expected, strict=True):
        assert one.number == other.number
        assert one.rows.equals(other.rows)
        assert one.traces.equals(other.traces)
    spilled = [part.rows.filter(pl.col("timestamp") < 600_000 * part.number) for part in whole]
    assert sum(rows.height for rows in spilled) == 0
    born = pl.concat([part.rows for part in whole])["traceid"].str.slice(8, 13).cast(pl.Int64)
    file_of_birth = (born - EPOCH_MS) // 600_000
    file_of_row = pl.concat([part.rows for part in whole])["timestamp"] // 600_000
    assert (file_of_row - file_of_birth).unique().sort().to_list() == [0, 1]


def test_batches_cover_the_time_of_their_file_and_tell_about_one_trace_in_so_many() -> None:
    preset, seeds = get_preset("tiny"), Seeds(3)
    preset = dataclasses.replace(preset, traces=2_000, batch_traces=300, truth_traces=7)
    directory = make_directory(seeds, pl.Series(["a" * 64, "b" * 64]))
    names = list(parts(preset, seeds, directory))
    assert sum(part.traces.height for part in names) == 2_000
    rows = {n: sum(p.rows.height for p in names if p.number == n) for n in (0, 1)}
    for part in names:
        starts = part.traces["start_ms"].to_numpy()
        span = starts.max() - starts.min()
        assert span > 0.9 * (preset.call_file_ms - 120_000)
        result = part.calls["trace_id"].n_unique()
        assert result == -(-part.traces.height // 7)
        assert 0.5 * rows[part.number] < part.file_rows < 1.3 * rows[part.number]
