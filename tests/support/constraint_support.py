"""Constraints, pins, priorities and gangs drawn at random for a workload."""

from __future__ import annotations

import numpy as np
from replay_support import changed

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.build_among import classes_of
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import Bound, CountRules, apart, sharing, together
from tracekit.cluster.workload import Workload


def drawn(load: Workload, rng: np.random.Generator) -> list[Constraint]:
    """One constraint of each kind."""
    count, nodes = load.containers.count, load.nodes.count
    service = np.array(
        [int(name[1:]) if name in ("s0", "s1", "s2") else -1 for name in load.containers.services]
    )
    limits = rng.integers(0, 3, (int(rng.integers(1, 4)), 3))
    half = load.nodes.capacity[:, :2] // 2
    return [
        sharing(service, limits, nodes),
        Allowed(label="selector", of=rng.integers(-1, 2, count), mask=rng.random((2, nodes)) < 0.7),
        apart(by="zone", group=rng.integers(-1, 3, count), domain=rng.integers(-1, 3, nodes),
              most=rng.integers(1, 4, 3)),
        apart(by="node", group=rng.integers(-1, 2, count), domain=np.arange(nodes),
              most=np.array([1, 2])),
        together(by="rack", group=rng.integers(-1, 4, count), domain=rng.integers(-1, 2, nodes)),
        Cells(capacity=np.stack([half, load.nodes.capacity[:, :2] - half], axis=1),
              request=load.containers.request[:, :2], numa_cells=rng.integers(0, 3, count)),
    ]  # fmt: skip


def among(load: Workload, rng: np.random.Generator) -> list[Constraint]:
    """One constraint of each kind that speaks of other containers."""
    domain = np.stack([np.arange(load.nodes.count), rng.integers(-1, 3, load.nodes.count)])
    skew = int(rng.integers(1, 3))
    one, other = rng.integers(0, 2, 2).tolist()
    made: list[tuple[str, Bound, int, list[list[int]]]] = [
        ("anti-affinity", "most", 2, [[0, one, one, 0, 0], [1, other, other, 0, 0]]),
        ("affinity", "least", 1, [[0, 0, 0, 1, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 0]]),
        ("spread", "even", 2, [[0, 0, 0, skew, skew], [1, 1, 1, skew, skew]]),
    ]
    return [
        _rules(load, rng, label, bound, most, np.array(table), domain)
        for label, bound, most, table in made
    ]


def _rules(
    load: Workload, rng: np.random.Generator, label: str, bound: Bound, most: int,
    table: IntArray, domain: IntArray,
) -> CountRules:  # fmt: skip
    """Who states some of two rules, and whom they mean."""
    rows = [tuple(range(most)), (1,), (0,), ()]
    one, other = (
        rng.integers(-1, 4, load.containers.count),
        rng.integers(0, 4, load.containers.count),
    )
    of, states, meant = classes_of(one, rows, other, [(0, 1), *rows[1:]])
    return CountRules(
        label=label, bound=bound, of=of, states=states, meant=meant, table=table, domain=domain
    )


def constrained(load: Workload, rng: np.random.Generator) -> Workload:
    """The workload with some of all kinds, some pinned containers, priorities and gangs."""
    count = load.containers.count
    parts = tuple(part for part in [*drawn(load, rng), *among(load, rng)] if rng.random() < 0.4)
    gang = np.where(rng.random(count) < 0.4, rng.integers(0, 3, count), -1)
    needed = rng.integers(0, 4, 4)  # 0: none is stated
    pins = np.where(rng.random(count) < 0.15, rng.integers(0, load.nodes.count, count), -1)
    given = rng.random(5) < 0.5
    return changed(
        load,
        rules={
            "constraints": Constraints(parts=parts) if parts else None,
            "pinned": pins if given[0] else None,
            "daemon": (pins >= 0) & (rng.random(count) < 0.5) if given[1] else None,
            "priority": rng.integers(0, 3, count) if given[2] else None,
            "gang": gang if given[3] else None,
            "gang_minimum": needed[gang] if given[3] and given[4] else None,
        },
    )


def broken(part: Constraint, node: IntArray, present: list[int]) -> bool:
    """Whether containers that run where ``node`` says break a constraint, counted anew.

    Cells are not judged: who got which is not told. Who leaves may break affinity and spread.
    """
    where = {index: int(node[index]) for index in present}
    if isinstance(part, Allowed):
        return any(part.of[i] >= 0 and not part.mask[part.of[i], at] for i, at in where.items())
    if not isinstance(part, CountRules) or part.label in ("affinity", "spread"):
        return False
    pairs = [set(map(tuple, side.tolist())) for side in (part.states, part.meant)]
    for rule, by, _, count, _ in part.table.tolist():
        states, meant = ([i for i in present if (part.of[i], rule) in side] for side in pairs)
        domain = {index: part.domain[by, at] for index, at in where.items()}
        for one in states:
            beside = [other for other in meant if other != one]
            close = sum(domain[other] == domain[one] for other in beside)
            if part.bound == "most" and domain[one] >= 0 and close > count:
                return True
            alone = one in meant and not beside
            if part.bound == "least" and (domain[one] < 0 or (close < count and not alone)):
                return True
    return False
