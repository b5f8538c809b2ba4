"""Production on all nodes: full nodes, cost, use over requests; facts of fits and bindings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tracekit.answer.counts import FULLEST, RESOURCE, Fullest
from tracekit.base.facts import Answer, Fact, Verdict, answer_of
from tracekit.cluster.circumstances import money_of
from tracekit.cluster.request_table import use_over_requested
from tracekit.cluster.workload import Workload
from tracekit.policy.view.usage import UseOverTime
from tracekit.replay.chance import FEWEST

if TYPE_CHECKING:
    from tracekit.binding.run import VcpuRun
    from tracekit.interference.run import Fit

#: Requests come first where use is above the first, or below the second, share of the requests.
ABOVE, BELOW = 1.0, 0.5


@dataclass(frozen=True, kw_only=True)
class ProductionUse:
    """How full production's nodes are, what they cost, and use over requests.

    Parameters
    ----------
    today : tuple of Fullest
        The fullest node by each measure; empty where production's placement is not recorded.
    broken : tuple of str
        Nodes above the ceiling.
    ceiling : dict of str to float
        By resource: the used fraction from which on a node is full.
    use_over_requested : dict of str to float
        By resource: mean use over requests.
    """

    today: tuple[Fullest, ...]
    broken: tuple[str, ...]
    ceiling: dict[str, float]
    use_over_requested: dict[str, float]
    cost_per_hour: float | None
    unpriced: tuple[str, ...]
    currency: str


def production_use(load: Workload) -> ProductionUse:
    """Return the use of production's nodes in a workload."""
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
    """CPU at the 99th percentile over time, and highest memory, of each node; each (nodes,)."""
    collected = UseOverTime(load)
    capacity = np.maximum(load.nodes.capacity[:, :2].T.astype(np.float64), 1.0)
    for step in range(len(load.use.times_ms)):
        running = np.flatnonzero(load.present(step) & (load.containers.recorded_node >= 0))
        use = load.use.at(step)
        on = load.containers.recorded_node[running]
        total = np.stack(
            [
                load.use.background[at, step]
                + np.bincount(on, use[at, running], minlength=load.nodes.count)
                for at in range(2)
            ]
        )
        collected.add(step, (total / capacity)[:, None, :])
    use_by_node = collected.result()
    return use_by_node.cpu_p99, use_by_node.highest[1]


def ceiling_facts(ceiling: Mapping[str, float]) -> Iterator[Fact]:
    """Yield a fact on each resource's ceiling: the used fraction from which on a node is full."""
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
    """Yield the fact that production has nodes above the ceiling; nothing where it has none.

    Parameters
    ----------
    of : int
        The number of all nodes.
    """
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
    """Return mean use over requests, by resource; rank 1 where requests do not fit use."""
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


# Facts of a fit of the cost of neighbours, and of a replay down to the vCPU.

#: The measure by which bindings are compared, and its mean share over containers.
_LOST, _SHARE = "inflation_vcpus", "inflation_mean_fraction"
#: The coefficients of a fit, and what neighbours share in each.
_COEFFICIENTS = {"k1": "core", "k2": "socket"}


def answer_of_binding(run: VcpuRun) -> Answer:
    """Return the facts of ``facts_of_binding`` as an answer."""
    return answer_of([*facts_of_binding(run.differences, run.summary), *run.remarks])


def facts_of_binding(differences: pl.DataFrame, summary: pl.DataFrame) -> Iterator[Fact]:
    """Yield the CPU that ways of binding vCPUs lose to neighbours, and how the first way compares.

    ``differences`` and ``summary`` are frames of ``binding.tables``.
    """
    rows = differences.filter(measure=_LOST).to_dicts()
    few = [row["repeats"] for row in rows if row["repeats"] < FEWEST]
    if few:
        about = {"orders": few[0], "needed": FEWEST}
        yield Fact(
            kind="binding",
            subject=rows[0]["policy"],
            verdict="cannot_tell",
            because="few_orders",
            about=about,
        )
    yield from (_difference(row) for row in rows)
    for row in rows:
        share = differences.filter(measure=_SHARE, against=row["against"]).to_dicts()
        if share and _opposite(row, share[0]):
            yield Fact(
                kind="binding",
                subject=row["policy"],
                measure=_SHARE,
                value=share[0]["difference_mean"],
                unit="points",
                because="share_disagrees",
                rank=2,
                about={"other": row["against"]},
            )
    for row in summary.to_dicts():
        yield Fact(
            kind="policy_value",
            subject=row["policy"],
            measure=_LOST,
            value=row[_LOST],
            unit="vCPUs",
            about={"bound_vcpus": row["bound_vcpus"], "nodes_used": row["nodes_used_max"]},
        )


def _difference(row: Mapping[str, Any]) -> Fact:
    """The comparison of two ways to bind by the vCPUs that neighbours cost."""
    apart, orders = row["difference_mean"], row["repeats"]
    enough = orders >= FEWEST
    ends = (
        sorted(abs(row[name]) for name in ("difference_low", "difference_high")) if enough else ()
    )
    verdict: Verdict = "better" if apart < 0 else "worse"
    return Fact(
        kind="binding",
        subject=row["policy"],
        measure=_LOST,
        value=apart,
        unit="vCPUs",
        low=row["difference_low"] if enough else None,
        high=row["difference_high"] if enough else None,
        verdict=verdict if enough and row["separated"] else "cannot_tell",
        rank=None if enough else 3,
        about={
            "other": row["against"],
            "apart_vcpus": abs(apart),
            "least_vcpus": ends[0] if ends else None,
            "most_vcpus": ends[1] if ends else None,
            "share_fraction": row["share_mean"],
            "orders": orders,
        },
    )


def _opposite(lost: Mapping[str, Any], share: Mapping[str, Any]) -> bool:
    """Whether lost vCPUs and the mean share rank two ways to bind in opposite orders."""
    apart = all(row["separated"] or row["repeats"] == 1 for row in (lost, share))
    return bool(apart and lost["difference_mean"] * share["difference_mean"] < 0)


def answer_of_fit(fit: Fit) -> Answer:
    """Return the facts of ``facts_of_fit`` as an answer."""
    return answer_of(facts_of_fit(fit))


def facts_of_fit(fit: Fit) -> Iterator[Fact]:
    """Yield facts on the fitted cost of neighbours: containers on the same node that slow others.

    They are the cost over all services together, and the number of services by the verdict on
    their fit.
    """
    from tracekit.interference.linear import USABLE  # noqa: PLC0415 - brings duckdb

    pooled = fit.fitted.pooled.row(0, named=True)
    for name, where in _COEFFICIENTS.items():
        if pooled.get(name) is not None:
            yield Fact(
                kind="neighbour_cost",
                subject=where,
                measure=name,
                value=pooled[name],
                low=pooled[f"{name}_low"],
                high=pooled[f"{name}_high"],
                verdict="holds" if pooled["verdict"] == USABLE else "cannot_tell",
                rank=1,
                about={"mode": fit.mode, "level": fit.options.level},
            )
    yield from fit.remarks
    if pooled["verdict"] != USABLE:
        yield Fact(kind="neighbour_cost", subject=pooled["verdict"], because="unusable", rank=1)
    services = fit.fitted.services
    for verdict, many in services["verdict"].value_counts(sort=True).rows():
        yield Fact(
            kind="neighbour_cost",
            subject=verdict,
            value=many,
            unit="services",
            because="services",
            about={"of": services.height},
        )
