"""Relative sizes of azure_packing20: those behind its fractions."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracekit.intake.sources.released.azure_packing20 import (
    RESOURCES,
    capacities,
    requests,
    rounded_up,
)


@example(sizes=[1.0, 1.0, 7.5], demands=[0.5])
@given(
    sizes=st.lists(st.sampled_from([1.0, 2.0, 4.0, 5.0, 7.5]), min_size=1, max_size=6),
    demands=st.lists(st.sampled_from([0.1, 0.25, 0.3, 0.5, 1.0]), min_size=1, max_size=6),
)
def test_relative_sizes_are_found_where_the_fractions_agree(
    sizes: list[float], demands: list[float]
) -> None:
    """The fractions are made from known sizes, all types fit everywhere: the sizes come back."""
    rows = [
        {
            "vmTypeId": f"v{vm}",
            "machineId": f"m{machine}",
            "line": 1,
            **dict.fromkeys(RESOURCES, demand / size),
        }
        for vm, demand in enumerate(demands)
        for machine, size in enumerate(sizes)
    ]
    types = pl.DataFrame(rows)
    found = capacities(types)
    largest = max(sizes)
    assert found["core"].to_list() == pytest.approx([one / largest for one in sizes], abs=2e-9)
    asked = requests(types, found)
    assert asked["core"].to_list() == pytest.approx([one / largest for one in demands], abs=2e-9)
    room = rounded_up(found)["core"].to_list()
    for size, capacity in zip(sizes, room, strict=True):
        for demand, request in zip(demands, asked["core"], strict=True):
            as_many = int(size / demand + 1e-9)
            assert as_many * round(request * 1e9) <= round(capacity * 1e9)
