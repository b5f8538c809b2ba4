"""An ingest that is cut short: a file is in the store or it is not, and the next one goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from store_support import tree
from tests_support import NODE_HEADER, TraceFolder, csv_text, hex_id, tar_gz

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest, stage
from tracekit.store.folder import STAGING, open_store

KILLED_AT = """
import os, sys
from tracekit.intake.ingest import coordinate, dimensions, ingest, stage, write, written_folder

modules = {"coordinate": coordinate, "dimensions": dimensions, "stage": stage, "write": write,
           "written_folder": written_folder}
module = modules[sys.argv[3]]
real, calls = getattr(module, sys.argv[4]), 0

def killing(*args, **options):
    global calls
    calls += 1
    if calls == int(sys.argv[5]):
        os._exit(137)
    return real(*args, **options)

setattr(module, sys.argv[4], killing)
ingest(sys.argv[1], sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "at"),
    [
        ("written_folder", "write_manifest", 1),
        ("written_folder", "write_manifest", 2),
        ("written_folder", "write_catalog", 1),
        ("dimensions", "write_part", 2),
        ("stage", "write_sorted", 2),
        ("coordinate", "put", 1),
    ],
)
def test_a_killed_ingest_goes_on_to_the_same_bytes(
    traces: TraceFolder, tmp_path: Path, module: str, name: str, at: int
) -> None:
    ingest(traces.path, tmp_path / "undisturbed")
    store = tmp_path / "store"
    arguments = [str(traces.path), str(store), module, name, str(at)]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT, *arguments], check=False)
    assert killed.returncode == 137
    ingest(traces.path, store)
    (store / ".lock").unlink(missing_ok=True)
    assert tree(store) == tree(tmp_path / "undisturbed")


def test_a_failed_first_ingest_leaves_no_folder(traces: TraceFolder, tmp_path: Path) -> None:
    whole = tmp_path / "Node_0.csv.gz"
    tar_gz(whole, {"Node_0.csv": (traces.path / "Node_0.csv").read_text()})
    whole.write_bytes(whole.read_bytes()[:-10])
    with pytest.raises(TracekitError):
        ingest(whole, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_the_good_files_beside_a_damaged_one_go_in(traces: TraceFolder, tmp_path: Path) -> None:
    bad = traces.path / "Node_7.tar.gz"
    rng = np.random.Generator(np.random.PCG64(1))
    values = rng.random((30000, 2)).tolist()
    lines = [f"{at * 30000},{hex_id('node', 1)},{c!r},{m!r}" for at, (c, m) in enumerate(values)]
    tar_gz(bad, {"Node_7.csv": csv_text(NODE_HEADER, lines)})
    bad.write_bytes(bad.read_bytes()[:-20])
    with pytest.raises(TracekitError):
        ingest(traces.path, tmp_path / "store")
    assert len(open_store(tmp_path / "store").manifest.sources) == 4


@contextmanager
def writing_raises(error: BaseException) -> Iterator[None]:
    """Every table that would be written raises the error instead."""

    def raising(*_args: object, **_options: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stage, "write_sorted", raising)
        yield


def test_ctrl_c_leaves_the_store_as_it_was(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    before = tree(store)
    with writing_raises(KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        ingest(traces.path, store)
    assert tree(store) == before
    assert not (store / STAGING).exists()
