"""Amounts beyond any machine: rejects, which no other check takes for a size."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import opened, read, written

from tracekit.base.errors import TracekitError

NODES = "node,cpu_milli,memory_bytes\nn1,8000,34359738368\n"
CONTAINERS = "container,arrival_ms,cpu_milli,memory_bytes\na,0,1000,1073741824\n"
USAGE = "container,time_ms,cpu_milli,memory_bytes\na,0,300,1e9\n"
MOST_MILLI, MOST_BYTES = "1,000,000,000", "1,152,921,504,606,846,976"


@pytest.mark.parametrize(
    ("name", "start", "row", "column", "value", "most"),
    [
        ("nodes", NODES, "n3,99999999999999999999999,1e9", "cpu_milli", "9" * 23, MOST_MILLI),
        ("nodes", NODES, "n3,8000,1.2e18", "memory_bytes", "1.2e18", MOST_BYTES),
        ("containers", CONTAINERS, "c,0,9223372036854775808,1", "cpu_milli", None, MOST_MILLI),
        ("containers", CONTAINERS, "c,0,1000,1e19", "memory_bytes", "1e19", MOST_BYTES),
        ("usage", USAGE, "a,30000,2e9,1e9", "cpu_milli", "2e9", MOST_MILLI),
    ],
)
def test_an_amount_beyond_any_machine_is_a_reject(
    tmp_path: Path, name: str, start: str, row: str, column: str, value: str | None, most: str
) -> None:
    found = read("folder", written(tmp_path, f"{name}.csv", f"{start}{row}\n"))
    shown = value or row.split(",")[2]
    (broken,) = found.broken
    assert (broken.line, broken.column, broken.text) == (3, column, row)
    assert broken.reason == f"is '{shown}', expected no more than {most}, as no machine has more"


def test_the_largest_machine_is_taken(tmp_path: Path) -> None:
    path = written(tmp_path, "nodes.csv", f"{NODES}n2,1000000000,{2**60}\n")
    assert not read("folder", path).broken


def test_a_node_beyond_any_machine_hides_no_wrong_unit(tmp_path: Path) -> None:
    nodes = written(tmp_path, "nodes.csv", f"{NODES}n3,{'9' * 23},34359738368\n")
    use = "".join(f"a,{at * 30_000},{900_000 + at},1e9\n" for at in range(4))
    usage = written(tmp_path, "usage.csv", USAGE.partition("\n")[0] + "\n" + use)
    with pytest.raises(TracekitError, match="8,000 millicores"):
        read("folder", usage, {"nodes": (opened(nodes),)})
