"""Simulation sets from the study's tables and from a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sizing_support import random_set

from tracekit.analysis.callgraph import export as export_module
from tracekit.analysis.callgraph.export import export
from tracekit.intake.ingest import ingest
from tracekit.sizing.read import CALLS, STATES, load_set, set_from_frames
from tracekit.sizing.world.simset import split, upstream_felt
from tracekit.store.folder import open_store
from tracekit.synth import write


def states(rows: list[tuple[int, str, float, float]]) -> pl.DataFrame:
    names = ["timestamp", "containerID", "cpuNeed", "memNeed"]
    return pl.DataFrame(rows, schema=names, orient="row")


def calls(rows: list[tuple[int, str, str, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["timestamp", "UM", "DM", "calls"], orient="row")


def no_calls() -> pl.DataFrame:
    return calls([]).cast({"UM": pl.String, "DM": pl.String, "timestamp": pl.Int64})


STEP = 30_000


def test_missing_periods_have_the_need_before_or_the_first() -> None:
    frames = {
        STATES: states(
            [(0, "a", 1, 2), (STEP, "a", 2, 2), (3 * STEP, "a", 3, 1), (2 * STEP, "b", 4, 4)]
        ),
        CALLS: no_calls(),
    }
    made = set_from_frames("x", frames)
    assert made.containers == ("a", "b")
    assert made.need[0].tolist() == [[1, 2], [2, 2], [2, 2], [3, 1]]
    assert made.need[1].tolist() == [[4, 4]] * 4
    assert made.facts["samples_filled"] == 1 + 3
    assert made.facts["containers_without_upstream"] == 2


def test_rows_without_a_need_are_dropped_and_filled() -> None:
    rows = [(t * STEP, "a", 1.0, 2.0) for t in range(4)]
    rows[2] = (2 * STEP, "a", 3.0, float("nan"))
    made = set_from_frames("x", {STATES: states(rows), CALLS: no_calls()})
    assert made.need[0].tolist() == [[1, 2]] * 4
    assert made.facts["samples_dropped"] == made.facts["samples_filled"] == 1


def test_calls_stand_under_their_periods_end() -> None:
    frames = {
        STATES: states([(t * STEP, c, 1, 1) for t in range(3) for c in "abc"]),
        CALLS: calls(
            [
                (1, "a", "b", 5),
                (STEP, "a", "b", 2),
                (STEP + 1, "a", "b", 1),
                (0, "b", "c", 7),
                (0, "c", "c", 9),
                (0, "a", "z", 3),
            ]
        ),
    }
    made = set_from_frames("x", frames)
    assert made.edges.tolist() == [[0, 1], [1, 2]]
    assert made.calls.tolist() == [[0, 7, 1], [7, 0, 0]]
    assert made.facts["calls_of_others"] == 1
    # without a table of chains, those that call each other are one
    assert len(set(made.chain.tolist())) == 1


@pytest.mark.slow
def test_a_store_and_its_export_are_the_same_set(tmp_path: Path) -> None:
    write(tmp_path / "trace", preset="tiny")
    ingest(tmp_path / "trace", tmp_path / "store")
    export(open_store(tmp_path / "store"), tmp_path / "set", chains=9)
    direct, files = load_set(tmp_path / "store", chains=9), load_set(tmp_path / "set")
    assert direct.containers == files.containers
    assert direct.need == pytest.approx(files.need)
    assert direct.calls.tolist() == files.calls.tolist()
    assert direct.chain.tolist() == files.chain.tolist()
    assert direct.facts == files.facts


def test_no_chain_is_in_both_parts() -> None:
    whole = random_set(1, containers=60)
    parts = split(whole, np.random.default_rng(0))
    assert set(parts.training.containers) | set(parts.test.containers) == set(whole.containers)
    assert not set(parts.training.chain) & set(parts.test.chain)
    assert 18 <= parts.test.size <= 21
    again = split(whole, np.random.default_rng(0))
    assert again.test.containers == parts.test.containers
    assert split(whole, np.random.default_rng(1)).test.containers != parts.test.containers


def test_upstreams_are_felt_where_somebody_calls() -> None:
    frames = {
        STATES: states([(at * STEP, name, 1, 1) for at in range(6) for name in "abc"]),
        CALLS: calls([(STEP, "a", "b", 2), (5 * STEP, "a", "b", 1), (2 * STEP, "b", "c", 1)]),
    }
    made = set_from_frames("x", frames)
    # b is called in the first and the last of three cycles, c in the second; a has no caller
    assert upstream_felt(made, 2) == pytest.approx(3 / 6)
    assert upstream_felt(set_from_frames("y", {**frames, CALLS: no_calls()}), 2) == 0


def test_a_store_with_rates_feels_its_upstreams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit's figure: by the sample of traces the upstream state was 0 nearly always."""
    write(tmp_path / "trace", preset="tiny", tables=["resource", "rate", "call"])
    ingest(tmp_path / "trace", tmp_path / "store")
    rates = upstream_felt(load_set(tmp_path / "store"), 10)
    monkeypatch.setattr(export_module, "rated_calls", lambda _store, sampled, _period_ms: sampled)
    sample = upstream_felt(load_set(tmp_path / "store"), 10)
    assert sample < 0.5
    assert rates > 0.9
