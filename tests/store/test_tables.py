"""Every base table is described."""

from __future__ import annotations

import pytest

from tracekit.store.tables import all_tables


@pytest.mark.parametrize("name", all_tables())
def test_every_table_is_described(name: str) -> None:
    table = all_tables()[name]
    assert table.name == name
    assert table.title
    assert table.grain
    for column in table.columns:
        assert column.description.endswith("."), column.name
        assert column.unit or column.kind in {"id", "text"}, column.name
        assert (column.entity is not None) == (column.kind == "id"), column.name


@pytest.mark.parametrize("name", all_tables())
def test_names_end_in_their_unit(name: str) -> None:
    for column in all_tables()[name].columns:
        if column.unit == "ms":
            assert column.name.endswith("_ms")
        if column.unit == "0..1":
            assert column.name.endswith("_fraction")


@pytest.mark.parametrize("name", all_tables())
def test_rows_are_ordered_by_columns(name: str) -> None:
    table = all_tables()[name]
    assert set(table.order) <= {column.name for column in table.columns}
    assert not table.key or set(table.key) == set(table.order)
