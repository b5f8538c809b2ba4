"""Seeds of orders of arrival: those of one seed are no other's."""

from __future__ import annotations

from tracekit.base.seeds import order_seed


def test_no_two_seeds_share_a_further_order() -> None:
    found = [order_seed(seed, number) for seed in range(40) for number in range(1, 100)]
    assert len(set(found)) == len(found)
    assert all(0 <= one < 2**63 for one in (*found, order_seed(2**63 - 1, 99)))
