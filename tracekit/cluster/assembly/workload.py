"""A workload from the nodes, sizes, lives and use that a store records."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import INSTANCE_TYPES, ZONES
from tracekit.base.facts import remark
from tracekit.cluster.assembly.lives import Lives
from tracekit.cluster.assembly.parts import Used, rules_of, used_of
from tracekit.cluster.assembly.provenance import provenance_of
from tracekit.cluster.assembly.replayed import (
    Replayed,
    replayed_of,
)
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.constraints.allowed import nowhere
from tracekit.cluster.constraints.labels import Labels
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.losses import without
from tracekit.cluster.parts import (
    KINDS,
    Containers,
    NodeDomains,
    NodeEvents,
    Nodes,
    Provenance,
    Rules,
    Use,
    domains_of,
)
from tracekit.cluster.workload import UNKNOWN, Workload, nonzero
from tracekit.intake.sources.own._kubernetes.rules import EVICTION_BANS
from tracekit.store.folder import Store
from tracekit.store.node_states import absences, cordoned, gone_for_good
from tracekit.store.views import read

#: Labels, and taints, of nodes of the control plane; the second is that of before 1.24. Annotations
#: that say of a node that it stays are kept among its labels.
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def nodes_of(store: Store, replayed: Replayed, reserved: IntArray | None) -> Nodes:
    """Return the nodes with their sizes, labels, domains and prices from the table ``node``.

    ``reserved``, shape (nodes, resources), is the part of nodes that requests may not use.
    """
    ids, capacity, listed = tuple(replayed.nodes), replayed.amounts.capacity, replayed.sizes.nodes
    if not listed.height:
        return Nodes(ids=ids, capacity=capacity, reserved=reserved)
    labels = Labels(listed)
    return Nodes(
        ids=ids,
        capacity=capacity,
        reserved=reserved,
        domains=_domains(labels),
        never_removed=control_plane_of(listed),
        cordoned=cordoned_of(listed, read(store, "node")),
        price_per_hour=prices_of(listed),
        instance_types=_instance_types(labels),
    )


def prices_of(nodes: pl.DataFrame) -> FloatArray | None:
    """Return the price of each node, NaN where none is recorded; None where no node has a price."""
    prices = nodes["price_per_hour"].cast(pl.Float64)
    if prices.null_count() == len(prices):
        return None
    return np.asarray(prices.fill_null(np.nan).to_numpy())


def control_plane_of(nodes: pl.DataFrame) -> BoolArray | None:
    """Return which nodes are never removed: those of the control plane, or marked so.

    The nodes' Kubernetes labels and taints say so. None if no node has such a mark.

    Source: kubernetes v1.34, "Well-Known Labels, Annotations and Taints".
    """
    marked = np.zeros(nodes.height, dtype=np.bool_)
    for column in ("labels", "taints"):
        if column in nodes.columns:
            marks = [*CONTROL_PLANE, *EVICTION_BANS]
            has_mark = nodes[column].cast(pl.String).fill_null("").str.contains_any(marks)
            marked |= has_mark.to_numpy()
    return marked if marked.any() else None


def cordoned_of(nodes: pl.DataFrame, rows: pl.DataFrame) -> BoolArray | None:
    """Return which nodes are cordoned at the end of the record, or None if no node is.

    ``rows`` is the table ``node``, which says so.
    """
    is_cordoned = nodes["node"].is_in(cordoned(rows)["node"].implode()).to_numpy()
    return is_cordoned if is_cordoned.any() else None


def _instance_types(labels: Labels) -> tuple[str, ...] | None:
    """The instance type of each node from its labels, empty without one; None if none has."""
    types = tuple(one or "" for one in _first(labels, *INSTANCE_TYPES))
    return types if any(types) else None


def _domains(labels: Labels) -> NodeDomains | None:
    """Rack, domain and zone of each node; Kubernetes' zone label counts where no zone is stated."""
    named = {one: labels.values(one) for one in KINDS}
    return domains_of({**named, "zone": _first(labels, "zone", *ZONES)})


def _first(labels: Labels, *names: str) -> list[str | None]:
    """For each node, the value of the first of these labels that the node has."""
    each = zip(*map(labels.values, names), strict=True)
    return [next((one for one in values if one), None) for values in each]


def with_node_lives(load: Workload, store: Store, nodes: pl.DataFrame, life: Lives) -> Workload:
    """Return the workload with each node closed before it came, while it is away and after it left.

    Parameters
    ----------
    nodes : DataFrame
        First row of each node in the table ``node``, in the order of the workload. A node came with
        this row, or with the first container that ran there, if that is earlier.
    life : Lives
        Times of the workload's containers, in the workload's order.
    """
    if not nodes.height:
        return load
    left = gone_for_good(read(store, "node")).select("node", left_ms="time_ms")
    times = nodes.select("node", "time_ms").join(left, on="node", how="left", maintain_order="left")
    end = int(load.use.times_ms[-1]) + load.use.step_ms
    gone = {
        at: when
        for at, when in enumerate(times["left_ms"].to_list())
        if when is not None and when < end
    }
    start = int(load.use.times_ms[0])
    ran_from = np.where(life.at_start, start, life.arrival_ms)
    came = _came_ms(load, times["time_ms"].to_numpy().astype(np.int64), ran_from)
    late = np.flatnonzero(came > start)
    if len(gone) == load.nodes.count or len(late) == load.nodes.count:
        return load
    made = _joined(load, late[np.argsort(came[late], kind="stable")], came) if len(late) else load
    made = with_absences(made, store, nodes)
    return without(made, gone) if gone else made


def _came_ms(load: Workload, first_ms: IntArray, ran_from_ms: IntArray) -> IntArray:
    """When each node came: the time of its first row, or of the first container's arrival there."""
    came = first_ms.copy()
    ran = load.containers.recorded_node >= 0
    np.minimum.at(came, load.containers.recorded_node[ran], ran_from_ms[ran])
    return came


def _joined(load: Workload, late: IntArray, came: IntArray) -> Workload:
    names = [load.nodes.ids[at] for at in late.tolist()]
    background = np.array(load.use.background)
    for node in late.tolist():
        background[:, load.use.times_ms < came[node], node] = 0.0
    return dataclasses.replace(
        load,
        use=dataclasses.replace(load.use, background=background),
        nodes=dataclasses.replace(load.nodes, joins=NodeEvents(node=late, time_ms=came[late])),
        provenance=load.provenance.plus(
            remarks=(remark("node_came", len(late), "nodes", names=names),)
        ),
    )


def with_absences(load: Workload, store: Store, nodes: pl.DataFrame) -> Workload:
    """Return the workload with nodes closed while they are away.

    When a node leaves, its containers are evicted and its daemons end. A daemon that would arrive
    while its node is away is left out, because another daemon runs there afterwards.

    Parameters
    ----------
    nodes : DataFrame
        Rows of the workload's nodes, in its order.
    """
    away = absences(read(store, "node"))
    at = nodes.select("node").with_row_index("at")
    start, end = int(load.use.times_ms[0]), int(load.use.times_ms[-1]) + load.use.step_ms
    absent = away.filter((pl.col("from_ms") > start) & (pl.col("from_ms") < end)).join(
        at, on="node"
    )
    if not absent.height:
        return load
    node, left, back = (
        absent[name].to_numpy().astype(np.int64) for name in ("at", "from_ms", "until_ms")
    )
    background = np.array(load.use.background)
    for one, since, until in zip(node.tolist(), left.tolist(), back.tolist(), strict=True):
        background[:, (load.use.times_ms >= since) & (load.use.times_ms < until), one] = 0.0
    none = NodeEvents(node=np.empty(0, np.int64), time_ms=np.empty(0, np.int64))
    made = dataclasses.replace(
        load,
        use=dataclasses.replace(load.use, background=background),
        nodes=dataclasses.replace(
            load.nodes,
            losses=load.nodes.losses or none,
            leaves=_in_order(node, left),
            returns=_in_order(node, back),
        ),
    )
    return (
        made if load.rules.pinned is None else _unpinned(made, load.rules.pinned, node, left, back)
    )


def _in_order(node: IntArray, time_ms: IntArray) -> NodeEvents:
    order = np.argsort(time_ms, kind="stable")
    return NodeEvents(node=node[order], time_ms=time_ms[order])


def _unpinned(
    load: Workload, pinned: IntArray, node: IntArray, left: IntArray, back: IntArray
) -> Workload:
    """The workload in which no container is pinned to a node that is away at its arrival."""
    arrival, departure = load.containers.arrival_ms, load.containers.departure_ms.copy()
    daemon = load.daemons
    away: BoolArray = np.zeros(load.containers.count, np.bool_)
    for one, since, until in zip(node.tolist(), left.tolist(), back.tolist(), strict=True):
        here = pinned == one
        away |= here & (since <= arrival) & (arrival < until)
        ends = here & daemon & (arrival < since)
        departure[ends] = np.minimum(departure[ends], since)
    made = dataclasses.replace(
        load,
        containers=dataclasses.replace(load.containers, departure_ms=departure),
        rules=dataclasses.replace(load.rules, pinned=np.where(away & ~daemon, -1, pinned)),
    )
    staying = ~(away & daemon)
    return (
        made
        if staying.all()
        else in_order_of(made, np.flatnonzero(staying), made.containers.arrival_ms)
    )


def workload_from_sizes(
    store: Store, assumptions: SizedAssumptions, rng: np.random.Generator
) -> Workload:
    """Return the workload of a store with sizes; its name is that of the store's folder.

    Raises
    ------
    TracekitError
        When there is no node or no container to replay, or the tables contradict each other.
    """
    replayed = replayed_of(store, assumptions, rng)
    used = used_of(store, replayed, assumptions)
    rules = rules_of(replayed, assumptions, assumptions.start)
    shut_out = _shut_out(replayed, rules)
    load = assembled(
        store,
        replayed,
        use=_use(replayed.life, used),
        reserved=used.reserved,
        rules=rules,
        provenance=provenance_of(
            store, replayed, used, rules=rules, assumptions=assumptions, shut_out=shut_out
        ),
    )
    return _without(with_node_lives(load, store, replayed.sizes.nodes, replayed.life), shut_out)


def assembled(
    store: Store,
    replayed: Replayed,
    *,
    use: Use,
    reserved: IntArray | None,
    rules: Rules,
    provenance: Provenance,
) -> Workload:
    """Return the workload made of these parts.

    It serves stores that list containers, and stores that record only the use of containers.
    ``reserved``, shape (nodes, resources), is the part of nodes that requests may not use.
    """
    return Workload(
        name=store.name,
        nodes=nodes_of(store, replayed, reserved),
        containers=_containers(replayed),
        use=use,
        rules=rules,
        provenance=provenance,
        resources=replayed.amounts.resources,
    )


def _containers(replayed: Replayed) -> Containers:
    rows, life, amounts = replayed.rows, replayed.life, replayed.amounts
    return Containers(
        ids=tuple(rows["container"]),
        services=tuple(rows["service"].fill_null(UNKNOWN)),
        recorded_node=replayed.recorded,
        arrival_ms=life.arrival_ms,
        departure_ms=life.departure_ms,
        request=replayed.request,
        nonzero_request=nonzero(replayed.request, amounts.stated[life.order], amounts.resources),
        limit=amounts.limit[life.order],
        exchangeable=life.exchangeable,
    )


def _use(life: Lives, used: Used) -> Use:
    return Use(
        step_ms=life.step_ms,
        times_ms=life.times_ms,
        settled_ms=life.settled_ms,
        values=used.values,
        column=used.column,
        recorded=used.recorded,
        background=used.background,
        further_resources=used.further.used,
        further=used.further.by_column(used.column, used.values.shape[2]),
    )


def _without(load: Workload, shut_out: list[tuple[int, str]]) -> Workload:
    """The workload without the containers that no policy can place."""
    if not shut_out:
        return load
    staying = np.setdiff1d(np.arange(load.containers.count), [at for at, _ in shut_out])
    return in_order_of(load, staying, load.containers.arrival_ms)


def _shut_out(replayed: Replayed, rules: Rules) -> list[tuple[int, str]]:
    """Containers that no policy can place because selectors, taints or cells close every node.

    Each comes with the reason. A container of a gang is never among them: its gang waits with it.
    If all containers of a workload were, none is.
    """
    shut_out = [
        (at, why)
        for at, why in nowhere(rules.constraints, replayed.request, replayed.amounts.capacity)
        if (rules.pinned is None or rules.pinned[at] < 0)
        and (rules.gang is None or rules.gang[at] < 0)
    ]
    return shut_out if len(shut_out) < replayed.rows.height else []


def sized_assumptions(settings: Sequence[str]) -> SizedAssumptions:
    """Return the assumptions for a store with sizes, from ``name=value`` settings."""
    return parameters.build_from_settings(SizedAssumptions, settings, of="a store with sizes")
