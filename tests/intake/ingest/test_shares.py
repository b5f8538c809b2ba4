"""Shares of use have CPU and memory: one of them holds where it is sampled less often."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import pytest
from kubernetes_support import Object, answer, container, listed, node, pod, series, written
from tests_support import causes, the

from tracekit.intake.ingest import ingest
from tracekit.store.doubts import ONE_OF_TWO, doubts
from tracekit.store.folder import Store, open_store
from tracekit.store.views import read

FROM_S = 1_767_225_600
GIB = 2.0**30
Samples = list[tuple[int, float]]


def _pod(name: str) -> Object:
    sizes = container("1")
    sizes["resources"]["requests"]["memory"] = "1Gi"
    return pod(name, nodeName="n1", containers=[sizes])


def _stored(folder: Path, cpu: list[Samples], memory: list[Samples]) -> Store:
    """A store of pods with samples of cores and GiB, which are the shares of their requests."""
    made = folder / "cluster"
    made.mkdir()
    names = [f"p{at}" for at in range(len(cpu))]
    written(made / "list.json", listed(node("n1"), *map(_pod, names)))
    for what, of_all, unit in (("cpu", cpu, 1.0), ("memory", memory, GIB)):
        some = [
            series(None, [(at, value * unit) for at, value in one], namespace="default", pod=name)
            for name, one in zip(names, of_all, strict=True)
        ]
        written(made / f"container_{what}_in_use.json", answer(*some))
    ingest(made, folder / "store")
    return open_store(folder / "store")


def _rows(store: Store, container: str = "default/p0") -> list[tuple[int, float, float]]:
    rows = read(store, "container_usage").filter(container=container).sort("time_ms")
    seconds = pl.col("time_ms") // 1000
    return rows.select(seconds, "cpu_fraction", "memory_fraction").rows()


def _every(step_s: int, count: int, *, first_s: int = 0) -> Samples:
    return [(FROM_S + first_s + step_s * at, 0.25 + at / 1024) for at in range(count)]


@pytest.mark.parametrize(
    ("cpu_s", "memory_s", "beside_s"),
    [(60, 300, 0), (300, 60, 0), (60, 60, 7), (60, 900, 0), (600, 600, 250)],
    ids=["memory is rare", "cpu is rare", "queries beside one another", "very rare", "both rare"],
)
def test_no_sample_is_lost_where_the_other_one_still_holds(
    tmp_path: Path, cpu_s: int, memory_s: int, beside_s: int
) -> None:
    """Of one CPU sample a minute and one of memory in five a fifth was kept, or none at all."""
    span = 36_000
    cpu = _every(cpu_s, span // cpu_s, first_s=beside_s)
    memory = _every(memory_s, span // memory_s)
    store = _stored(tmp_path, [cpu], [memory])
    often, seldom = (cpu, memory) if cpu_s <= memory_s else (memory, cpu)
    rows = _rows(store)
    assert [row[0] for row in rows] == [at for at, _ in often]
    assert [row[1 if often is cpu else 2] for row in rows] == [value for _, value in often]
    held = dict(seldom)
    last = [max(at for at, _ in seldom if at <= time) for time, _ in often]
    assert [row[2 if often is cpu else 1] for row in rows] == [held[at] for at in last]
    assert ONE_OF_TWO not in causes(doubts(store))


def _silence_s(samples: Samples, usual_s: float) -> float:
    distances = [after - before for (before, _), (after, _) in pairwise(samples)]
    return max(300, 2.5 * (median(distances) if len(distances) >= 3 else usual_s))


def _plain(cpu: Samples, memory: Samples) -> tuple[list[tuple[int, float, float]], int]:
    """The rows in plain loops, and how often one of the two is silent."""
    rows: list[tuple[int, float, float]] = []
    silent = 0
    often = {at for at, _ in (cpu if len(cpu) >= len(memory) else memory)}
    for time in sorted({at for at, _ in (*cpu, *memory)}):
        values_so_far: list[float] = []
        for some in (cpu, memory):
            until = _silence_s(some, 60)
            values = [value for at, value in some if time - until <= at <= time]
            values_so_far += values[-1:]
            silent += not values and not 1 <= some[0][0] - time <= until
        if len(values_so_far) == 2 and time in often:
            rows.append((time, values_so_far[0], values_so_far[1]))
    return rows, silent


def test_what_has_only_one_of_both_is_counted(tmp_path: Path) -> None:
    """Random holes, against plain loops."""
    rng = np.random.default_rng(5)
    both: list[list[Samples]] = [[], []]
    for _ in range(6):
        for at, step_s in enumerate((60, int(rng.choice([60, 300])))):
            some = _every(step_s, 7200 // step_s)
            for first in rng.integers(0, 7200, 2).tolist():
                some = [one for one in some if not first <= one[0] - FROM_S < first + 1500]
            both[at].append(some)
    store = _stored(tmp_path, *both)
    lost = 0
    for at, (cpu, memory) in enumerate(zip(*both, strict=True)):
        rows, silent = _plain(cpu, memory)
        assert _rows(store, f"default/p{at}") == rows
        lost += silent
    assert lost > 50
    assert the(doubts(store), ONE_OF_TWO).value == lost
