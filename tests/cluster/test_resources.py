"""Amounts of resources as people write them."""

import pytest

from tracekit.cluster.resources import amount_text


@pytest.mark.parametrize(
    ("amount", "resource", "text"),
    [
        (32_000, "cpu_milli", "32 cores"),
        (2_562, "cpu_milli", "2.562 cores"),
        (131_900_000_000, "memory_bytes", "122.8 GiB"),
        (500, "gpu_milli", "0.5 gpu"),
        (2, "nvidia.com/gpu", "2 nvidia.com/gpu"),
        (110, "pods", "110 pods"),
    ],
)
def test_an_amount_has_the_unit_of_people(amount: int, resource: str, text: str) -> None:
    assert amount_text(amount, resource) == text
