"""A study of a store that another ingest has made anew under the same path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tracekit


@pytest.mark.slow
def test_a_store_that_was_made_anew_is_read_anew(tmp_path: Path) -> None:
    """In a notebook one process asks again after an ingest under the same path."""
    store = tmp_path / "store"
    for nodes in (3, 5):
        shutil.rmtree(store, ignore_errors=True)
        tracekit.ingest(_cluster(tmp_path / f"given{nodes}", nodes), store)
        limits = ["cpu_max_fraction <= 1", "memory_max_fraction <= 1"]
        study = tracekit.nodes(store, ["best_fit"], limits=limits, repeats=1)
        assert study.frames["policies"]["of"].to_list() == [nodes]


def _cluster(folder: Path, nodes: int) -> Path:
    folder.mkdir()
    sizes = [f"n{at},4000,8589934592" for at in range(nodes)]
    held = [f"c{at},web,n{at % nodes},0,1000,1073741824" for at in range(6)]
    lines = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", *sizes],
        "containers.csv": ["container,service,node,arrival_ms,cpu_milli,memory_bytes", *held],
    }
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + "\n")
    return folder
