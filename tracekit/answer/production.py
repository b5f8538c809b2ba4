"""What production comes to on all nodes: full nodes, cost, and use of what is requested."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.answer.counts import FULLEST, RESOURCE, Fullest
from tracekit.base.facts import Fact
from tracekit.cluster.changed.prices import money_of
from tracekit.cluster.requests.use_over_requested import use_over_requested
from tracekit.cluster.workload import Workload
from tracekit.policy.view.over_time import UseOverTime

#: Requests come first where use is above, or below, these shares of what is requested.
ABOVE, BELOW = 1.0, 0.5


@dataclass(frozen=True, kw_only=True)
class ProductionUse:
    """How full production's nodes are, what they cost, and how use compares with requests.

    Parameters
    ----------
    today : tuple of Fullest
        The fullest node by each measure; empty where production's placement is not recorded.
    broken : tuple of str
        Nodes above the ceiling.
    ceiling : dict of str to float
        By resource, the fraction from which on a node is full.
    use_over_requested : dict of str to float
        By resource, mean use over what is requested.
    """

    today: tuple[Fullest, ...]
    broken: tuple[str, ...]
    ceiling: dict[str, float]
    use_over_requested: dict[str, float]
    cost_per_hour: float | None
    unpriced: tuple[str, ...]
    currency: str


def production_use(load: Workload) -> ProductionUse:
    """What the decision reads of production."""
    ceiling = {"cpu": load.rules.ceiling.cpu_fraction, "memory": load.rules.ceiling.memory_fraction}
    today: list[Fullest] = []
    broken: tuple[str, ...] = ()
    if load.containers.recorded:
        full = np.stack(_use_over_time(load))
        for at, measure in enumerate(FULLEST.values()):
            top = int(full[at].argmax())
            today.append(
                Fullest(node=load.nodes.ids[top], measure=measure, value=float(full[at, top]))
            )
        above = (full > np.array(list(ceiling.values()))[:, None]).any(axis=0)
        broken = tuple(load.nodes.ids[at] for at in np.flatnonzero(above).tolist())
    money = money_of(load)
    return ProductionUse(
        today=tuple(today),
        broken=broken,
        ceiling=ceiling,
        use_over_requested=dict(use_over_requested(load)),
        cost_per_hour=money.per_hour(),
        unpriced=money.unpriced_types if money.unpriced_nodes < load.nodes.count else (),
        currency=money.currency,
    )


def _use_over_time(load: Workload) -> tuple[np.ndarray, np.ndarray]:
    """CPU at the 99th percentile over time and the highest memory of each node in production."""
    collected = UseOverTime(load)
    capacity = np.maximum(load.nodes.capacity[:, :2].T.astype(np.float64), 1.0)
    for step in range(len(load.use.times_ms)):
        there = np.flatnonzero(load.present(step) & (load.containers.recorded_node >= 0))
        use = load.use.at(step)
        on = load.containers.recorded_node[there]
        total = np.stack(
            [
                load.use.background[at, step]
                + np.bincount(on, use[at, there], minlength=load.nodes.count)
                for at in range(2)
            ]
        )
        collected.add(step, (total / capacity)[:, None, :])
    found = collected.result()
    return found.cpu_p99, found.highest[1]


def ceiling_facts(ceiling: Mapping[str, float]) -> Iterator[Fact]:
    """From which use on a node is full, by resource."""
    for resource, measure in FULLEST.items():
        if resource in ceiling:
            yield Fact(
                kind="ceiling",
                measure=measure,
                value=ceiling[resource],
                unit="fraction",
                because=resource,
                about={"resource": RESOURCE[resource]},
            )


def broken_facts(
    broken: Collection[str], today: Sequence[Fullest], ceiling: Mapping[str, float], of: int
) -> Iterator[Fact]:
    """That production itself is above the ceiling, with its fullest node, of so many nodes."""
    if not broken or not today:
        return
    resources = {measure: resource for resource, measure in FULLEST.items()}
    over = max(today, key=lambda one: one.value / ceiling.get(resources[one.measure], 1.0))
    full = ceiling[resources[over.measure]]
    yield Fact(
        kind="ceiling_broken",
        subject=over.node,
        measure=over.measure,
        value=len(broken),
        high=over.value,
        against=full,
        unit="nodes",
        about={
            "of": of,
            "resource": RESOURCE[resources[over.measure]],
            "reaches_fraction": over.value,
            "full_fraction": full,
        },
    )


def facts_of_use(over: Mapping[str, float]) -> list[Fact]:
    """Mean use over what is requested, by resource; first facts where requests are far from use."""
    return [
        Fact(
            kind="use_over_requested",
            subject="trace",
            measure=name,
            value=value,
            unit="fraction",
            because="above" if value > ABOVE else "below_half" if value < BELOW else "",
            rank=2 if BELOW <= value <= ABOVE else 1,
            about={"resource": RESOURCE[name]},
        )
        for name, value in over.items()
    ]
