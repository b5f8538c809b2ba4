"""A workload from the sizes, lives and use that a store records."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.further import passed_over
from tracekit.cluster.assembly.lives import Lives
from tracekit.cluster.assembly.nodes import control_plane_of, cordoned_of, nodes_of
from tracekit.cluster.assembly.replayed import (
    Replayed,
    replayed_of,
    with_node_lives,
)
from tracekit.cluster.assembly.rules import (
    evicts_nobody_of,
    never_evicted_of,
    pinned_of,
    rules_of,
    short_gangs,
)
from tracekit.cluster.assembly.set_aside import (
    barred_now,
    barred_remark,
    lacking_remark,
    to_place_remark,
    too_large_remark,
)
from tracekit.cluster.assembly.used import Used, used_of
from tracekit.cluster.budgets import Budgets, budgets_of
from tracekit.cluster.checks import nothing_observed
from tracekit.cluster.constraints.allowed import nowhere
from tracekit.cluster.constraints.build import not_held
from tracekit.cluster.constraints.reasons import shut_out_remark
from tracekit.cluster.constraints.written import written_of
from tracekit.cluster.declared import Start
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.parts import Containers, Nodes, Provenance, Rules, Use
from tracekit.cluster.provenance import (
    ASSUMED,
    further_remark,
    further_rests_on,
    reserved_rests_on,
    rests_on,
    set_aside,
    use_rests_on,
)
from tracekit.cluster.resources import BASE
from tracekit.cluster.workload import UNKNOWN, Workload, nonzero
from tracekit.store.doubts import NEVER_RAN, WITHOUT_USE, doubts
from tracekit.store.folder import Store
from tracekit.store.never_ran import gated, waits
from tracekit.store.quantities import RECORDED
from tracekit.store.tables.objects import PREFERRED
from tracekit.store.views import read


def workload_from_sizes(
    store: Store, assumptions: SizedAssumptions, rng: np.random.Generator
) -> Workload:
    """The workload of a store with sizes, called after the store's folder.

    Raises
    ------
    TracekitError
        When there is no node or no container to replay, or the tables contradict each other.
    """
    who = replayed_of(store, assumptions, rng)
    used = used_of(store, who, assumptions)
    rules = rules_of_tables(who, assumptions, assumptions.start)
    shut_out = _shut_out(who, rules)
    provenance = Provenance(
        quantities=_quantities(store, who, used, assumptions),
        assumptions={**dataclasses.asdict(assumptions), "step_used_ms": who.life.step_ms},
        remarks=(
            *_remarks(store, who, rules.budgets, shut_out),
            *_barred(who, rules, shut_out),
            *_further_remarks(store, who, used, assumptions),
        ),
        facts=_facts(who, used, assumptions, shut_out),
    )
    load = assembled(
        store,
        who,
        use=_use(who.life, used),
        reserved=used.reserved,
        rules=rules,
        provenance=provenance,
    )
    return _without(with_node_lives(load, store, who.found.nodes, who.life), shut_out)


def assembled(
    store: Store,
    who: Replayed,
    *,
    use: Use,
    reserved: IntArray | None,
    rules: Rules,
    provenance: Provenance,
) -> Workload:
    """The five parts together; of a store that lists containers, and of one of usage alone.

    Parameters
    ----------
    reserved : int64, shape (nodes, resources), optional
    """
    return Workload(
        name=store.name,
        nodes=_nodes(store, who, reserved),
        containers=_containers(who),
        use=use,
        rules=rules,
        provenance=provenance,
        resources=who.amounts.resources,
    )


def _nodes(store: Store, who: Replayed, reserved: IntArray | None) -> Nodes:
    listed = who.found.nodes
    nodes = nodes_of(tuple(who.nodes), who.amounts.capacity, reserved, listed)
    return dataclasses.replace(
        nodes, stays=control_plane_of(listed), cordoned=cordoned_of(listed, read(store, "node"))
    )


def _containers(who: Replayed) -> Containers:
    rows, life, amounts = who.rows, who.life, who.amounts
    return Containers(
        ids=tuple(rows["container"]),
        services=tuple(rows["service"].fill_null(UNKNOWN)),
        recorded_node=who.recorded,
        arrival_ms=life.arrival_ms,
        departure_ms=life.departure_ms,
        request=who.request,
        nonzero_request=nonzero(who.request, amounts.stated[life.order], amounts.resources),
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
    """The workload without some containers."""
    if not shut_out:
        return load
    kept = np.setdiff1d(np.arange(load.containers.count), [at for at, _ in shut_out])
    return in_order_of(load, kept, load.containers.arrival_ms)


def rules_of_tables(who: Replayed, assumptions: SizedAssumptions, start: Start) -> Rules:
    """The rules that the rows of nodes and containers state, and who stays where it ran."""
    listed, rows = who.found.nodes, who.rows
    rules = rules_of(
        who.found,
        listed,
        rows,
        assumptions,
        request=who.request,
        capacity=who.amounts.capacity,
        ran=who.where >= 0,
    )
    return dataclasses.replace(
        rules,
        pinned=_pinned(who, rules.daemon, start),
        evicts_nobody=evicts_nobody_of(rows["rules"]),
        never_evicted=never_evicted_of(rows["rules"]),
        budgets=_budgets(who),
        written=written_of(rows, listed, who.life.begins_listed_ms),
    )


def _budgets(who: Replayed) -> Budgets | None:
    """The budgets of those that are replayed; who waits in production is missing from them."""
    return budgets_of(who.rows["rules"], _waiting(who)["rules"])


def _waiting(who: Replayed) -> pl.DataFrame:
    """Containers that wait for a node in production and are left out."""
    waiting = who.found.containers.filter(waits() & ~gated())
    return waiting.join(who.rows, on="container", how="anti")


def _shut_out(who: Replayed, rules: Rules) -> list[tuple[int, str]]:
    """Containers that no policy can place, as selectors, taints or cells close every node; and why.

    Those of gangs are not among them: their gang waits with them. Nor are all of a workload.
    """
    found = [
        (at, why)
        for at, why in nowhere(rules.constraints, who.request, who.amounts.capacity)
        if (rules.pinned is None or rules.pinned[at] < 0)
        and (rules.gang is None or rules.gang[at] < 0)
    ]
    return found if len(found) < who.rows.height else []


def _kept(who: Replayed, shut_out: list[tuple[int, str]]) -> IntArray:
    """The positions of those that are replayed."""
    return np.setdiff1d(np.arange(who.rows.height), [at for at, _ in shut_out])


def _quantities(
    store: Store, who: Replayed, used: Used, assumptions: SizedAssumptions
) -> dict[str, str]:
    """The origin of each number of the replay."""
    known = rests_on(store, "use of containers")
    # of what never leaves the order alone is replayed, and is drawn
    aside = ("arrivals", "departures") if assumptions.departures == "none" else ()
    return {
        **known,
        **({"node sizes": ASSUMED} if who.amounts.assumed else {}),
        **use_rests_on(used.unknown),
        **further_rests_on(_further(who, used), used.further.lacking(), who.rows.height),
        **reserved_rests_on(used.reserved),
        **({"arrivals": ASSUMED} if who.life.assumed else {}),
        **{name: set_aside("departures=none") for name in aside if known[name] == RECORDED},
    }


def _remarks(
    store: Store, who: Replayed, budgets: Budgets | None, shut_out: list[tuple[int, str]]
) -> tuple[Fact, ...]:
    """Doubts of the store, times, containers that are not replayed, and budgets."""
    return (
        *doubts(store, counted=frozenset({WITHOUT_USE, NEVER_RAN})),
        *who.life.remarks,
        *_left_out(who, shut_out),
        *(() if budgets is None else budgets.remarks()),
    )


def _barred(who: Replayed, rules: Rules, shut_out: list[tuple[int, str]]) -> tuple[Fact, ...]:
    """Containers on nodes that a selector or a taint has closed since they came."""
    pinned = rules.pinned
    ran = who.recorded if pinned is None else np.where(pinned >= 0, -1, who.recorded)
    if rules.daemon is not None:
        ran = np.where(rules.daemon, -1, ran)
    ran = ran.copy()
    ran[[at for at, _ in shut_out]] = -1
    found = barred_now(rules.constraints, ran)
    return barred_remark(found, ran, who.rows["container"].to_list(), who.nodes)


def _further(who: Replayed, used: Used) -> list[str]:
    """The resources beyond CPU and memory whose use counts."""
    return [who.amounts.resources[at] for at in used.further.used]


def _further_remarks(
    store: Store, who: Replayed, used: Used, assumptions: SizedAssumptions
) -> tuple[Fact, ...]:
    """What counts as use of further resources, and what does not."""
    counted = further_remark(_further(who, used))
    resources = who.amounts.resources
    return (*counted, *passed_over(store, assumptions, resources, used.further.used))


def _left_out(who: Replayed, shut_out: list[tuple[int, str]]) -> tuple[Fact, ...]:
    """Facts of containers that are not replayed, and on those that production left waiting."""
    kept = who.rows[_kept(who, shut_out)]
    return (
        *too_large_remark(who.found, who.amounts, who.too_large),
        *lacking_remark(who.found, who.lacking),
        *who.waiting,
        *(to_place_remark(kept, who.found.requests) if who.places_waiting else ()),
        *shut_out_remark(shut_out, who.rows["container"].to_list()),
    )


def _facts(
    who: Replayed,
    used: Used,
    assumptions: SizedAssumptions,
    shut_out: list[tuple[int, str]],
) -> dict[str, int]:
    """Counts of what was left out, and of what stands in for unknown values of those replayed."""
    found, kept = who.found, _kept(who, shut_out)
    return {
        **({"nodes_set_aside": len(found.set_aside)} if len(found.set_aside) else {}),
        **({"nodes_without_own_use": found.unmeasured} if found.unmeasured else {}),
        **({"containers_not_listed": found.unlisted} if found.unlisted else {}),
        **({"containers_gated": who.gated} if who.gated else {}),
        **({"containers_left_waiting": _waiting(who).height} if who.waiting else {}),
        **(
            {"containers_left_waiting_too_large": who.waiting_too_large}
            if who.waiting_too_large
            else {}
        ),
        "containers_departed_before": who.life.over,
        "containers_set_aside_too_large": len(who.too_large),
        **({"containers_set_aside_lacking": len(who.lacking)} if who.lacking else {}),
        **_unknown(who, used.silent[kept]),
        "container_steps_held": used.held,
        **({"steps_without_any_sample": used.blank} if used.blank else {}),
        **_stand_ins(used.unknown[:, kept]),
        **(not_held(found.nodes, who.rows) if assumptions.groups == "keep" else {}),
        **({"containers_set_aside_shut_out": len(shut_out)} if shut_out else {}),
        **short_gangs(who.rows),
    }


def _pinned(who: Replayed, daemon: BoolArray | None, start: Start) -> IntArray | None:
    """The node of each container that no policy places, -1 for others; None where there is none."""
    stays = who.life.there & (who.where >= 0) & (start == "observed")
    if start == "observed" and not stays.any():
        raise nothing_observed()
    return pinned_of(daemon, who.where, stays)


def _unknown(who: Replayed, silent: BoolArray) -> dict[str, int]:
    """How many containers lack what a replay would use."""
    rows, where = who.rows, who.where
    without_node = rows["node"].null_count()
    return {
        "containers_without_request": int((who.request[:, : len(BASE)] == 0).all(axis=1).sum()),
        "containers_without_usage": int(silent.sum()),
        "containers_without_recorded_node": without_node,
        "containers_on_unknown_nodes": int((where < 0).sum()) - without_node,
        "containers_with_rules_not_held": _with_rules_not_held(rows),
    }


def _with_rules_not_held(rows: pl.DataFrame) -> int:
    """How many containers have a rule that is not held; preferences are told by the store."""
    parts = rows["not_held"].fill_null("").str.split(", ")
    rules = parts.list.eval(~pl.element().str.starts_with(PREFERRED) & (pl.element() != ""))
    return int(rules.list.any().sum())


def _stand_ins(unknown: BoolArray) -> dict[str, int]:
    """How many containers have a part of their use recorded, so that a request stands in."""
    silent: BoolArray = np.asarray(unknown.all(axis=0))
    partly = {"cpu": unknown[0] & ~silent, "memory": unknown[1] & ~silent}
    counts = {"": silent, **{f"{name}_": who for name, who in partly.items()}}
    return {
        f"containers_with_request_as_{name}use": int(who.sum())
        for name, who in counts.items()
        if who.any()
    }


def sized_assumptions(settings: Sequence[str]) -> SizedAssumptions:
    """The assumptions with ``name=value`` settings."""
    return parameters.build_from_settings(SizedAssumptions, settings, of="a store with sizes")
