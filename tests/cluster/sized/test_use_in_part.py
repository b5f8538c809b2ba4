"""Containers of whose use only a part is recorded: what they request stands in, and it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_support import CLUSTER, stored, workload


@pytest.mark.slow
def test_the_request_stands_in_for_the_resource_that_is_not_recorded(tmp_path: Path) -> None:
    rows = ["a,web,n1,0,,500,1000", "b,web,n1,0,,500,1000", "c,web,n1,0,,500,1000"]
    used = [
        f"{name},{at * 30_000},{cpu},400"
        for at in range(4)
        for name, cpu in (("a", "100"), ("b", ""))
    ]
    files = {
        "containers.csv": [CLUSTER["containers.csv"][0], *rows],
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *used],
    }
    made = workload(stored(tmp_path, files))
    use = made.use_at(0)
    at = made.container_ids.index
    assert use[:, at("a")].tolist() == [100.0, 400.0]
    assert use[:, at("b")].tolist() == [500.0, 400.0], "no CPU recorded: what it requests"
    assert use[:, at("c")].tolist() == [500.0, 1000.0]
    assert made.facts["containers_with_request_as_cpu_use"] == 1
    assert made.facts["containers_with_request_as_use"] == 1


def test_steps_without_a_sample_are_counted(tmp_path: Path) -> None:
    rows = ["a,web,n1,0,,500,1000", "b,web,n1,0,60000,500,1000", "c,web,n1,0,,500,1000"]
    samples = {("a", 0): "100,400", ("a", 1): "110,", ("a", 3): "120,410", ("b", 0): "90,300"}
    used = [f"{name},{at * 30_000},{values}" for (name, at), values in samples.items()]
    files = {
        "containers.csv": [CLUSTER["containers.csv"][0], *rows],
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *used],
    }
    made = workload(stored(tmp_path, files))
    # of a: memory at step 1 and both at step 2; of b: step 1, after which it is gone; c has none
    assert made.facts["container_steps_held"] == 3
    # of nobody: step 2
    assert made.facts["steps_without_any_sample"] == 1
