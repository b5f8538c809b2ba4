"""A source that records the use of one resource alone is taken in, and every verb works on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import container, listed, node, owned, pod, written
from series_support import Made, as_range, at_times, of_pod

import tracekit
from tracekit.intake.ingest import ingest

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
