"""What a bench says of its machine, and that an AVX2 process compiles for nothing wider."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from machine import as_avx2, machine, widest

LOOP = """
import sys
sys.path.insert(0, sys.argv[1])
import numba, numpy as np
from machine import compiled_vectors, numpy_wider

@numba.njit
def add(a, b, out):
    for at in range(len(out)):
        out[at] = a[at] * 2.0 + b[at]

add(np.ones(9), np.ones(9), np.ones(9))
print(compiled_vectors(), any("zmm" in text for text in add.inspect_asm().values()), numpy_wider())
"""


@pytest.mark.parametrize(
    ("flags", "name"),
    [(["sse2", "avx2", "avx512f"], "AVX-512, 512 bits"), (["avx", "avx2"], "AVX2, 256 bits"),
     (["sse2"], "128 bits or less")],
)  # fmt: skip
def test_the_widest_vectors_are_told_by_the_flags(flags: list[str], name: str) -> None:
    assert widest(flags) == name


def test_a_bench_names_processor_vectors_and_commit() -> None:
    line = machine()
    assert "cores" in line
    assert "compiled code:" in line
    assert "commit" in line


def test_as_avx2_neither_numba_nor_numpy_goes_wider(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOOP, str(Path(__file__).parent)]
    said = subprocess.run(
        command, env=as_avx2(tmp_path), check=True, capture_output=True, text=True
    ).stdout
    assert said.strip() == "AVX2, 256 bits, as haswell False []"
