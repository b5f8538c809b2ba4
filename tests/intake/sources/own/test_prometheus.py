"""What a case folder cannot say of Prometheus: scraped counters, real rows, use of one resource."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from docs_support import DOCS
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_support import container, listed, node, owned, pod, written
from series_support import (
    CPU,
    FORMS,
    MEMORY,
    MS,
    NAME,
    START,
    Made,
    amounts_of,
    as_dump,
    as_range,
    at_times,
    of_pod,
    read,
)
from tests_support import shared_data

import tracekit
from tracekit.intake.ingest import ingest
from tracekit.intake.sources.own import _use_sums as sums
from tracekit.intake.sources.own._prometheus.metrics import QUERIES, STATES, USES

Form = Callable[[Sequence[Made]], str]
#: Time in ms and value of the samples of a container.
Counted = list[tuple[int, float]]
_SILENT_MS = 300_000


def _step_ms(containers: Sequence[Counted]) -> int:
    """The distance of at least half of those that most are alike to, else the mean of these."""
    apart = sorted(round((b[0] - a[0]) / MS) for one in containers for a, b in pairwise(one))

    def alike(one: int) -> list[int]:
        return [other for other in apart if abs(other - one) * 3 <= one]

    some = alike(max(sorted(set(apart)), key=lambda one: len(alike(one))))
    most = max(sorted(set(some)), key=some.count)
    return max(1, most if 2 * some.count(most) >= len(some) else round(sum(some) / len(some))) * MS


def _ends(times: Sequence[int], step: int) -> list[int]:
    """The end of the step in which each sample stands."""
    places = sorted(time % step for time in times)
    free = [(places[0] + step - places[-1], places[0])]
    free += [(b - a, b) for a, b in pairwise(places)]
    begins = max(free, key=lambda one: one[0])[1]
    late = sorted((time - begins) % step for time in times)
    usual = begins + late[(len(late) - 1) // 2]
    return [(time - begins) // step * step + math.ceil(usual / step) * step for time in times]


def _of_container(samples: Counted, step: int) -> tuple[dict[int, float], set[int]]:
    """What it uses in each step, and the steps in which it has a sample of its own."""
    times = [time for time, _ in samples[1:]]
    steps: dict[int, list[tuple[float, int, int]]] = {}
    for at, before, now in zip(_ends(times, step), samples, samples[1:], strict=False):
        passed = now[0] - before[0]
        steps.setdefault(at, []).append((now[1] - before[1], passed, now[0]))
    every = sorted(steps)
    used = {at: sum(one[0] for one in steps[at]) for at in every}
    assert sum(used.values()) == pytest.approx(samples[-1][1] - samples[0][1])
    results: dict[int, float] = {}
    silent = max(_SILENT_MS, 2.5 * float(np.median(np.diff([time for time, _ in samples]))))
    for at in every:
        passed = sum(one[1] for one in steps[at])
        rate = used[at] / (passed / MS)
        for back in range(max(1, int(passed / step + 0.5))):
            if back == 0 or not any(one in steps for one in range(at - back * step, at, step)):
                results[at - back * step] = rate
        held = at + step
        while held <= int(steps[at][-1][2] + silent) // step * step and held not in steps:
            results[held] = rate
            held += step
    return results, set(every)


def _expected(containers: Sequence[Counted]) -> dict[int, float]:
    """What the pod uses, at each time that has a sample."""
    step = _step_ms(containers)
    each = [_of_container(one, step) for one in containers]
    times = set[int]().union(*(new for _, new in each))
    return {at: sum(match.get(at, 0.0) for match, _ in each) for at in sorted(times)}


def _scraped(seed: int, step_s: int, jitter: float, count: int, inner: int) -> list[Counted]:
    """Counters of containers that are scraped at other times each, with jitter."""
    rng = np.random.default_rng(seed)
    phases = rng.permutation(step_s * MS)[:inner]
    results = []
    for phase in phases:
        late = rng.integers(0, round(step_s * MS * jitter) + 1, count)
        times = START * MS + phase + step_s * MS * np.arange(count) + late
        rises = rng.choice([0.1, 4.0], count) * np.diff(times, prepend=times[0]) / MS
        values = np.round(10 + np.cumsum(rises), 4)
        results.append(list(zip(times.tolist(), values.tolist(), strict=True)))
    return results


def _made(containers: Sequence[Counted], name: str = CPU) -> list[Made]:
    return [
        (name, of_pod(container=f"c{at}"), [(time / MS, value) for time, value in one])
        for at, one in enumerate(containers)
    ]


@given(
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 2**32),
    step_s=st.sampled_from([10, 15, 30, 60]),
    jitter=st.floats(0, 1 / 3),
    count=st.integers(6, 40),
    inner=st.integers(2, 4),
)
def test_core_seconds_are_what_the_counters_rose_by(
    form: tuple[str, str, Form], seed: int, step_s: int, jitter: float, count: int, inner: int
) -> None:
    containers = _scraped(seed, step_s, jitter, count, inner)
    expected = _expected(containers)
    _, name, written_as = form
    with TemporaryDirectory() as folder:
        result = read(NAME, written(Path(folder) / name, written_as(_made(containers))))
    assert result.broken == []
    rows = [(int(str(row[0])), float(str(row[3]))) for row in amounts_of(result)]
    assert [time for time, _ in rows] == list(expected)
    assert [amount for _, amount in rows] == pytest.approx(list(expected.values()), rel=1e-9)


def test_many_samples_lie_on_disk_and_add_up_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    made: list[Made] = [
        (MEMORY, of_pod(f"p{at % 9}", f"c{at}"), at_times(*rng.integers(1, 1 << 40, 50).tolist()))
        for at in range(40)
    ]
    path = written(tmp_path / "dump.txt", as_dump(made))
    held = read(NAME, path).tables["container_amount"]
    monkeypatch.setattr(sums, "_HELD", 300)
    spilled = read(NAME, path).tables["container_amount"]
    keys = ["container", "time_ms"]
    assert held.height == 9 * 50
    assert spilled.sort(keys).equals(held.sort(keys))


def test_the_page_of_the_source_names_every_metric_that_is_read() -> None:
    page = (DOCS / "sources" / "kubernetes.md").read_text(encoding="utf-8")
    assert [name for name in (*USES, *STATES) if f"`{name}`" not in page] == []


def test_every_query_gives_what_the_table_of_metrics_knows() -> None:
    assert {query.name for query in QUERIES} <= {*USES, *STATES}
    for query in QUERIES:
        text = query.promql(match='cluster="x"', rate="2m", span="5m")
        assert 'cluster="x"' in text
        # what is filled in by us, and not by Prometheus
        assert "$" not in text.replace('"$1"', "")
        bare = query.promql(match="", rate="2m", span="5m")
        assert ",}" not in bare


@pytest.mark.parametrize(
    "name", ["in.om", "promtool_tsdb_dump.txt", "victoriametrics_export.jsonl"]
)
def test_real_rows_of_one_prometheus_in_three_forms(name: str) -> None:
    result = read(NAME, shared_data("prometheus") / name)
    assert result.broken == []
    assert result.tables["node_resource"].filter(resource="cpu")["amount"].to_list() == [8, 8]
    assert sorted(result.rows("container", "container", "service", "node")) == [
        ("default/db-0", "default/db", "node-b"),
        ("default/web-7d4b9c6f5d-x2x7k", "default/web", "node-a"),
    ]
    used = result.tables["container_amount"]
    first = used.filter(container="default/db-0", time_ms=(START + 30) * MS).sort("resource")
    rate = (14.179023 - 5.077173) / 30
    assert first["amount"].to_list() == [pytest.approx(rate, rel=1e-12), 196_843_463.0]
    assert used.height == 2 * (19 + 20)


USE = {"cpu": ("container_cpu_in_use", 0.25), "memory": ("container_memory_in_use", 2.0**28)}
COLUMNS = {"cpu": "cpu_used_cores", "memory": "memory_used_gib"}


@pytest.mark.slow
@pytest.mark.parametrize(("what", "other"), [("cpu", "memory"), ("memory", "cpu")])
def test_every_verb_works_on_use_of_one_resource(tmp_path: Path, what: str, other: str) -> None:
    mine, store = tmp_path / "mine", tmp_path / "store"
    mine.mkdir()
    sizes = [container("500m")]
    sizes[0]["resources"]["requests"]["memory"] = "512Mi"
    web = owned("ReplicaSet", "web-7d4b9c6f5d")
    pods = [pod(f"web-{at}", meta=web, nodeName=f"n{at % 2}", containers=sizes) for at in range(8)]
    written(mine / "list.json", listed(node("n0"), node("n1"), *pods))
    name, used = USE[what]
    made: list[Made] = [
        (name, of_pod(f"web-{at}", None), at_times(*[used + used / 8 * at] * 40)) for at in range(8)
    ]
    written(mine / "use.json", as_range(made))
    ingest(mine, store)
    (row,) = tracekit.analyze(store).frames["services/requests"].rows(named=True)
    assert (row[COLUMNS[what]], row[COLUMNS[other]]) == (pytest.approx(2.875), None)
    replayed = tracekit.replay(store, policies=["first_fit"], out=tmp_path / "run")
    assert replayed.workload.provenance.facts[f"containers_with_request_as_{other}_use"] == 8
    assert tracekit.requests(store, policies=["percentile_request"], out=tmp_path / "sized")
    fewest = tracekit.nodes(store, policies=["most_allocated"], out=tmp_path / "fewest")
    assert fewest.frames["policies"]["nodes"].to_list() == [1]
    tracekit.report(tmp_path / "run", out=tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size
