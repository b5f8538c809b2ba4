"""What is within chance, alike or the same is counted, by titles where it is little."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.answer.comparison.run_compare import CHANGES_SCHEMA
from tracekit.answer.comparison.words import quiet
from tracekit.cli import run
from tracekit.study import Study
from tracekit.verbs.replay import replay

MEASURES = ("cpu_max_fraction", "memory_max_fraction", "imbalance_mean", "pending")


def compared(rows: list[tuple[str, str, str]]) -> Study:
    """A comparison of such policies, measures and verdicts."""
    frame = pl.DataFrame(
        [dict(zip(("policy", "measure", "verdict"), one, strict=True)) for one in rows],
        schema=CHANGES_SCHEMA,
    )
    policies = frame["policy"].unique(maintain_order=True).to_list()
    return Study(name="comparison", about={"policies": policies}, frames={"changes": frame})


def each(verdict: str, *policies: str) -> list[tuple[str, str, str]]:
    return [(policy, name, verdict) for policy in policies for name in MEASURES]


QUIET = [
    (
        [*each("within chance", "a"), *each("same", "b")],
        [
            "4 of 8 values are within chance: 4 measures of a",
            "4 of 8 values are the same in both runs: 4 measures of b",
        ],
    ),
    (
        [("a", "cpu_max_fraction", "within chance"), ("b", "pending", "alike"),
         ("b", "imbalance_mean", "worse")],
        [
            "1 of 3 values is within chance: highest CPU use of a",
            ("1 of 3 values is different by too little to count: containers left without a"
            " node of b"),
        ],
    ),
    (
        [*each("within chance", *"abcd"), ("e", "pending", "worse")],
        ["16 of 17 values are within chance: measures of 4 policies"],
    ),
    (each("same", "a", "b"), ["nothing changed: all measures of 2 policies are the same in both"]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "wanted"), QUIET)
def test_many_are_counted_and_few_are_titled(
    rows: list[tuple[str, str, str]], wanted: list[str]
) -> None:
    said = [one.replace("\u00a0", " ") for one in quiet(compared(rows))]
    assert len(said) == len(wanted)
    assert all(one.startswith(begin) for one, begin in zip(said, wanted, strict=True))


@pytest.mark.slow
def test_the_terminal_counts_and_says_where_the_values_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seed in (("one", 0), ("other", 50)):
        load = "paper000[containers=60,nodes=4]"
        replay(None, ["lra", "cwt"], out=tmp_path / name, workload=load, repeats=6, seed=seed)
    out, runs = tmp_path / "study", [str(tmp_path / name) for name in ("one", "other")]
    asked = ["compare", *runs, "--out", str(out), "--fail-if", "imbalance_mean > 9 * base"]
    assert run(asked) == 0
    printed = capsys.readouterr().out
    said = " ".join(printed.split())
    # names of measures stand in what was asked for, and where a table shows them
    assert "cpu_p99_fraction" not in said
    assert said.index("Thresholds") < said.index("within chance: ")
    assert "all values: --all shows them, --json has them, " in said
    assert "changes.parquet" in said
    assert run([*asked[:3], "--all"]) == 0
    assert "cpu_p99_fraction" in capsys.readouterr().out
