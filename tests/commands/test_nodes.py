"""What ``nodes`` prints names the nodes to drain, and the command for the rest of them works."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from cluster_support import cluster

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest

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
