"""A whole run of a store that lacks what a stage takes: that stage is left out, and said so."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tracekit
from tracekit.base.errors import TracekitError

POLICIES = ["first_fit"]


def _tables(folder: Path, *, vcpus: bool, nodes: bool) -> Path:
    """Two containers on two nodes, of which one has use."""
    folder.mkdir()
    containers = {
        "time_ms": [0, 0],
        "container": ["web", "db"],
        "service": ["web", "db"],
        "node": ["n0", "n1"] if nodes else [None, None],
        "vcpus": [None, "0-3"] if vcpus else [None, None],
    }
    schema = {name: pl.Int64 if name == "time_ms" else pl.String for name in containers}
    pl.DataFrame(containers, schema=schema).write_parquet(folder / "container.parquet")
    requests = {
        "time_ms": [0] * 4,
        "container": ["web", "web", "db", "db"],
        "resource": ["cpu", "memory"] * 2,
        "request": [2.0, 2.0**30] * 2,
        "unit": ["cores", "bytes"] * 2,
    }
    pl.DataFrame(requests).write_parquet(folder / "container_resource.parquet")
    times = [at * 30_000 for at in range(6)]
    use = {
        "time_ms": times,
        "container": ["web"] * 6,
        "node": ["n0"] * 6,
        "cpu_fraction": [0.5] * 6,
        "memory_fraction": [0.4] * 6,
    }
    if nodes:
        pl.DataFrame(use).write_parquet(folder / "container_usage.parquet")
        sizes = {
            "time_ms": [0] * 4,
            "node": ["n0", "n0", "n1", "n1"],
            "resource": ["cpu", "memory"] * 2,
            "amount": [8.0, 2.0**35] * 2,
            "unit": ["cores", "bytes"] * 2,
        }
        pl.DataFrame(sizes).write_parquet(folder / "node_resource.parquet")
        existing = {"time_ms": [0, 0], "node": ["n0", "n1"]}
        pl.DataFrame(existing).write_parquet(folder / "node.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("vcpus", [False, True])
def test_without_neighbours_there_is_a_report_and_no_fit(tmp_path: Path, vcpus: bool) -> None:
    source = _tables(tmp_path / "tables", vcpus=vcpus, nodes=True)
    summary = tracekit.run(source, tmp_path / "out", policies=POLICIES, repeats=1, jobs=1)
    assert summary.report.exists()
    assert summary.replay is not None
    assert not (tmp_path / "out" / "fit").exists()
    page = tmp_path / "store.html"
    tracekit.report(tmp_path / "out" / "store", out=page)
    assert page.stat().st_size > 100_000
    with pytest.raises(TracekitError, match="use of"):
        tracekit.fit(tmp_path / "out" / "store")


@pytest.mark.slow
def test_without_nodes_there_is_a_report_and_no_replay(tmp_path: Path) -> None:
    source = _tables(tmp_path / "tables", vcpus=False, nodes=False)
    summary = tracekit.run(source, tmp_path / "out", policies=POLICIES, repeats=1, jobs=1)
    assert summary.report.exists()
    assert summary.replay is None
    assert [one.because for one in summary.answer.of("skipped")] == ["no_nodes"]
    assume = ["nodes=4", "node_cpu_cores=96", "node_memory_bytes=384GiB"]
    again = tracekit.run(
        tmp_path / "out" / "store", tmp_path / "two", policies=POLICIES, repeats=1, assume=assume
    )
    assert again.replay is not None


@pytest.mark.slow
def test_without_use_and_placement_the_answer_says_that_requests_are_meant(tmp_path: Path) -> None:
    """Requests alone: of all stages there is a report, whose first sentence says what use is."""
    given = tmp_path / "given"
    given.mkdir()
    # a large node and small ones, so that the search begins with few of many
    nodes = ["node,cpu_milli,memory_bytes", *(f"n{at},4000,17179869184" for at in range(9))]
    nodes.append("large,32000,137438953472")
    held = [f"c{at},s{at % 3},{at * 1000},1000,2147483648" for at in range(8)]
    (given / "nodes.csv").write_text("\n".join(nodes) + "\n")
    (given / "containers.csv").write_text(
        "\n".join(["container,service,arrival_ms,cpu_milli,memory_bytes", *held]) + "\n"
    )
    done = tracekit.run(given, tmp_path / "out", policies=["default_scheduler", "best_fit"])
    assert done.report.is_file()
    assert next(one.kind for one in done.answer.facts if one.weight == 1) == "use_assumed"
    needed = done.answer.first("nodes_needed", case="recorded")
    assert needed is not None
    assert needed.subject == "default_scheduler"
