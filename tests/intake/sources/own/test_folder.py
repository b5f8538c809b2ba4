"""Which files of a folder are own tables; times and sizes in another unit are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from cluster_support import written
from series_support import recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.intake.read.by_reader import ReaderFile
from tracekit.intake.read.discover import discover

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


GIB = 2**30
#: A time of 2026 in ms since 1970.
LATE_MS = 1_767_225_600_000
HEADERS = {
    "nodes": "node,cpu_milli,memory_bytes",
    "containers": "container,arrival_ms,cpu_milli,memory_bytes",
    "usage": "container,time_ms,cpu_milli,memory_bytes",
    "node_usage": "time_ms,node,cpu_fraction,memory_fraction",
}
EIGHT_CORES = [("n", 8000, 64 * GIB)]
Row = tuple[object, ...]
Files = Mapping[str, Sequence[tuple[object, ...]]]


def _containers(*cpu: float, memory: float = 1e9) -> list[Row]:
    return [(f"c{at}", 0, one, memory) for at, one in enumerate(cpu)]


def _asking(*memory: float) -> list[Row]:
    return [(f"c{at}", 0, 500, one) for at, one in enumerate(memory)]


def _using(containers: int, cpu: float) -> list[Row]:
    return [(f"c{at}", time, cpu, 1e9) for at in range(containers) for time in (0, 30_000)]


def _holding(*memory: float) -> list[Row]:
    return [(f"c{at}", time, 250, one) for at, one in enumerate(memory) for time in (0, 60_000)]


def _times(*times: float, cpu: float = 500) -> list[Row]:
    return [("c0", one, cpu, 1e8) for one in times]


def _nodes(cores: int) -> list[Row]:
    return [("n", cores * 1000, 256 * GIB)]


def _read(folder: Path, files: Files) -> int:
    """How many files are read, none of whose rows is rejected."""
    lines = {
        f"{name}.csv": [HEADERS[name], *(",".join(map(str, row)) for row in rows)]
        for name, rows in files.items()
    }
    result = discover(written(folder, lines)).files
    read = [list(ReaderFile(file, folder).blocks(lambda _: None)) for file in result]
    assert not any(rows.rejects.height for blocks in read for _, rows in blocks)
    return sum(bool(blocks) for blocks in read)


ONE = _containers(500)
#: Files, of which the last is wrong, the column that is and by what it is to be multiplied.
WRONG: list[tuple[Files, int, float]] = [
    ({"containers": [(f"c{at}", LATE_MS // 1000 + at, 500, 1e9) for at in range(3)]}, 1, 1000),
    ({"containers": [(f"c{at}", LATE_MS * 1000, 500, 1e9) for at in range(3)]}, 1, 1e-3),
    ({"containers": [(f"c{at}", LATE_MS * 10**6, 500, 1e9) for at in range(3)]}, 1, 1e-6),
    ({"containers": ONE, "usage": _times(*(60 * at for at in range(5)))}, 1, 1000),
    (
        {"containers": ONE, "usage": _times(*(LATE_MS * 1000 + at * 10**6 for at in range(5)))},
        1,
        1e-3,
    ),
    ({"nodes": EIGHT_CORES, "node_usage": [(60 * at, "n", 0.5, 0.5) for at in range(5)]}, 0, 1000),
    ({"nodes": [(f"n{at}", 16, 64 * GIB) for at in range(3)]}, 1, 1000),
    ({"nodes": [(f"n{at}", 16_000, 64) for at in range(3)]}, 2, GIB),
    ({"containers": _containers(0.05, 0.15, 0.25)}, 2, 1000),
    ({"containers": _asking(1, 2, 3)}, 3, GIB),
    ({"containers": _asking(2048, 2048, 2048)}, 3, 2**20),
    ({"containers": _asking(2**19, 2**19, 2**19)}, 3, 1024),
    ({"nodes": EIGHT_CORES, "containers": ONE, "usage": _using(1, 200_000)}, 2, 1e-3),
    ({"nodes": EIGHT_CORES, "containers": ONE, "usage": _using(1, 2e8)}, 2, 1e-6),
    ({"nodes": EIGHT_CORES, "containers": ONE, "usage": _using(1, 0.7)}, 2, 1000),
    # whole cores are seen by the nodes
    ({"nodes": _nodes(8), "containers": _containers(1, 1)}, 2, 1000),
    ({"nodes": _nodes(8), "containers": _containers(1, 2, 3, 4)}, 2, 1000),
    ({"nodes": _nodes(96), "containers": _containers(16, 64, 32)}, 2, 1000),
    # 2, 4 and 8 GiB as KiB
    ({"nodes": EIGHT_CORES, "containers": _asking(*(2**21, 2**22, 2**23) * 7)}, 3, 1024),
]


@pytest.mark.parametrize(("files", "column", "factor"), WRONG)
def test_another_unit_is_refused_and_the_right_one_taken(
    tmp_path: Path, files: Files, column: int, factor: float
) -> None:
    with pytest.raises(TracekitError):
        _read(tmp_path, files)
    name = list(files)[-1]
    right = [
        (*row[:column], round(float(str(row[column])) * factor), *row[column + 1 :])
        for row in files[name]
    ]
    assert _read(tmp_path, {**files, name: right}) == len(files)


#: Who asks for little beside one who asks for more, or for no more than it uses; few may be odd.
ODD: list[Files] = [
    {"nodes": _nodes(8), "containers": _containers(1, 10, 500)},
    {"nodes": _nodes(96), "containers": _containers(10, 50)},
    {"nodes": _nodes(96), "containers": _containers(1, 65)},
    {"nodes": _nodes(8), "containers": _containers(1, 9)},
    {"nodes": _nodes(96), "containers": _containers(10, 10), "usage": _using(2, 500)},
    {"nodes": _nodes(8), "containers": _containers(10, 100), "usage": _using(2, 4000)},
    {"nodes": _nodes(8), "containers": _containers(0, 0), "usage": _using(2, 4000)},
    # most use less than a thousandth of a core, one more than a node has as cores
    {"nodes": EIGHT_CORES, "usage": [*_using(5, 0.4), ("d", 0, 9, 1e8)]},
    {"nodes": [("n", 8000, 8000)], "containers": _containers(100, memory=2000)},
    {"containers": _asking(4096, GIB)},
    {"nodes": EIGHT_CORES, "containers": _asking(*(2**20, 2**30, 2**30) * 7)},
    {
        "nodes": EIGHT_CORES,
        "containers": _asking(*(2**30,) * 21),
        "usage": _holding(*(2**22, 2**23, 2**28) * 7),
    },
    {
        "nodes": EIGHT_CORES,
        "containers": _asking(*(2**28,) * 21),
        "usage": _holding(*(2**30, 2**31, 2**31) * 7),
    },
    {
        "nodes": EIGHT_CORES,
        "containers": _asking(2**21, 2**22, 2**23),
        "usage": _holding(2**20, 2**20, 2**20),
    },
]


@pytest.mark.parametrize("files", ODD)
def test_small_requests_that_can_be_are_taken(tmp_path: Path, files: Files) -> None:
    assert _read(tmp_path, files) == len(files)
