"""A workload from the sizes, lives and use that a store records."""

from collections.abc import Sequence

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import IntArray
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.lives import Lives
from tracekit.cluster.assembly.nodes import nodes_of, with_node_lives
from tracekit.cluster.assembly.provenance import provenance_of
from tracekit.cluster.assembly.replayed import (
    Replayed,
    replayed_of,
)
from tracekit.cluster.assembly.rules import rules_of
from tracekit.cluster.assembly.used import Used, used_of
from tracekit.cluster.constraints.allowed import nowhere
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.parts import Containers, Provenance, Rules, Use
from tracekit.cluster.workload import UNKNOWN, Workload, nonzero
from tracekit.store.folder import Store


def workload_from_sizes(
    store: Store, assumptions: SizedAssumptions, rng: np.random.Generator
) -> Workload:
    """The workload of a store with sizes; its name is that of the store's folder.

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
    """The workload of five parts, for a store that lists containers and for one of usage alone.

    Parameters
    ----------
    reserved : int64, shape (nodes, resources), optional
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
    kept = np.setdiff1d(np.arange(load.containers.count), [at for at, _ in shut_out])
    return in_order_of(load, kept, load.containers.arrival_ms)


def _shut_out(replayed: Replayed, rules: Rules) -> list[tuple[int, str]]:
    """Containers that no policy can place because selectors, taints or cells close every node.

    Each comes with the reason. A container of a gang is never among them: its gang waits with it.
    If all containers of a workload were, none is.
    """
    found = [
        (at, why)
        for at, why in nowhere(rules.constraints, replayed.request, replayed.amounts.capacity)
        if (rules.pinned is None or rules.pinned[at] < 0)
        and (rules.gang is None or rules.gang[at] < 0)
    ]
    return found if len(found) < replayed.rows.height else []


def sized_assumptions(settings: Sequence[str]) -> SizedAssumptions:
    """The assumptions for a store with sizes, from ``name=value`` settings."""
    return parameters.build_from_settings(SizedAssumptions, settings, of="a store with sizes")
