"""Which files of a folder are somebody's own tables, and which end the ingest."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from series_support import recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest

NODES = "node,cpu_milli,memory_bytes\nn1,8000,34359738368\n"
CONTAINERS = "container,arrival_ms,cpu_milli,memory_bytes\na,0,1000,1073741824\n"


@pytest.mark.parametrize(
    ("name", "header", "kinds"),
    [
        ("nodes.csv", "memory_bytes,cpu_milli,node", ["nodes"]),
        ("nodes-2026-01-31.csv", "node,cpu_milli,memory_bytes", ["nodes"]),
        ("usage_3.csv", "container,time_ms,cpu_milli", ["usage"]),
        ("node_resource.csv", "time_ms,node,resource,cell,amount,unit", ["node_resource"]),
        ("container.csv", "time_ms,container", ["container"]),
        ("containers.csv", "time_ms,container", []),
        ("nodes.csv", "timestamp,nodeid", []),
        ("mynodes.csv", "node,cpu_milli,memory_bytes", []),
        ("nodes.txt", "node,cpu_milli,memory_bytes", []),
    ],
)
def test_a_file_is_known_by_name_and_columns(
    tmp_path: Path, name: str, header: str, kinds: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(f"{header}\n")
    assert recognised(path) == [("folder", kind) for kind in kinds]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nodes", NODES.replace(",", ";").encode()),
        ("nodes", NODES.replace(",", "\t").encode()),
        ("nodes", b"n1,8000,34359738368\n"),
        ("nodes", NODES.encode("utf-16")),
        ("nodes", NODES.encode("utf-16-le")),
        ("nodes", b"\n"),
        ("nodes", f"Node,NODE,{NODES.partition(',')[2]}".encode()),
        ("usage", b"a,0,300\n"),
        ("background", b"host,cpu\nn1,5\n"),
        ("call", b"a;b\n"),
        ("node", b"name,price_per_hour\nn1,0.4\n"),
        ("node", b"node;price_per_hour\nn1,0.4\n"),
        ("node", b"node,Price_per_hour,PRICE_PER_HOUR\nn1,0.4,0.4\n"),
    ],
)
def test_a_file_with_the_name_of_a_table_that_is_none_ends_the_ingest(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / "containers.csv").write_text(CONTAINERS)
    (tmp_path / f"{name}.csv").write_bytes(content)
    with pytest.raises(TracekitError):
        ingest(tmp_path, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_files_of_other_names_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "containers.csv").write_text(CONTAINERS)
    (tmp_path / "nodes_old.csv").write_text("n1;8000\n")
    pl.DataFrame({"path": [1]}).write_parquet(tmp_path / "call.parquet")
    summary = ingest(tmp_path, tmp_path / "store")
    assert [name for name, _ in summary.passed_over] == ["call.parquet", "nodes_old.csv"]
