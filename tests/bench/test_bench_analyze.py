from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).with_name("bench_analyze.py")


@pytest.mark.slow
def test_the_bench_goes_through_and_prints_every_ratio(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH), "--quick", "--dir", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # 20 nodes and 40 containers x 1,440 steps, 40 x 2 rates x 720 minutes
    assert "144,000 rows" in done.stdout
    for name in ("one scan of the columns", "tracekit analyze, 1 to 4", r"usage/\w+"):
        assert re.search(rf"{name} +\d+\.\d\d s +\d+\.\d\d x scan", done.stdout)
    assert list(tmp_path.iterdir()) == []
