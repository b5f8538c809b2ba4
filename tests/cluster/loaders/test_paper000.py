"""paper000: a made-up set of the paper's size."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.base.seeds import stream
from tracekit.cluster.loaders import load_workload
from tracekit.cluster.workload import Workload

GIB = 2**30
TYPES = {
    (32_000, 64 * GIB, 1000 * GIB, 1_000_000), (48_000, 96 * GIB, 1500 * GIB, 2_000_000),
    (64_000, 128 * GIB, 2000 * GIB, 2_000_000), (64_000, 192 * GIB, 3000 * GIB, 1_500_000),
}  # fmt: skip


def load(text: str = "paper000", seed: int = 0) -> Workload:
    return load_workload(text, stream(seed, "workload"))


def test_sizes_of_the_paper() -> None:
    made = load()
    assert (made.nodes, made.containers) == (31, 1800)
    assert made.resources == ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit")
    assert {tuple(row) for row in made.capacity.tolist()} <= TYPES
    assert set(made.services) == {"compressible", "incompressible", "balanced"}
    assert len(made.too_large()) == 0


@pytest.mark.parametrize("target", [0.75, 0.85])
def test_requests_meet_the_target(target: float) -> None:
    made = load(f"paper000[target_alloc_fraction={target}]")
    share = made.request.sum(axis=0) / made.capacity.sum(axis=0)
    assert share == pytest.approx(np.full(4, target), rel=0.05)


def test_kinds_ask_for_their_own_pair() -> None:
    made = load()
    share = made.request / made.capacity.sum(axis=0) * made.containers / 0.75
    kinds = np.array(made.services)
    for kind, factors in (
        ("compressible", (1.5, 0.5, 0.5, 1.5)),
        ("incompressible", (0.5, 1.5, 1.5, 0.5)),
        ("balanced", (1.0, 1.0, 1.0, 1.0)),
    ):
        assert share[kinds == kind].mean(axis=0) == pytest.approx(factors, rel=0.06)
        assert (share[kinds == kind] / factors).max() <= 1.5 + 1e-3
        assert (share[kinds == kind] / factors).min() >= 0.5 - 1e-3


def test_the_set_is_of_its_own_seed_and_the_order_of_the_run() -> None:
    def by_name(made: Workload) -> dict[str, list[int]]:
        return dict(zip(made.container_ids, made.request.tolist(), strict=True))

    first, second = load(seed=1), load(seed=2)
    assert first.container_ids != second.container_ids
    assert by_name(first) == by_name(second)
    assert by_name(load("paper000[seed=1]")) != by_name(first)
    assert load(seed=1).container_ids == first.container_ids
