"""The node and job tables of the spot GPU trace."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from reading_support import read, recognised, written
from store_support import counts_of
from tests_support import shared_data

NODES = """\
gpu_model,gpu_capacity_num,cpu_num,node_name
GPU-series-1,4,192,0
A10,1,128,1
A10,one,128,2
"""
JOBS = """\
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
239255,13,A10,20,1,1,0,2764799,HP
437260,57,A100-SXM4-80GB,15,0.5,2,9589663,41060,Spot
437261,57,A10,15,1,0,9589663,41060,Spot
437262,57,A10,15,1,1,9589663,-1,Spot
437263,57,A10,15,1,1,9589663,1,Low
"""


def test_nodes_by_the_names_of_their_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "node_info_df.csv", NODES)
    assert recognised(path) == [("spotgpu26", "nodes")]
    got = read("spotgpu26", path)
    assert got.rows("node", "node", "platform", "labels") == [
        ("0", "GPU-series-1", '{"gpu_model": "GPU-series-1"}'),
        ("1", "A10", '{"gpu_model": "A10"}'),
    ]
    assert got.rows("node_resource", "node", "resource", "amount", "unit") == [
        ("0", "cpu", 192.0, "cores"),
        ("0", "gpu", 4.0, "count"),
        ("1", "cpu", 128.0, "cores"),
        ("1", "gpu", 1.0, "count"),
    ]
    assert got.reasons == [(4, "gpu_capacity_num", "is 'one', expected a number")]
    lines = [",".join(reversed(line.split(","))) for line in NODES.splitlines()]
    turned = read("spotgpu26", written(tmp_path, "turned.csv", "\n".join(lines)))
    assert turned.rows("node", "node") == got.rows("node", "node")


def test_a_job_is_its_workers(tmp_path: Path) -> None:
    path = written(tmp_path, "job_info_df.csv", JOBS)
    assert recognised(path) == [("spotgpu26", "jobs")]
    got = read("spotgpu26", path)
    wanted = ("time_ms", "container", "service", "departure_ms", "priority")
    assert got.rows("container", *wanted) == [
        (0, "239255/0", "239255", 2_764_799_000, 1),
        (9_589_663_000, "437260/0", "437260", 9_630_723_000, 0),
        (9_589_663_000, "437260/1", "437260", 9_630_723_000, 0),
    ]
    assert got.rows("container", "selector")[1] == (
        '[[{"key": "gpu_model", "operator": "In", "values": ["A100-SXM4-80GB"]}]]',
    )
    assert sorted(got.rows("container_resource", "container", "resource", "request"))[2:4] == [
        ("437260/0", "cpu", 15.0),
        ("437260/0", "gpu", 0.5),
    ]
    assert [(line, column) for line, column, _ in got.reasons] == [
        (4, "worker_num"),
        (5, "duration"),
        (6, "job_type"),
    ]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("437262,57,A10,15,1,1,9589663,-5,Spot", "-5"),
        ("437262,57,A10,15,1,1,9589663,-5.50,Spot", "-5.50"),
        ("437262,57,A10,15,1,0,9589663,5,Spot", "0"),
        ("437262,57,A10,-1e0,1,1,9589663,5,Spot", "-1e0"),
    ],
)
def test_a_reject_is_the_row_of_the_file(tmp_path: Path, line: str, value: str) -> None:
    """It was told as '-5.0', in a row without the organization."""
    header = JOBS.splitlines()[0]
    got = read("spotgpu26", written(tmp_path, "job_info_df.csv", f"{header}\n{line}\n"))
    (reject,) = got.broken
    assert reject.text == line
    assert reject.reason.startswith(f"is '{value}', expected ")


def test_times_in_milliseconds_are_rejects(tmp_path: Path) -> None:
    """As seconds they were in the year 55,800, and a replay went on until then."""
    lines = JOBS.splitlines()
    late = JOBS.replace("9589663", "1700000000000", 1)
    assert late != JOBS
    got = read("spotgpu26", written(tmp_path, "job_info_df.csv", late))
    wrong = [one for one in got.reasons if one[1] == "submit_time"]
    assert len(wrong) == 1
    assert wrong[0][2].endswith("expected seconds, no milliseconds")
    assert len(got.broken) == len(lines) - 2


def test_into_a_store(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    written(tmp_path / "trace", "node_info_df.csv", NODES)
    written(tmp_path / "trace", "job_info_df.csv", JOBS)
    assert counts_of(tmp_path / "trace", tmp_path / "store") == {
        ("job_info_df.csv", "container"): (3, 3, 0),
        ("job_info_df.csv", "container_resource"): (6, 0, 0),
        ("node_info_df.csv", "node"): (2, 1, 0),
        ("node_info_df.csv", "node_resource"): (4, 0, 0),
    }


def test_the_real_nodes() -> None:
    got = read("spotgpu26", shared_data("spotgpu26") / "node_info_df.csv")
    assert got.broken == []
    assert got.tables["node"]["node"].n_unique() == 4278
    cores = got.tables["node_resource"].filter(pl.col("resource") == "cpu")
    assert dict(cores.group_by("amount").len().rows()) == {128.0: 2947, 192.0: 1329, 126.0: 2}
    models = dict(got.tables["node"].group_by("platform").len().rows())
    assert (len(models), models["A10"], models["H800"]) == (6, 2494, 219)
