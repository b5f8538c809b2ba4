"""Counts of nodes for the decision: the rows of a study of the fewest nodes, as objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from tracekit.base.constants import MATERIAL
from tracekit.base.facts import Fact, Scalar
from tracekit.base.study import Study
from tracekit.base.units import HOURS_PER_MONTH
from tracekit.replay.chance import FEWEST, compare
from tracekit.replay.measures import find_measure

Case = Literal["today", "recorded", "recommended", "no_more_often", "half_size", "twice_size"]

#: By resource: the measure by which a node is full, and the name of the resource in a text.
FULLEST = {"cpu": "cpu_p99_over_time_fraction", "memory": "memory_max_fraction"}
RESOURCE = {"cpu": "CPU", "memory": "memory"}

#: How a template names the requests of a count.
REQUESTS_AS = {
    "recorded": "as they are",
    "recommended": "as recommended",
    "half_size": "half as large as assumed",
    "twice_size": "twice as large as assumed",
}


@dataclass(frozen=True, kw_only=True)
class Margin:
    """A measure's value and the limit on it.

    If ``lost_zone`` is not None, both are from a replay in which that zone is lost.
    """

    measure: str
    value: float | None
    allowed: float | None
    lost_zone: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fullest:
    """The node with the highest value of a measure."""

    node: str
    measure: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many nodes one policy needs in one case, such as with recommended requests.

    Parameters
    ----------
    nodes : int, optional
        The number that is enough in all orders of arrival; None where no number is.
    of : int
        The number of nodes in the cluster.
    bound : int, optional
        A lower bound on the nodes of any placement within the limits.
    by_order : tuple of int
        The nodes that are enough in each order of arrival alone.
    added : int
        How many of ``nodes`` the cluster does not have yet.
    fullest : tuple of Fullest
        The fullest of the nodes that stay, by each measure.
    cost_per_hour : float, optional
        The cost of the nodes that stay.
    nearest : Margin, optional
        The limit that is nearest to breaking.
    fewer, breaks : Margin, optional
        The limit that breaks with one node fewer, and the limit that breaks with all nodes.
    restarted : int, optional
        The number of containers that now run on nodes to be removed.
    as_random : tuple of (str, int), optional
        Another policy that needs fewer nodes, but as many as random placement, and its count.
    """

    case: Case
    policy: str
    nodes: int | None
    of: int
    bound: int | None = None
    by_order: tuple[int, ...] = ()
    added: int = 0
    fullest: tuple[Fullest, ...] = ()
    cost_per_hour: float | None = None
    nearest: Margin | None = None
    fewer: Margin | None = None
    breaks: Margin | None = None
    restarted: int | None = None
    as_random: tuple[str, int] | None = None

    @property
    def requests(self) -> str:
        """The requests of the count: ``recorded`` or ``recommended``."""
        return "recommended" if self.case == "recommended" else "recorded"

    @property
    def joint_is_more(self) -> bool:
        """Whether one set of nodes for all orders needs over 5 % more nodes than the worst order.

        Both counts are for the same policy; see ``nodes`` and ``by_order``.
        """
        worst = max(self.by_order, default=0)
        return self.nodes is not None and len(self.by_order) > 1 and self.nodes > JOINT * worst


#: A joint count above this multiple of the worst single order's count is explained.
JOINT = 1.05


def counts_of(study: Study, case: Case) -> list[Count]:
    """Return how many nodes each policy needs, the best policy first.

    Parameters
    ----------
    study : Study
        The results of ``tracekit nodes``.
    case : Case
        The requests and limits under which nodes were counted.
    """
    end = "_as_production" if case == "no_more_often" else ""
    orders, nodes = (study.frames[f"{name}{end}"] for name in ("orders", "nodes"))
    return [
        _count(row, case, orders, nodes.filter(policy=row["policy"]))
        for row in study.frames[f"policies{end}"].iter_rows(named=True)
    ]


def _count(row: dict[str, Any], case: Case, orders: pl.DataFrame, nodes: pl.DataFrame) -> Count:
    staying = nodes.filter("kept")
    by_order = orders.filter(policy=row["policy"]).sort("repeat")["nodes"].to_list()
    return Count(
        case=case,
        policy=row["policy"],
        nodes=row["nodes"],
        of=row["of"],
        bound=row.get("bound"),
        by_order=tuple(by_order),
        added=row.get("added_nodes") or 0,
        fullest=tuple(_fullest(staying)),
        cost_per_hour=row.get("cost_kept_per_hour"),
        nearest=_margin(row, "tightest"),
        fewer=None if row["nodes"] is None else _margin(row, "fails"),
        breaks=_margin(row, "breaks") if row["nodes"] is None or row.get("added_nodes") else None,
        restarted=row.get("restarted"),
    )


def _margin(row: dict[str, Any], name: str) -> Margin | None:
    """The limit in the columns of a row that begin with ``name``; None where they are empty."""
    measure = row.get(f"{name}_measure")
    if measure is None:
        return None
    return Margin(
        measure=measure,
        value=row.get(f"{name}_value"),
        allowed=row.get(f"{name}_allowed"),
        lost_zone=row.get(f"{name}_lost_zone"),
    )


def _fullest(staying: pl.DataFrame) -> list[Fullest]:
    fullest = []
    for measure in FULLEST.values():
        if measure not in staying.columns or staying[measure].is_null().all():
            continue
        top = staying.sort(measure, descending=True, nulls_last=True, maintain_order=True).row(
            0, named=True
        )
        fullest.append(Fullest(node=top["node"], measure=measure, value=top[measure]))
    return fullest


def best(counts: Sequence[Count], in_use: str, *, by_cost: bool = False) -> Count | None:
    """Return the count to act on; None where no policy has a count.

    It is that of the policy in use, unless another needs fewer nodes; see ``fewer_than``. Where the
    policy in use has no count, it is the best of the others.

    Parameters
    ----------
    in_use : str
        The policy in use.
    by_cost : bool
        Whether the cost of the nodes is compared instead of their number.
    """
    held = [one for one in counts if one.nodes is not None]
    usual = next((one for one in held if one.policy == in_use), None)
    rivals = [one for one in held if one.policy != in_use]
    if usual is not None:
        rivals = fewer_than(usual, rivals, by_cost=by_cost)
    every = [*rivals, *([] if usual is None else [usual])]
    return min(every, key=lambda one: _weight(one, by_cost=by_cost), default=None)


def fewer_than(usual: Count, rivals: Sequence[Count], *, by_cost: bool = False) -> list[Count]:
    """Return the rivals that need fewer nodes than ``usual``.

    The difference must be beyond chance, at least 1 %, and at least one node. With ``by_cost`` the
    last two are a difference of cost of at least 1 %.
    """
    orders = len(usual.by_order)
    same = [one for one in rivals if len(one.by_order) == orders >= FEWEST]
    if not same:
        return []
    pairs = np.stack([np.subtract(one.by_order, usual.by_order) for one in same], axis=1)
    tested = compare(pairs.astype(np.float64))
    return [
        one
        for at, one in enumerate(same)
        if tested.separated[at] and tested.mean[at] < 0 and _matters(one, usual, by_cost=by_cost)
    ]


def _weight(one: Count, *, by_cost: bool) -> float:
    if by_cost and one.cost_per_hour is not None:
        return one.cost_per_hour
    return float(one.nodes or 0)


def _matters(one: Count, usual: Count, *, by_cost: bool) -> bool:
    less, than = _weight(one, by_cost=by_cost), _weight(usual, by_cost=by_cost)
    node = by_cost or than - less >= 1
    return node and than - less >= MATERIAL * than


def needed_fact(count: Count) -> Fact:
    """Return the fact of how many nodes are needed."""
    because = "no_more_often" if count.case == "no_more_often" else ""
    if count.nodes is None:
        because = "none_holds"
    elif count.added:
        because = "more"
    return Fact(
        kind="nodes_needed",
        subject=count.policy,
        measure=count.breaks.measure if count.breaks is not None else "",
        value=count.nodes,
        unit="nodes",
        low=min(count.by_order, default=None),
        high=max(count.by_order, default=None),
        against=count.of,
        because=because,
        about={
            "of": count.of,
            "bound": count.bound,
            "orders": len(count.by_order) or None,
            "added": count.added or None,
            "case": count.case,
            "requests": count.requests,
            "requests_as": REQUESTS_AS.get(count.case, REQUESTS_AS[count.requests]),
            **_broken_at(count.breaks),
            "reaches_fraction": next((one.value for one in count.fullest), None),
        },
    )


def _broken_at(breaks: Margin | None) -> dict[str, Scalar]:
    """The value at which a limit breaks on all nodes, under a key that names its unit."""
    if breaks is None:
        return {}
    measure = find_measure(breaks.measure)
    share = measure is not None and measure.share
    return {"breaks_at_fraction" if share else "breaks_at": breaks.value, **_without(breaks)}


def _without(margin: Margin) -> dict[str, Scalar]:
    """The lost zone of a limit; empty where no zone is lost."""
    return {} if margin.lost_zone is None else {"lost_zone": margin.lost_zone}


def detail_facts(count: Count) -> Iterator[Fact]:
    """Yield facts on a count: orders that disagree, the nearest limit, containers to restart."""
    about = {"case": count.case, "requests": count.requests}
    if count.joint_is_more:
        yield Fact(
            kind="joint_count",
            subject=count.policy,
            value=count.nodes,
            unit="nodes",
            low=min(count.by_order),
            high=max(count.by_order),
            about=about,
        )
    for kind, one in (("limit_nearest", count.nearest), ("one_node_fewer", count.fewer)):
        if one is not None:
            yield Fact(
                kind=kind,
                subject=count.policy,
                measure=one.measure,
                value=one.value,
                against=one.allowed,
                because="" if one.lost_zone is None else "lost_zone",
                about={**about, **_without(one)},
            )
    if count.restarted is not None:
        yield Fact(
            kind="pods_restarted",
            subject=count.policy,
            value=count.restarted,
            unit="containers",
            about=about,
        )


def saving_fact(count: Count, every: float | None, currency: str | None) -> Fact | None:
    """Return the fact of the cost that is saved by removing the nodes that are not needed.

    Parameters
    ----------
    every : float, optional
        The cost of all nodes per hour; None, which gives no fact, where a price is unknown.
    """
    if every is None or count.cost_per_hour is None:
        return None
    saved, going = every - count.cost_per_hour, count.of - (count.nodes or 0)
    each = saved / going if going else 0.0
    unlike = abs(each - every / count.of) > MATERIAL * each
    return Fact(
        kind="saving",
        value=saved,
        unit="per_hour",
        about={
            "case": count.case,
            "share_fraction": saved / every if every else None,
            "a_month_per_month": saved * HOURS_PER_MONTH,
            **({"each_per_hour": each, "any_per_hour": every / count.of} if unlike else {}),
            "currency": currency or None,
        },
    )


def fullest_fact(one: Fullest, case: str, requests: str) -> Fact:
    """Return the fact that names the fullest node of a case by one measure."""
    return Fact(
        kind="fullest_node",
        subject=one.node,
        measure=one.measure,
        value=one.value,
        unit="fraction",
        about={"case": case, "requests": requests},
    )
