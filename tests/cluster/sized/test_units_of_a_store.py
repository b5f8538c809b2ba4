"""Units as an older store keeps them: columns of a workload are in one unit all the same."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.cluster.sized.amounts import in_columns
from tracekit.cluster.sized.assumptions import SizedAssumptions


@pytest.mark.parametrize(
    ("resource", "unit", "column", "amount"),
    [
        ("memory", "GiB", "memory_bytes", 2.0 * 2**30),
        ("cpu", "millicores", "cpu_milli", 2.0),
        ("cpu", "cores", "cpu_milli", 2000.0),
        ("net", "bytes/s", "net_kbit", 0.016),
        ("gpu", "count", "gpu_milli", 2000.0),
        ("disk", None, "disk_bytes", 2.0),
    ],
)
def test_amounts_are_in_the_unit_of_their_column(
    resource: str, unit: str | None, column: str, amount: float
) -> None:
    kinds = {"resource": pl.String, "unit": pl.String, "amount": pl.Float64}
    rows = pl.DataFrame([(resource, unit, 2.0)], schema=kinds, orient="row")
    found = in_columns(rows, SizedAssumptions(), ("amount",))
    assert found.select("column", "amount").rows() == [(column, pytest.approx(amount))]
