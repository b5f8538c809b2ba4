from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests_support import TraceFolder

from tracekit.store.broken_rows import arrow_array, arrow_strings

VALUES = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.booleans()), max_size=40)


@given(rows=VALUES)
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_values_and_gaps_are_where_they_were(
    kind: type[np.generic], rows: list[tuple[int, bool]]
) -> None:
    values = np.array([value for value, _ in rows], dtype=kind)
    absent = np.array([gone for _, gone in rows], dtype=np.bool_)
    array = arrow_array(values, absent)
    array.validate(full=True)
    assert array.type == pa.from_numpy_dtype(np.dtype(kind))
    assert array.to_pylist() == [None if gone else value for value, gone in rows]
    assert arrow_array(values).to_pylist() == values.tolist()


@pytest.mark.slow
@given(texts=st.lists(st.none() | st.text(max_size=20), max_size=40), start=st.integers(0, 40))
def test_texts_are_strings_wherever_they_are_cut_from(texts: list[str | None], start: int) -> None:
    array = arrow_strings(pl.Series(texts, dtype=pl.String).slice(start))
    array.validate(full=True)
    assert array.type == pa.string()
    assert array.to_pylist() == texts[start:]


@pytest.mark.parametrize("module", ["pandas", "pyarrow.compute"])
def test_ingest_loads_nothing_it_does_not_need(
    module: str, traces: TraceFolder, tmp_path: Path
) -> None:
    code = (
        "import sys; from tracekit.intake.ingest import ingest;"
        "ingest(*sys.argv[1:]); print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(traces.path), str(tmp_path / "store")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert module not in done.stdout.split()
