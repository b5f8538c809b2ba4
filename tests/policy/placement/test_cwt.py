"""Combined-weight TOPSIS: weights, closeness, and the whole against a plain second form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot, waiting

from tracekit.cluster.resources import DISK, DISK_IO, NET
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement._parts.weights import (
    COMPRESSIBLE,
    INCOMPRESSIBLE,
    ahp,
    by_kind,
    closeness,
)
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Snapshot
from tracekit.policy.view.usage import SeriesUsage

FIVE = ("cpu_milli", "memory_bytes", DISK, DISK_IO, NET)
THIRD = 1 / 3


def seen(
    used: Sequence[Sequence[float]],
    resources: tuple[str, ...] = FIVE,
    size: Sequence[int] | None = None,
) -> Snapshot:
    """Nodes of one size, 1000 of each resource by default, that use these fractions."""
    room = np.array([size or [1000] * len(resources)] * len(used), dtype=np.int64)
    cluster = Cluster(resources=resources, capacity=room, allocatable=room)
    return cluster.snapshot(0, usage=SeriesUsage(np.array([used], dtype=np.float64), 0))


@pytest.mark.parametrize(
    ("matrix", "weights", "lambda_max", "index", "ratio"),
    [
        # golden cwt.ahp
        (
            [[1, 3, 1, 3], [THIRD, 1, THIRD, 1], [1, 3, 1, 3], [THIRD, 1, THIRD, 1]],
            [0.375, 0.125, 0.375, 0.125],
            4.0,
            0.0,
            0.0,
        ),
        (
            [[1, 2, 5], [0.5, 1, 3], [0.2, THIRD, 1]],
            [0.58155206685162, 0.30899564363286, 0.10945228951552],
            3.00369459806364,
            0.00184729903182,
            0.00318499833072,
        ),
        ([[1]], [1.0], 1.0, 0.0, 0.0),
        ([[1, 4], [0.25, 1]], [0.8, 0.2], 2.0, 0.0, 0.0),
    ],
)
def test_judgements_give_weights(
    matrix: list[list[float]],
    weights: list[float],
    lambda_max: float,
    index: float,
    ratio: float,
) -> None:
    judgement = ahp(np.array(matrix))
    assert judgement.weights == pytest.approx(weights, abs=1e-9)
    assert judgement.lambda_max == pytest.approx(lambda_max, abs=1e-9)
    assert judgement.consistency_index == pytest.approx(index, abs=1e-9)
    assert judgement.consistency_ratio == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize(
    ("matrix", "plain", "squares"),
    [
        # golden liang.topsis_core
        ([[1, 2], [3, 4]], [0, 1], [0, 1]),
        (
            [[3, 2, 3], [4, 4, 5], [3, 5, 8]],
            [0, 0.54151969154329, 0.797309613594],
            [0, 0.60137945709592, 0.74054848005195],
        ),
        (
            [[3, 2, 3], [4, 4, 5], [3, 5, 8], [1, 9, 3]],
            [0.29525746344453, 0.51798786979807, 0.62148648403795, 0.47094302517442],
            [0.42278599667614, 0.64725089135325, 0.64488741072608, 0.36268148034905],
        ),
    ],
)
def test_closeness_by_either_norm(
    matrix: list[list[float]], plain: list[float], squares: list[float]
) -> None:
    rows = np.array(matrix, dtype=np.float64)
    assert closeness(rows) == pytest.approx(plain, abs=1e-9)
    assert closeness(rows, norm="sum_of_squares") == pytest.approx(squares, abs=1e-9)


def test_an_absolute_ideal_ranks_no_row_by_another() -> None:
    rows = np.array([[0.9, 0.2], [0.5, 0.5], [0.1, 0.95]])
    whole = closeness(rows, weights=[0.7, 0.3], ideal="absolute")
    assert closeness(rows[:2], weights=[0.7, 0.3], ideal="absolute").tolist() == whole[:2].tolist()
    assert closeness(np.array([[1.0, 1.0], [0.0, 0.0]]), ideal="absolute").tolist() == [1.0, 0.0]


def test_judgements_by_type_are_consistent_and_put_throttled_resources_first() -> None:
    weights = ahp(by_kind(COMPRESSIBLE, ["cpu_milli", "memory_bytes", NET, DISK], 3.0)).weights
    assert weights == pytest.approx([0.375, 0.125, 0.375, 0.125])
    mirrored = ahp(by_kind(INCOMPRESSIBLE, ["cpu_milli", "memory_bytes", NET, DISK], 3.0))
    assert mirrored.weights == pytest.approx([0.125, 0.375, 0.125, 0.375])
    assert mirrored.consistency_ratio == pytest.approx(0.0, abs=1e-12)


def plain_scores(free: list[list[float]], judged: list[float]) -> list[float]:
    """Section by section: entropy, product of weights, L2 norm, distances; one number at a time."""
    rows, columns = len(free), len(free[0])
    gain = []
    for j in range(columns):
        whole = sum(row[j] for row in free)
        shares = [row[j] / whole if whole else 0.0 for row in free]
        entropy = -sum(p * math.log(p) for p in shares if p > 0) / math.log(rows)
        gain.append(max(1 - entropy, 0.0) if whole and 1 - entropy >= 1e-12 else 0.0)
    by_entropy = [g / sum(gain) if sum(gain) else 1 / columns for g in gain]
    product = [one * other for one, other in zip(judged, by_entropy, strict=True)]
    weights = [p / sum(product) for p in product] if sum(product) else judged
    length = [math.sqrt(sum(row[j] ** 2 for row in free)) or 1.0 for j in range(columns)]
    value = [[weights[j] * row[j] / length[j] for j in range(columns)] for row in free]
    best = [max(row[j] for row in value) for j in range(columns)]
    worst = [min(row[j] for row in value) for j in range(columns)]
    scores = []
    for row in value:
        to_best, to_worst = math.dist(row, best), math.dist(row, worst)
        scores.append(to_worst / (to_best + to_worst) if to_best + to_worst else 0.5)
    return scores


fractions = some.lists(
    some.lists(some.integers(0, 16).map(lambda n: n / 16), min_size=5, max_size=5),
    min_size=2,
    max_size=8,
)


@given(fractions, some.lists(some.integers(0, 500), min_size=5, max_size=5))
def test_scores_are_those_of_the_plain_form(used: list[list[float]], request_: list[int]) -> None:
    here, one = seen(used), waiting(*request_)
    policy = parse_policy("cwt[judgements=cpu:memory:2+cpu:net:2+cpu:disk:2+cpu:io:2]")
    judged = {"cpu_milli": THIRD, **dict.fromkeys(FIVE[1:], THIRD / 2)}
    order = ("cpu_milli", "memory_bytes", NET, DISK, DISK_IO)
    columns = [FIVE.index(name) for name in order]
    free = [[max(1 - (row[c] + request_[c] / 1000), 0.0) for c in columns] for row in used]
    expected = plain_scores(free, [judged[name] for name in order])
    scores = policy.score(here, one, np.arange(len(used)))
    assert scores == pytest.approx(expected, abs=1e-9)


def test_use_is_measured_and_where_it_is_not_what_is_requested_stands_for_it() -> None:
    here = snapshot([(1000, 1000)] * 2, [(200, 100), (600, 100)])
    measured = seen([[0.9, 0.9], [0.0, 0.0]], FIVE[:2])
    policy, every = parse_policy("cwt"), np.arange(2)
    bare = Cluster(resources=here.resources, capacity=here.capacity, allocatable=here.allocatable)
    blank = bare.snapshot(0, usage=SeriesUsage(np.empty((0, 2, 2)), None))
    assert np.argmax(policy.score(measured, container(10, 10), every)) == 1
    assert policy.score(blank, container(10, 10), every).tolist() == [0.5, 0.5]
    for node, taken in enumerate([(200, 100), (600, 100)]):
        row = np.array(taken)
        bare.change(node, row, row, row, sign=1)
    requested = bare.snapshot(0, usage=SeriesUsage(np.empty((0, 2, 2)), None))
    assert np.argmax(policy.score(requested, container(10, 10), every)) == 0


def test_judgements_of_resources_that_are_not_there_do_not_count() -> None:
    here = seen([[0.1, 0.5], [0.4, 0.2], [0.3, 0.3]], FIVE[:2])
    one, every = waiting(10, 10), np.arange(3)
    bare, more = (
        parse_policy(f"cwt[judgements=cpu:memory:3{rest}]").score(here, one, every)
        for rest in ("", "+net:disk:2")
    )
    assert bare.tolist() == more.tolist()
