"""Seeds of orders of arrival do not overlap."""

from __future__ import annotations

from tracekit.base.arrays import order_seed


def test_no_two_seeds_share_a_further_order() -> None:
    seeds = [order_seed(seed, number) for seed in range(40) for number in range(1, 100)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= one < 2**63 for one in (*seeds, order_seed(2**63 - 1, 99)))
