"""What a workload of listed containers rests on: origins, counts, and facts to know of it."""

import dataclasses

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.further import passed_over
from tracekit.cluster.assembly.replayed import (
    Replayed,
)
from tracekit.cluster.assembly.rules import (
    short_gangs,
)
from tracekit.cluster.assembly.set_aside import (
    barred_now,
    barred_remark,
    lacking_remark,
    to_place_remark,
    too_large_remark,
)
from tracekit.cluster.assembly.used import Used
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.constraints.build import not_held
from tracekit.cluster.constraints.reasons import shut_out_remark
from tracekit.cluster.parts import Provenance, Rules
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
from tracekit.store.doubts import NEVER_RAN, WITHOUT_USE, doubts
from tracekit.store.folder import Store
from tracekit.store.quantities import RECORDED
from tracekit.store.tables import PREFERRED


def provenance_of(
    store: Store,
    who: Replayed,
    used: Used,
    *,
    rules: Rules,
    assumptions: SizedAssumptions,
    shut_out: list[tuple[int, str]],
) -> Provenance:
    """What a workload of listed containers rests on.

    Parameters
    ----------
    shut_out : list of (int, str)
        Containers that are left out as every node is closed to them, and why.
    """
    return Provenance(
        quantities=_quantities(store, who, used, assumptions),
        assumptions={**dataclasses.asdict(assumptions), "step_used_ms": who.life.step_ms},
        remarks=(
            *_remarks(store, who, rules.budgets, shut_out),
            *_barred(who, rules, shut_out),
            *_further_remarks(store, who, used, assumptions),
        ),
        facts=_facts(who, used, assumptions, shut_out),
    )


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
        **({"containers_left_waiting": who.left_waiting.height} if who.waiting else {}),
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
