"""The instances of the DLRM trace."""

from __future__ import annotations

from pathlib import Path

from reading_support import read, recognised
from store_support import counts_of

GIB = 2**30
NAMES = (
    "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,"
    "memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,"
    "scheduled_time,deletion_time"
)
ROWS = f"""\
{NAMES}
instance_0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,
instance_1,CN,app_0,64,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,1435629.0,1435629.0,1435760.0
instance_2,CN,app_0,48,48,0,0,25,25,200.0,200.0,680.0,800.0,2,100.0,,
instance_3,CN,app_0,48,48,0,0,25,25,200.0,200.0,680.0,800.0,0,100.0,,
instance_4,CN,app_0,48,48,0,0,25,25,200.0,200.0,680.0,800.0,2,100.0,,99.0
instance_5,CN,app_0,48
"""


def written(folder: Path) -> Path:
    path = folder / "disaggregated_DLRM_trace.csv"
    path.write_text(ROWS)
    return path


def test_instances(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert recognised(path) == [("dlrm25", "instances")]
    got = read("dlrm25", path)
    wanted = ("time_ms", "container", "service", "departure_ms", "apart", "apart_domain")
    assert got.rows("container", *wanted, "apart_most") == [
        (0, "instance_0", "app_0", None, "app_0/8", "node", 8),
        (1_435_629_000, "instance_1", "app_0", 1_435_760_000, None, None, None),
        (100_000, "instance_2", "app_0", None, "app_0/2", "node", 2),
    ]
    assert got.rows("container_resource", "resource", "request", "limit", "unit")[:9] == [
        ("cpu", 12.0, 12.0, "cores"),
        ("memory", 120.0 * GIB, 120.0 * GIB, "bytes"),
        ("gpu", 1.0, 1.0, "count"),
        ("disk", 640.0 * GIB, 800.0 * GIB, "bytes"),
        ("rdma", 25.0, 25.0, "count"),
        ("cpu", 64.0, 64.0, "cores"),
        ("memory", 320.0 * GIB, 320.0 * GIB, "bytes"),
        ("disk", 255.0 * GIB, 300.0 * GIB, "bytes"),
        ("rdma", 1.0, 1.0, "count"),
    ]
    assert got.reasons == [
        (7, None, "has 4 fields, expected 17"),
        (5, "max_instance_per_node", "is '0', expected 1 or more, or -1 for no limit"),
        (6, "deletion_time", "is '99.0', expected no time before creation_time"),
    ]


def test_a_request_below_zero_leaves_no_instance(tmp_path: Path) -> None:
    """Kept without it, it asked for nothing, and was placed wherever there is a node."""
    path = tmp_path / "disaggregated_DLRM_trace.csv"
    whole = "instance_2,CN,app_0,48,48,0,0,25,25,200.0,200.0,680.0,800.0,2,100.0,,"
    path.write_text(f"{NAMES}\n{whole.replace('48', '-48', 1)}\n{whole}\n")
    got = read("dlrm25", path)
    assert got.reasons == [(2, "cpu_request", "is '-48', expected 0 or more")]
    assert got.rows("container", "line") == [(3,)]


def test_into_a_store(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert counts_of(path, tmp_path / "store") == {
        (path.name, "container"): (3, 3, 0),
        (path.name, "container_resource"): (13, 0, 0),
    }
