from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).with_name("bench_ingest.py")


def test_the_bench_goes_through_and_prints_every_ratio(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH), "--quick", "--dir", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("MSResource, 20,000 rows", "MSCallGraph, 20,000 rows", "two MSResource archives"):
        assert name in done.stdout
    assert re.findall(r"tracekit .* +\d+\.\d\d x", done.stdout)
    assert re.search(r"MSCallGraph: 1x \(5,000 rows\) \d+ MiB, 4x .*, 16x", done.stdout)
    assert len(re.findall(r"usage/node_profile .* x scan", done.stdout)) == 2
    assert list(tmp_path.iterdir()) == []
