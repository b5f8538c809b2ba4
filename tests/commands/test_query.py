"""What ``query`` says where nothing is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest


@pytest.mark.parametrize(("node", "said"), [("n1", ""), ("nosuch", "no rows with node=nosuch\n")])
def test_a_value_that_is_nowhere_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], node: str, said: str
) -> None:
    rows = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", "n1,8000,34359738368"],
        "node_usage.csv": ["node,time_ms,cpu_fraction,memory_fraction", "n1,0,0.5,0.25"],
    }
    (tmp_path / "mine").mkdir()
    for name, lines in rows.items():
        (tmp_path / "mine" / name).write_text("\n".join([*lines, ""]))
    ingest(tmp_path / "mine", tmp_path / "store")
    capsys.readouterr()
    assert run(["query", str(tmp_path / "store"), "usage/node_series", "-p", f"node={node}"]) == 0
    told = capsys.readouterr()
    assert told.err == said
    assert ("0 rows" in told.out) == bool(said)
    formulas = "SELECT '=1+1' AS a, '-5' AS b, -1 AS c, '+x' AS d"
    assert run(["query", str(tmp_path / "store"), formulas, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "a,b,c,d\n'=1+1,-5,-1,'+x\n"
