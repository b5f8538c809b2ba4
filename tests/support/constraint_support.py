"""Constraints, pins, priorities and gangs drawn at random for a workload."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.about_others import PodAffinity, PodAntiAffinity, Spread
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.by_domain import Apart, Together
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.relation import Related, Relation
from tracekit.cluster.constraints.sharing import AntiAffinity, Sharing
from tracekit.cluster.workload import Workload


def drawn(load: Workload, rng: np.random.Generator) -> list[Constraint]:
    """One constraint of each kind."""
    count, nodes = load.containers, load.nodes
    limits = AntiAffinity(
        services=("s0", "s1", "s2"), rules=rng.integers(0, 3, (int(rng.integers(1, 4)), 3))
    )
    half = load.capacity[:, :2] // 2
    return [
        Sharing.of(limits, load.services),
        Allowed(label="selector", of=rng.integers(-1, 2, count), mask=rng.random((2, nodes)) < 0.7),
        Apart(by="zone", group=rng.integers(-1, 3, count), domain=rng.integers(-1, 3, nodes),
              most=rng.integers(1, 4, 3)),
        Apart(by="node", group=rng.integers(-1, 2, count), domain=np.arange(nodes),
              most=np.array([1, 2])),
        Together(by="rack", group=rng.integers(-1, 4, count), domain=rng.integers(-1, 2, nodes)),
        Cells(capacity=np.stack([half, load.capacity[:, :2] - half], axis=1),
              request=load.request[:, :2], numa_cells=rng.integers(0, 3, count)),
    ]  # fmt: skip


def among(load: Workload, rng: np.random.Generator) -> list[Constraint]:
    """One constraint of each kind that speaks of other containers."""
    domain = np.stack([np.arange(load.nodes), rng.integers(-1, 3, load.nodes)])
    skew = rng.integers(1, 3, 2)
    return [
        PodAntiAffinity(label="anti-affinity", related=_related(load, rng, 2),
                        by=rng.integers(0, 2, 2), domain=domain),
        PodAffinity(related=_related(load, rng, 1), terms=Relation.of([[0, 1], [1]]),
                    domain=domain),
        Spread(related=_related(load, rng, 2), skew=skew, least=skew, by=np.array([0, 1]),
               counted_by=np.array([0, 1]), domain=domain),
    ]  # fmt: skip


def _related(load: Workload, rng: np.random.Generator, most: int) -> Related:
    """Who states some of two rules, and whom they mean."""
    rows = [tuple(range(most)), (1,), (0,), ()]
    one, other = rng.integers(-1, 4, load.containers), rng.integers(0, 4, load.containers)
    return Related.join(one, rows, other, [(0, 1), *rows[1:]])


def constrained(load: Workload, rng: np.random.Generator) -> Workload:
    """The workload with some of all kinds, some pinned containers, priorities and gangs."""
    count = load.containers
    parts = tuple(part for part in [*drawn(load, rng), *among(load, rng)] if rng.random() < 0.4)
    gang = np.where(rng.random(count) < 0.4, rng.integers(0, 3, count), -1)
    needed = rng.integers(0, 4, 4)  # 0: none is stated
    pins = np.where(rng.random(count) < 0.15, rng.integers(0, load.nodes, count), -1)
    given = rng.random(5) < 0.5
    return dataclasses.replace(
        load,
        constraints=Constraints(parts=parts) if parts else None,
        pinned=pins if given[0] else None,
        daemon=(pins >= 0) & (rng.random(count) < 0.5) if given[1] else None,
        priority=rng.integers(0, 3, count) if given[2] else None,
        gang=gang if given[3] else None,
        gang_minimum=needed[gang] if given[3] and given[4] else None,
    )


def broken(part: Constraint, node: IntArray, there: list[int]) -> bool:
    """Whether containers that run where ``node`` says break a constraint, counted anew.

    Cells are not judged: who got which is not told.
    """
    where = {index: int(node[index]) for index in there}
    if isinstance(part, Allowed):
        return any(part.of[i] >= 0 and not part.mask[part.of[i], at] for i, at in where.items())
    if isinstance(part, Apart | Together):
        groups = Counter(
            (int(part.group[i]), int(part.domain[at]))
            for i, at in where.items()
            if part.group[i] >= 0
        )
        if isinstance(part, Apart):
            return any(n > part.most[g] for (g, domain), n in groups.items() if domain >= 0)
        return (
            any(domain < 0 for _, domain in groups)
            or max(Counter(g for g, _ in groups).values(), default=0) > 1
        )
    if isinstance(part, Sharing):
        running = np.full(len(node), -1)
        running[there] = node[there]
        return broken_rules(part.limits, part.service, running) > 0
    return False


def broken_rules(limits: AntiAffinity, service: IntArray, node: IntArray) -> int:
    """How many (node, rule) pairs a placement breaks; containers without node (-1) count nowhere.

    Parameters
    ----------
    service, node : int64, shape (containers,)
    """
    there: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for one, where in zip(service.tolist(), node.tolist(), strict=True):
        if where >= 0:
            there[where][one] += 1
    guests: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for holder, guest, most in limits.rules.tolist():
        guests[holder].append((guest, most + (holder == guest)))
    return sum(
        count[guest] > allowed
        for count in there.values()
        for holder in list(count)
        for guest, allowed in guests[holder]
    )
