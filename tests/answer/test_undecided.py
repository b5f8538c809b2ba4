"""Orders that are added where it stays open which policy is best."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import workload

from tracekit.answer.decision import decision
from tracekit.answer.intervals import untested
from tracekit.answer.repeat import repeat_replay, undecided
from tracekit.answer.standings import standings
from tracekit.cli import run as command
from tracekit.errors import TracekitError
from tracekit.replay.chance.student import compare
from tracekit.replay.runs import varying
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import Run, choose_policies
from tracekit.replay.runs.varying import SEED
from tracekit.replay.workload.workload import Workload
from tracekit.verbs._replaying import replay_by

ROWS = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
FREE = dataclasses.replace(
    workload([(90, 90)] * 6, ROWS),
    usage=np.repeat(np.array([r[2:4] for r in ROWS]).T[:, None], 4, axis=1).astype(np.float32),
    exchangeable=np.ones(20, np.bool_),
    recorded_node=np.full(20, -1),
)
SAME = dataclasses.replace(FREE, exchangeable=np.zeros(20, np.bool_))


def met(load: Workload, *names: str, up_to: int | None = 12) -> Run:
    return repeat_replay(load, choose_policies(names, load), seed=0, repeats=6, up_to=up_to)


def orders(run: Run) -> set[int]:
    assert run.repeats is not None
    return set(run.repeats.group_by("policy").len()["len"])


def test_orders_are_added_where_it_is_open_which_is_best() -> None:
    names = ("random", "random[tie=reservoir]")
    once, twice = met(FREE, *names, up_to=None), met(FREE, *names)
    assert undecided(once)
    assert (orders(once), orders(twice)) == ({6}, {12})
    assert twice.looks == (6, 12)
    assert once.repeats is not None
    assert twice.repeats is not None
    assert twice.repeats.filter(pl.col("repeat") < 6).equals(once.repeats)
    assert twice.repeats["seed"].unique().sort().to_list() == list(range(12))


def test_what_no_repeat_moves_is_not_called_chance() -> None:
    """Times of arrival are recorded: one policy draws, and the others stay as they are."""
    run = met(SAME, "first_fit", "worst_fit", "random", up_to=None)
    found = results(run)
    assert found.covers == (SEED,)
    peaks = [found.of(name, "cpu_max_fraction") for name in ("first_fit", "worst_fit")]
    assert [np.ptp(one) for one in peaks] == [0, 0]
    assert peaks[0][0] != peaks[1][0]
    assert untested(found, "cpu_max_fraction", ["first_fit", "worst_fit"])
    assert not untested(found, "cpu_max_fraction", ["first_fit", "random"])
    assert varying.told(6, found.covers) == "6 random seeds"
    pair = standings(found, "cpu_max_fraction", among=[("first_fit",), ("worst_fit",)])
    assert pair.why_not.startswith("repeats differ by their random seed alone")
    assert "beyond chance" not in pair.why_not


def test_none_are_added_where_one_is_told_from_the_others() -> None:
    run = met(FREE, "first_fit", "worst_fit")
    assert len(decision(run).chosen) == 1
    assert orders(run) == {6}
    assert results(run).looks == 2  # it would have been looked twice


def test_where_every_order_is_the_same_none_are_added() -> None:
    run = met(SAME, "first_fit", "worst_fit")
    assert run.looks == ()


def test_each_of_two_looks_has_half_of_what_may_go_wrong() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    apart = rng.normal(size=(6, 40)) + np.linspace(0, 6, 40)
    one, two = compare(apart), compare(apart, looks=2)
    assert two.p.tolist() == one.p.tolist()
    assert np.allclose(two.p_corrected, np.minimum(2 * one.p_corrected, 1))
    assert 0 < two.separated.sum() < one.separated.sum()
    assert ((two.low > 0) | (two.high < 0))[two.separated].all()
    assert ((two.low <= one.low) & (two.high >= one.high)).all()


def test_equal_policies_looked_at_twice_are_seldom_told_apart() -> None:
    """As many as a rate of 5 % gives in 999 of 1,000 tests."""
    rng, runs, told = np.random.Generator(np.random.PCG64(8)), 400, 0
    for _ in range(runs):
        values = rng.normal(size=(12, 8, 6))
        pairs = [values[:, a] - values[:, b] for a in range(8) for b in range(a)]
        apart = np.concatenate(pairs, axis=1)
        told += any(compare(apart[:many], looks=2).separated.any() for many in (6, 12))
    assert told <= 35


@pytest.mark.parametrize(
    ("repeats", "up_to", "what"),
    [
        (6, 6, "--repeat-up-to is 6, but --repeat is 6"),
        (2, 12, "--repeat-up-to is 12, but --repeat is 2, an interval needs 6"),
    ],
)
def test_nothing_to_add_to_is_told(tmp_path: Path, repeats: int, up_to: int, what: str) -> None:
    with pytest.raises(TracekitError, match=what):
        replay_by(
            *(None, None, ["random"]),
            out=tmp_path / "run",
            workload="paper000",
            repeats=repeats,
            repeats_up_to=up_to,
        )


@pytest.mark.slow
def test_through_the_command_line_and_its_report(tmp_path: Path) -> None:
    out = tmp_path / "run"
    small = "paper000[nodes=12,containers=24,target_alloc_fraction=0.3,step_ms=1800000]"
    names = ["--policy", "random", "--policy", "random[tie=reservoir]"]
    words = ["replay", "--workload", small, *names, "--repeat-up-to", "8", "--out", str(out)]
    assert command(words) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["repeats"], manifest["repeats_looks"]) == (8, [6, 8])
    page = tmp_path / "report.html"
    assert command(["report", str(out), "--out", str(page)]) == 0
    text = page.read_text()
    assert "for looking twice" in text
    # a command is broken into lines, each with its backslash
    assert "--repeat 6 --repeat-up-to 8" in " ".join(text.replace("\\\n", " ").split())
