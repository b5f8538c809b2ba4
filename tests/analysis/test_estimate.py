"""Sizes of containers: planted ones are found, and the fit equals an obvious one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from tracekit.analysis.changes import NodeChanges, sums_of
from tracekit.analysis.estimate import Estimate, estimate

TRUE = np.array([0.04, 0.02, 0.0, 0.08])


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def cluster(
    seed: int, *, nodes: int = 60, steps: int = 300, noise: float = 0.002, alike: float = 0.0
) -> list[NodeChanges]:
    """Nodes with one container of each service; with ``alike`` near 1 all services move as one."""
    rng = generator(seed)
    made = []
    for key in range(nodes):
        own = 0.02 * rng.standard_normal((len(TRUE), steps))
        together = 0.02 * rng.standard_normal(steps)
        theirs = np.sqrt(1 - alike**2) * own + alike * together
        made.append(
            NodeChanges(
                node_key=key,
                services=np.array([7, 8, 11, 30]),
                node={"cpu": TRUE @ theirs + noise * rng.standard_normal(steps)},
                containers={"cpu": theirs},
                steps={"cpu": steps},
            )
        )
    return made


def fitted(nodes: list[NodeChanges]) -> Estimate:
    return estimate(sums_of(nodes, ["cpu"])["cpu"], generator(0))


def many_services(seed: int) -> list[NodeChanges]:
    """A dozen of a hundred services on each of 90 nodes; a third of them take nothing."""
    rng = generator(seed)
    sizes = np.maximum(0.06 * rng.standard_normal(100) + 0.03, 0)
    made = []
    for key in range(90):
        here = np.sort(rng.choice(len(sizes), size=12, replace=False))
        theirs = 0.02 * rng.standard_normal((12, 40))
        own = sizes[here] @ theirs + 0.01 * rng.standard_normal(40)
        made.append(
            NodeChanges(
                node_key=key,
                services=here,
                node={"cpu": own},
                containers={"cpu": theirs},
                steps={"cpu": 40},
            )
        )
    return made


@pytest.mark.parametrize("nodes", [cluster(1), many_services(1)], ids=["few", "many"])
def test_the_fit_is_that_of_all_rows_stacked(nodes: list[NodeChanges]) -> None:
    services = np.unique(np.concatenate([node.services for node in nodes]))
    rows = [np.zeros((len(node.node["cpu"]), len(services))) for node in nodes]
    for node, row in zip(nodes, rows, strict=True):
        row[:, np.searchsorted(services, node.services)] = node.containers["cpu"].T
    targets = [node.node["cpu"] for node in nodes]
    first = np.linalg.lstsq(np.concatenate(rows), np.concatenate(targets))[0]
    noise = [np.std(y - x @ first, mean=0) for x, y in zip(rows, targets, strict=True)]
    weighed = np.concatenate([x / own for x, own in zip(rows, noise, strict=True)])
    result = fitted(nodes)
    expected = nnls(weighed, np.concatenate([y / n for y, n in zip(targets, noise, strict=True)]))[
        0
    ]
    assert result.size == pytest.approx(expected, abs=1e-9)
    left = np.concatenate(targets) - np.concatenate(rows) @ expected
    share = 1 - (left @ left) / np.square(np.concatenate(targets)).sum()
    assert result.variance_explained_share == pytest.approx(share)
    scaled = weighed / np.linalg.norm(weighed, axis=0)
    assert result.condition_number == pytest.approx(np.linalg.cond(scaled), rel=1e-6)


def test_planted_sizes_are_told() -> None:
    result = fitted(cluster(2))
    assert result.common_determined
    assert result.determined.all()
    assert result.size == pytest.approx(TRUE, abs=0.003)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = [
        (match.low <= TRUE) & (match.high >= TRUE)
        for match in (fitted(cluster(seed, steps=60)) for seed in range(60))
    ]
    # at the edge of 0 an interval is one-sided; never narrower than 95 %, some are wider
    assert 0.92 <= np.mean(held) <= 1.0


def test_services_that_move_as_one_are_not_told_apart() -> None:
    result = fitted(cluster(4, alike=0.9999, noise=0.01))
    assert result.condition_number > 50
    assert result.common_determined
    assert not result.determined.any()


def test_an_unlucky_estimate_is_not_called_sure() -> None:
    """An estimate far below 0 is cut off there, but its interval is judged before."""
    rng = generator(10)
    nodes = cluster(10, nodes=30, steps=100)
    for node in nodes:
        shift = 0.1 * node.containers["cpu"][3] - 0.06 * node.containers["cpu"][1]
        node.node["cpu"][:] += shift + 0.014 * rng.standard_normal(100)
    result = fitted(nodes)
    assert result.common_determined
    assert (result.size[1], result.low[1]) == (0, 0)
    assert result.high[1] < 0.5 * result.common
    assert not result.determined[1]


def test_use_that_never_changes_has_no_size() -> None:
    nodes = cluster(5)
    for node in nodes:
        node.containers["cpu"][2] = 0.0
    result = fitted(nodes)
    assert np.isnan(result.size[2])
    assert not result.determined[2]
    assert result.determined[[0, 1, 3]].all()


def test_several_containers_of_a_service_on_a_node_add_up() -> None:
    nodes = cluster(6)
    split = [
        NodeChanges(
            node_key=node.node_key,
            services=np.repeat(node.services, 2),
            node=node.node,
            containers={"cpu": np.repeat(node.containers["cpu"] / 2, 2, axis=0)},
            steps=node.steps,
        )
        for node in nodes
    ]
    assert fitted(split).size == pytest.approx(fitted(nodes).size, abs=1e-12)
    sums = sums_of(split, ["cpu"])["cpu"]
    assert sums.hosts().tolist() == [60] * 4
    assert sums.containers.tolist() == [120] * 4
