"""Anti-affinity: the state that answers fast against the plain statement of the rules."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.sharing import (
    AntiAffinity,
    Sharing,
    SharingKeeper,
)

NODES, SERVICES = 3, 3

position = some.integers(0, SERVICES - 1)
rule = some.tuples(position, position, some.integers(0, 2))
step = some.tuples(position, some.integers(0, NODES - 1), some.booleans())


def limits(rules: list[tuple[int, int, int]]) -> AntiAffinity:
    return AntiAffinity(services=("a", "b", "c"), rules=np.array(rules, np.int64).reshape(-1, 3))


def keeper(limits: AntiAffinity) -> SharingKeeper:
    """One container of each service in turn, and one of a service without rules."""
    return Sharing(limits=limits, service=np.array([0, 1, 2, -1])).keeper(NODES)


def breaks(rules: IntArray, counts: IntArray) -> BoolArray:
    """Which rules are broken on which node, (nodes, rules): the plain statement of a rule.

    ``counts`` are containers of each service on each node, (nodes, services).
    """
    holder, guest, most = rules.T
    others = counts[:, guest] - (holder == guest)
    return np.asarray((counts[:, holder] > 0) & (others > most))


@given(some.lists(rule, max_size=5), some.lists(step, max_size=20))
def test_closed_is_where_one_more_breaks_a_rule(
    rules: list[tuple[int, int, int]], steps: list[tuple[int, int, bool]]
) -> None:
    together = limits(rules)
    sharing, counts = keeper(together), np.zeros((NODES, SERVICES), np.int64)
    for service, node, arrives in steps:
        if arrives and sharing.open(service)[node]:
            sharing.add(service, node)
            counts[node, service] += 1
        elif not arrives and counts[node, service]:
            sharing.remove(service, node)
            counts[node, service] -= 1
        assert not breaks(together.rules, counts).any()
        for asked in range(SERVICES):
            more = counts + np.eye(SERVICES, dtype=np.int64)[asked]
            assert (
                sharing.open(asked).tolist() == (~breaks(together.rules, more).any(axis=1)).tolist()
            )
