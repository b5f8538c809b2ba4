"""Promises that every measure keeps; one that is added is one file, and everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from docs_support import reference
from replay_support import widened, workload

from tracekit.commands.shell import run
from tracekit.replay import measures
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.engine.sampling import Columns
from tracekit.replay.fast.sampling import CompiledSampler, _Looked
from tracekit.replay.measures import (
    FURTHER,
    Measure,
    all_measures,
    compared,
    declared_measures,
    knows,
    part_column,
)
from tracekit.testing import MeasureContract

MEASURES = all_measures()


@pytest.mark.parametrize(("name", "measure"), MEASURES.items(), ids=MEASURES)
class TestEveryMeasure(MeasureContract):
    """Of the registry each, of CPU and memory one."""

    def test_has_the_words_of_its_resource(self, name: str, measure: Measure) -> None:
        texts = (measure.title, measure.meaning, measure.because, measure.short, measure.formula)
        assert not any("{" in text for text in texts), name


def test_only_what_is_measured_beyond_cpu_and_memory_is_known_as_further() -> None:
    load = workload([(100, 100)], [(0, 9000, 10, 10)])
    assert not knows(load, FURTHER)
    assert knows(widened(load, [4], [1], "gpu"), FURTHER)


def test_a_gap_is_told_only_where_a_bound_is_proven() -> None:
    row = bounds_of(workload([(100, 100)] * 2, [(0, 9000, 10, 10)], steps=1, used_share=1.0)).rows[
        0
    ]
    for one in MEASURES.values():
        if one.bound and not one.needs:
            assert one.step
            assert row[one.step.column] is not None, one.name


def test_the_compiled_pass_gives_columns_of_measures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 10, 10)], steps=3)
    columns_of = _Looked._columns
    made: Columns = {}

    def noted(*given: Any) -> Columns:
        made.update(columns_of(*given))
        return made

    monkeypatch.setattr(_Looked, "_columns", noted)
    sampler = CompiledSampler(load)
    list(sampler.sample(np.array([True]), np.array([1]), range(3)))
    sampler.measures()
    steps = {one.step.column for _, one in declared_measures() if one.step}
    assert set(made) <= {"placed", *steps}


FAIRNESS = '''
"""Jain's fairness index over the nodes."""

from tracekit.replay.measures import Measure, Step


def _at(sampled):
    used = sampled.fractions
    return used.sum(axis=1) ** 2 / (used.shape[1] * (used**2).sum(axis=1))


fairness_mean = Measure(
    title="{resource} fairness",
    meaning="Jain's index of the use of {resource} over the nodes",
    unit="0..1",
    better="high",
    because="at 1 every node is used alike",
    order=15,
    group="answer",
    per_resource=True,
    step=Step(column="fairness", at=_at),
    short="{resource} fair",
)
'''


@pytest.fixture
def fairness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "fairness_mean.py").write_text(FAIRNESS)
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(folder)])
    for cached in (declared_measures, all_measures):
        cached.cache_clear()
    yield
    for cached in (declared_measures, all_measures):
        cached.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("fairness")
def test_a_measure_is_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "cpu_fairness_mean"
    assert name in compared()
    policies = ["--policy", "first_fit", "--policy", "worst_fit", "--seed", "1"]
    for out, nodes in (("base", 4), ("new", 5)):
        load = f"paper000[nodes={nodes},containers=40,target_alloc_fraction=0.4]"
        arguments = ["replay", "--workload", load, *policies, "--repeat", "6"]
        assert run([*arguments, "--out", str(tmp_path / out)]) == 0
    capsys.readouterr()

    base = tmp_path / "base"
    summary = pl.read_parquet(base / "summary.parquet").filter(policy="worst_fit")
    steps = pl.read_parquet(base / "steps.parquet").filter(policy="worst_fit")
    assert summary[name][0] == steps.filter("settled")["cpu_fairness"].mean()
    assert 0 < summary[part_column(name, "low")][0] <= summary[part_column(name, "high")][0] <= 1
    assert name in pl.read_parquet(base / "repeats.parquet").columns
    assert name in set(pl.read_parquet(base / "differences.parquet")["measure"])

    compare = ["compare", str(base), str(tmp_path / "new"), "--json"]
    assert run([*compare, "--fail-if", f"{name} > 0"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert name in {row["measure"] for row in document["changes"]}
    assert document["failed"] == 2

    page = tmp_path / "report.html"
    assert run(["report", str(base), "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "CPU fairness" in text

    assert f"## {name}" in reference()["measures.md"]
    capsys.readouterr()
    assert run(["list", "measures", name, "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert (entry["name"], entry["unit"], entry["over_steps"]) == (name, "0..1", "mean")
