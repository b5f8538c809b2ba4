from __future__ import annotations

import numpy as np
import pytest

from tracekit.synth.services import container_counts
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import CapacitiesAndRequests, place

#: Three nodes with room for all.
ROOMY = CapacitiesAndRequests(np.full((3, 2), 100), np.ones((2, 2), dtype=np.int64))


@pytest.mark.parametrize(
    ("services", "containers", "cap"),
    [(12, 80, 10), (64, 964, 77), (1300, 96_400, 2300), (5, 5, 1), (3, 30, 10)],
)
def test_sizes_add_up_within_the_cap(services: int, containers: int, cap: int) -> None:
    sizes = container_counts(np.random.default_rng(1), services, containers, cap)

    assert sizes.sum() == containers
    assert 1 <= sizes.min() <= sizes.max() <= cap


def test_the_largest_services_of_a_full_trace_have_the_real_shares() -> None:
    sizes = container_counts(np.random.default_rng(1), 1300, 96_400, 4000)
    share = np.sort(sizes / sizes.sum())[::-1]

    assert share[:6] == pytest.approx([0.0242, 0.0222, 0.0222, 0.0151, 0.0131, 0.0121], rel=0.5)
    assert 1 / (share**2).sum() == pytest.approx(214, rel=0.2)


def test_a_service_larger_than_the_cluster_wraps_around() -> None:
    service, node = place(np.random.default_rng(0), np.array([7, 1]), np.ones(3), ROOMY)

    assert np.bincount(service).tolist() == [7, 1]
    assert sorted(np.bincount(node[service == 0]).tolist()) == [2, 2, 3]


def test_streams_do_not_disturb_each_other() -> None:
    one = Seeds(3).stream("a").random(4)
    other = Seeds(3)
    other.stream("b").random(1000)

    assert other.stream("a").random(4).tolist() == one.tolist()
    assert other.stream("a", 1).random(4).tolist() != one.tolist()
