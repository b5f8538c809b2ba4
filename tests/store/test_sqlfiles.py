"""The header of a SQL file says in which order its rows come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.store.sqlfiles import parse


def test_a_column_of_the_order_may_fall(tmp_path: Path) -> None:
    path = tmp_path / "busiest.sql"
    path.write_text("-- order: cpu_mean DESC, node\nSELECT * FROM usage_node_profile;\n")
    query = parse("busiest", path)
    assert query.order == ("cpu_mean", "node")
    assert query.falling == ("cpu_mean",)


@pytest.mark.parametrize("word", ["cpu_mean desc", "cpu mean", "node NULLS LAST"])
def test_another_word_in_the_order_is_refused(word: str, tmp_path: Path) -> None:
    path = tmp_path / "busiest.sql"
    path.write_text(f"-- order: {word}\nSELECT * FROM usage_node_profile;\n")
    with pytest.raises(TracekitError, match="and DESC"):
        parse("busiest", path)
