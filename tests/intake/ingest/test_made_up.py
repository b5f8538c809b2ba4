"""A store knows that its trace was made up; a report says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests_support import NODE_HEADER, TraceFolder

from tracekit.base.constants import SYNTH_SCHEMA
from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.summary import is_made_up
from tracekit.store.folder import open_store, read_manifest


def _truth(folder: Path, document: str) -> None:
    (folder / "truth").mkdir(parents=True)
    (folder / "truth" / "manifest.json").write_text(document)


CASES = {
    "written by synth": (json.dumps({"schema": SYNTH_SCHEMA}), True),
    "of another kind": (json.dumps({"schema": "other/1"}), False),
    "no object": ("[]", False),
    "no JSON": ("{", False),
}


@pytest.mark.parametrize("case", CASES)
def test_the_truth_beside_a_trace_tells(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    _truth(tmp_path, text)
    (tmp_path / "node").mkdir()
    assert is_made_up(tmp_path) is expected
    assert is_made_up(tmp_path / "node") is expected


def test_a_store_keeps_it_and_a_real_trace_is_none(tmp_path: Path) -> None:
    traces = TraceFolder.written(tmp_path / "traces")
    ingest(traces.path, tmp_path / "real")
    assert not read_manifest(tmp_path / "real").made_up
    _truth(traces.path, json.dumps({"schema": SYNTH_SCHEMA}))
    ingest(traces.path, tmp_path / "drawn")
    assert open_store(tmp_path / "drawn").manifest.made_up
    traces.write("Node_9.csv", NODE_HEADER, ["0,n,0.5,0.5"])
    (traces.path / "truth" / "manifest.json").unlink()
    ingest(traces.path, tmp_path / "drawn")
    assert open_store(tmp_path / "drawn").manifest.made_up


def test_looking_for_the_truth_loads_no_generator(tmp_path: Path) -> None:
    _truth(tmp_path, json.dumps({"schema": SYNTH_SCHEMA}))
    code = (
        "import sys; from pathlib import Path;"
        "from tracekit.intake.ingest.summary import is_made_up;"
        f"assert is_made_up(Path({str(tmp_path)!r}));"
        "print([name for name in sys.modules if name.startswith('tracekit.synth')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
