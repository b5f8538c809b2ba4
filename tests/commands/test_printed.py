"""What explain, query, ingest and nodes print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from cluster_support import cluster, parquet_folder
from kubernetes_support import listed, node, pod, written

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        ("best_fit", "-3,340 millicores and MiB"),
        ("worst_fit", "3,020 millicores and MiB"),
        ("best_fit_cell", "-1.9 cores"),
    ],
)
def test_scores_in_bytes_are_shown_in_units_of_people(
    policy: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = parquet_folder(tmp_path / "load")
    assert run(["explain", str(folder), "--policy", policy, "--container", "late"]) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.slow
def test_scores_without_a_unit_stay_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(parquet_folder(tmp_path / "load"))
    given = ["score", folder, "--policy", "best_fit[leftover=fraction]", "--container", "late"]
    assert run(given) == 0
    out = capsys.readouterr().out
    assert "millicores" not in out
    assert "-1.8" in out


# What ``query`` says where nothing is found.


@pytest.mark.parametrize(("node", "expected"), [("n1", ""), ("nosuch", "node=nosuch\n")])
def test_a_value_that_is_nowhere_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], node: str, expected: str
) -> None:
    rows = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", "n1,8000,34359738368"],
        "node_usage.csv": ["node,time_ms,cpu_fraction,memory_fraction", "n1,0,0.5,0.25"],
    }
    (tmp_path / "mine").mkdir()
    for name, lines in rows.items():
        (tmp_path / "mine" / name).write_text("\n".join([*lines, ""]))
    ingest(tmp_path / "mine", tmp_path / "store")
    capsys.readouterr()
    assert run(["query", str(tmp_path / "store"), "usage/node_series", "-p", f"node={node}"]) == 0
    output = capsys.readouterr()
    assert output.err.endswith(expected)
    assert bool(output.err) == bool(expected)
    assert ("0 rows" in output.out) == bool(expected)
    formulas = "SELECT '=1+1' AS a, '-5' AS b, -1 AS c, '+x' AS d"
    assert run(["query", str(tmp_path / "store"), formulas, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "a,b,c,d\n'=1+1,-5,-1,'+x\n"


# What ingest prints of files of which little or nothing could be used.


def _printed(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_series_without_a_name_are_told_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    written(folder / "kubernetes.json", listed(node("n1"), pod(nodeName="n1")))
    series = {"metric": {"namespace": "default", "pod": "web-1"}, "values": [[1767225630, "1"]]}
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    (folder / "cpu.json").write_text(json.dumps(answer))
    assert run(["ingest", str(folder), str(tmp_path / "store")]) == 2
    assert "container_cpu_in_use.json" in capsys.readouterr().err
    assert run(["check", str(tmp_path / "store")]) == 0
    assert "cpu.json" in _printed(capsys)


def test_json_that_no_source_reads_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    written(folder / "kubernetes.json", listed(node("n1"), pod(nodeName="n1")))
    (folder / "pdb.json").write_text('{"budgets": ["web"]}')
    assert run(["ingest", str(folder), str(tmp_path / "store")]) == 0
    message = _printed(capsys)
    assert "pdb.json" in message
    assert '{"budgets": ["web"]}' in message


# What ``nodes`` prints names the nodes to drain, and the command for the rest of them works.


#: Names as a cloud gives them: alike at both ends.
NODES = [f"ip-10-0-{at // 10}-{at}.eu-west-1.compute.internal" for at in range(16)]


def _store(folder: Path) -> str:
    """Of 16 nodes 2 are needed for what is asked for."""
    containers = [f"c{at:02d},s,{name},0,,1000,1073741824" for at, name in enumerate(NODES)]
    usage = [f"c{at:02d},{30_000 * step},100,1048576" for at in range(16) for step in range(3)]
    rows = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", *(f"{n},8000,34359738368" for n in NODES)],
        "containers.csv": [
            "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes", *containers
        ],
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *usage],
    }  # fmt: skip
    ingest(cluster(folder / "cluster", rows), folder / "store")
    return str(folder / "store")


@pytest.mark.slow
def test_the_nodes_to_drain_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["nodes", _store(tmp_path), "--policy", "most_allocated", "--repeat", "1"]
    assert run([*call, "--out", str(tmp_path / "a study")]) == 0
    printed = capsys.readouterr().out
    assert run([*call, "--json"]) == 0
    (policy,) = json.loads(capsys.readouterr().out)["policies"]
    assert sorted(policy["goes"] + policy["kept"]) == sorted(NODES)
    assert len(policy["goes"]) == 14
    named = re.findall(r"^  (ip\S+)$", printed, re.MULTILINE)
    assert named == policy["goes"][:10]
    listed = tmp_path / "a study" / "nodes.parquet"
    assert str(listed) in printed
    places = pl.read_parquet(listed).filter(~pl.col("kept")).sort("place", descending=True)
    assert places["node"].to_list() == policy["goes"]
    # without a folder the document has them
    assert run(call) == 0
    assert "--json, under goes" in capsys.readouterr().out
