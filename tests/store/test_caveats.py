"""What one must know of a store who sees its answer alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tracekit
from tracekit.planted import TRUTH
from tracekit.store import open_store
from tracekit.store.broken_rows import caveats
from tracekit.store.manifest import MADE_UP


@pytest.mark.slow
@pytest.mark.parametrize("made_up", [True, False])
def test_a_made_up_trace_is_told(made_up: bool, tmp_path: Path) -> None:
    tracekit.synth(tmp_path / "traces", preset="tiny", seed=1)
    if not made_up:
        shutil.rmtree(tmp_path / "traces" / TRUTH)
    tracekit.ingest(tmp_path / "traces", tmp_path / "store")
    assert (MADE_UP in caveats(open_store(tmp_path / "store"))) == made_up
