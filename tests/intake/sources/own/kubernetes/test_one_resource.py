"""A source that records the use of one resource alone is taken in, and every verb works on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import container, listed, node, owned, pod, written
from series_support import Made, as_range, at_times, of_pod

import tracekit
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest

USE = {"CPU": ("container_cpu_in_use", 0.25), "memory": ("container_memory_in_use", 2.0**28)}
OTHER = {"CPU": "memory", "memory": "CPU"}


@pytest.fixture(params=sorted(USE))
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A store of two nodes and eight pods, and of what their use is recorded."""
    mine, what = tmp_path / "mine", str(request.param)
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
    ingest(mine, tmp_path / "store")
    return tmp_path / "store", what


@pytest.mark.slow
def test_analytics_need_what_they_read_and_the_rest_is_named(
    recorded: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    store, what = recorded
    analysis = tracekit.analyze(store)
    (row,) = analysis.frames["services/requests"].rows(named=True)
    used = {"CPU": "cpu_used_cores", "memory": "memory_used_gib"}
    assert row[used[what]] == pytest.approx({"CPU": 2.875, "memory": 2.875}[what])
    assert row[used[OTHER[what]]] is None
    assert analysis.missing["usage/container_profile"] == ("container_usage",)
    told = f"of 8 containers on nodes 8 have no recorded use of {OTHER[what]}"
    for command in ("analyze", "info", "check"):
        assert run([command, str(store)]) == 0
        assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_policies_are_judged_by_what_is_recorded_and_requests_stand_in(
    recorded: tuple[Path, str], tmp_path: Path
) -> None:
    store, what = recorded
    replayed = tracekit.replay(store, policies=["first_fit"], out=tmp_path / "run")
    name = {"CPU": "memory", "memory": "cpu"}[what]
    assert replayed.workload.facts[f"containers_with_request_as_{name}_use"] == 8
    study = tracekit.requests(store, policies=["percentile_request"], out=tmp_path / "sized")
    assert study is not None
    fewest = tracekit.nodes(store, policies=["most_allocated"], out=tmp_path / "fewest")
    assert fewest.frames["policies"]["nodes"].to_list() == [1]
    tracekit.report(tmp_path / "run", out=tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size
