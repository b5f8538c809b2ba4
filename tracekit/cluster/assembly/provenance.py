"""What a workload of listed containers rests on: origins, counts, and facts to know of it."""

import dataclasses

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.assembly.further import passed_over
from tracekit.cluster.assembly.parts import Used, short_gangs
from tracekit.cluster.assembly.replayed import (
    Replayed,
    barred_now,
    barred_remark,
    lacking_remark,
    to_place_remark,
    too_large_remark,
)
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.constraints.build import not_held
from tracekit.cluster.constraints.reasons import shut_out_remark
from tracekit.cluster.parts import Provenance, Rules
from tracekit.cluster.provenance import (
    ASSUMED,
    further_remark,
    further_rests_on,
    origins_of,
    reserved_rests_on,
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
    replayed: Replayed,
    used: Used,
    *,
    rules: Rules,
    assumptions: SizedAssumptions,
    shut_out: list[tuple[int, str]],
) -> Provenance:
    """Return the origin of a workload's numbers, for a store that lists containers.

    Parameters
    ----------
    shut_out : list of (int, str)
        Containers that are left out because every node is closed to them: position, and the reason.
    """
    return Provenance(
        quantities=_quantities(store, replayed, used, assumptions),
        assumptions={**dataclasses.asdict(assumptions), "step_used_ms": replayed.life.step_ms},
        remarks=(
            *_remarks(store, replayed, rules.budgets, shut_out),
            *_barred(replayed, rules, shut_out),
            *_further_remarks(store, replayed, used, assumptions),
        ),
        facts=_facts(replayed, used, assumptions, shut_out),
    )


def _replayed_positions(replayed: Replayed, shut_out: list[tuple[int, str]]) -> IntArray:
    """The positions of the containers that are replayed."""
    return np.setdiff1d(np.arange(replayed.rows.height), [at for at, _ in shut_out])


def _quantities(
    store: Store, replayed: Replayed, used: Used, assumptions: SizedAssumptions
) -> dict[str, str]:
    """Where each quantity of the replay comes from: recorded, inferred, assumed or absent."""
    origins = origins_of(store, "use of containers")
    # of what never leaves the order alone is replayed, and is drawn
    aside = ("arrivals", "departures") if assumptions.departures == "none" else ()
    return {
        **origins,
        **({"node sizes": ASSUMED} if replayed.amounts.assumed else {}),
        **use_rests_on(used.unknown),
        **further_rests_on(_further(replayed, used), used.further.lacking(), replayed.rows.height),
        **reserved_rests_on(used.reserved),
        **({"arrivals": ASSUMED} if replayed.life.assumed else {}),
        **{name: set_aside("departures=none") for name in aside if origins[name] == RECORDED},
    }


def _remarks(
    store: Store, replayed: Replayed, budgets: Budgets | None, shut_out: list[tuple[int, str]]
) -> tuple[Fact, ...]:
    """Facts on the store's doubts, times, containers that are not replayed, and budgets."""
    return (
        *doubts(store, counted=frozenset({WITHOUT_USE, NEVER_RAN})),
        *replayed.life.remarks,
        *_left_out(replayed, shut_out),
        *(() if budgets is None else budgets.remarks()),
    )


def _barred(replayed: Replayed, rules: Rules, shut_out: list[tuple[int, str]]) -> tuple[Fact, ...]:
    """A fact of containers that run on a node that a selector or taint has closed to them since."""
    pinned = rules.pinned
    ran = replayed.recorded if pinned is None else np.where(pinned >= 0, -1, replayed.recorded)
    if rules.daemon is not None:
        ran = np.where(rules.daemon, -1, ran)
    ran = ran.copy()
    ran[[at for at, _ in shut_out]] = -1
    barred = barred_now(rules.constraints, ran)
    return barred_remark(barred, ran, replayed.rows["container"].to_list(), replayed.nodes)


def _further(replayed: Replayed, used: Used) -> list[str]:
    """The resources beyond CPU and memory whose use counts."""
    return [replayed.amounts.resources[at] for at in used.further.used]


def _further_remarks(
    store: Store, replayed: Replayed, used: Used, assumptions: SizedAssumptions
) -> tuple[Fact, ...]:
    """Facts of further resources: whose use counts, and whose does not."""
    counted = further_remark(_further(replayed, used))
    resources = replayed.amounts.resources
    return (*counted, *passed_over(store, assumptions, resources, used.further.used))


def _left_out(replayed: Replayed, shut_out: list[tuple[int, str]]) -> tuple[Fact, ...]:
    """Facts of containers that are not replayed, and of those that waited in production."""
    replayed_rows = replayed.rows[_replayed_positions(replayed, shut_out)]
    return (
        *too_large_remark(replayed.sizes, replayed.amounts, replayed.too_large),
        *lacking_remark(replayed.sizes, replayed.lacking),
        *replayed.waiting,
        *(
            to_place_remark(replayed_rows, replayed.sizes.requests)
            if replayed.places_waiting
            else ()
        ),
        *shut_out_remark(shut_out, replayed.rows["container"].to_list()),
    )


def _facts(
    replayed: Replayed,
    used: Used,
    assumptions: SizedAssumptions,
    shut_out: list[tuple[int, str]],
) -> dict[str, int]:
    """Counts of containers that were left out, and of values that are not known of the others."""
    tables, positions = replayed.sizes, _replayed_positions(replayed, shut_out)
    return {
        **({"nodes_set_aside": len(tables.set_aside)} if len(tables.set_aside) else {}),
        **({"nodes_without_own_use": tables.unmeasured} if tables.unmeasured else {}),
        **({"containers_not_listed": tables.unlisted} if tables.unlisted else {}),
        **({"containers_gated": replayed.gated} if replayed.gated else {}),
        **({"containers_left_waiting": replayed.left_waiting.height} if replayed.waiting else {}),
        **(
            {"containers_left_waiting_too_large": replayed.waiting_too_large}
            if replayed.waiting_too_large
            else {}
        ),
        "containers_departed_before": replayed.life.over,
        "containers_set_aside_too_large": len(replayed.too_large),
        **({"containers_set_aside_lacking": len(replayed.lacking)} if replayed.lacking else {}),
        **_unknown(replayed, used.silent[positions]),
        "container_steps_held": used.held,
        **({"steps_without_any_sample": used.blank} if used.blank else {}),
        **_stand_ins(used.unknown[:, positions]),
        **(not_held(tables.nodes, replayed.rows) if assumptions.groups == "keep" else {}),
        **({"containers_set_aside_shut_out": len(shut_out)} if shut_out else {}),
        **short_gangs(replayed.rows),
    }


def _unknown(replayed: Replayed, silent: BoolArray) -> dict[str, int]:
    """How many containers lack each value that a replay would use."""
    rows, where = replayed.rows, replayed.where
    without_node = rows["node"].null_count()
    return {
        "containers_without_request": int(
            (replayed.request[:, : len(BASE)] == 0).all(axis=1).sum()
        ),
        "containers_without_usage": int(silent.sum()),
        "containers_without_recorded_node": without_node,
        "containers_on_unknown_nodes": int((where < 0).sum()) - without_node,
        "containers_with_rules_not_held": _with_rules_not_held(rows),
    }


def _with_rules_not_held(rows: pl.DataFrame) -> int:
    """How many containers have a rule that no replay holds; preferences are not counted."""
    parts = rows["not_held"].fill_null("").str.split(", ")
    rules = parts.list.eval(~pl.element().str.starts_with(PREFERRED) & (pl.element() != ""))
    return int(rules.list.any().sum())


def _stand_ins(unknown: BoolArray) -> dict[str, int]:
    """How many containers have some of their use recorded, and the request in place of the rest."""
    silent: BoolArray = np.asarray(unknown.all(axis=0))
    partly = {"cpu": unknown[0] & ~silent, "memory": unknown[1] & ~silent}
    counts = {"": silent, **{f"{name}_": which for name, which in partly.items()}}
    return {
        f"containers_with_request_as_{name}use": int(which.sum())
        for name, which in counts.items()
        if which.any()
    }
