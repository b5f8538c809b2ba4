"""A workload from the sizes, lives and use that a store records."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit import parameters
from tracekit.arrays import BoolArray, Float32Array, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.workload.budgets import budgets_of
from tracekit.replay.workload.checks import nothing_observed
from tracekit.replay.workload.constraints.build import not_held
from tracekit.replay.workload.constraints.nowhere import nowhere, told_of
from tracekit.replay.workload.reserved import held_at_most, reserved_of
from tracekit.replay.workload.resources import BASE
from tracekit.replay.workload.rests_on import (
    ASSUMED,
    reserved_rests_on,
    rests_on,
    use_rests_on,
)
from tracekit.replay.workload.sized.amounts import Amounts, amounts_of
from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.replay.workload.sized.rules import (
    domains_of_nodes,
    evicts_nobody_of,
    gangs_of,
    held_rules,
    prices_of,
    priority_of,
)
from tracekit.replay.workload.sized.tables import Sizes, sizes_of
from tracekit.replay.workload.sized.times import Lives, lives
from tracekit.replay.workload.sized.use import (
    BACKGROUND,
    CONTAINERS,
    NODES,
    Recorded,
    Use,
    measured,
    use_of,
)
from tracekit.replay.workload.sized.waiting import without_waiting
from tracekit.replay.workload.store_name import name_of
from tracekit.replay.workload.workload import UNKNOWN, Workload, nonzero
from tracekit.store import Store
from tracekit.store.doubts import doubts

#: Production is shown where this share of the containers it placed is on nodes that are listed.
_KNOWN_SHARE = 0.5


def workload_from_sizes(
    store: Store, assumptions: SizedAssumptions, rng: np.random.Generator
) -> Workload:
    """The workload of a store with sizes, called after the store's folder.

    Raises
    ------
    TracekitError
        When there is no node or no container to replay, or the tables contradict each other.
    """
    found = sizes_of(store)
    nodes = _nodes(found, assumptions)
    span = measured(store, CONTAINERS) or measured(store, NODES)
    life = lives(found.containers, span, assumptions, rng, nodes)
    amounts = amounts_of(found, nodes, assumptions)
    life, too_large = _placeable(life, amounts)
    life = _without_daemons(life, found)
    life, waiting = without_waiting(store, found, life, assumptions)
    rows = found.containers[life.order]
    where = _positions(rows["node"], nodes)
    recorded = _shown(rows["node"], where)
    request = amounts.request[life.order]
    use = _Use(store, life, assumptions)
    usage, column, unknown = use.of_containers(rows["container"], request)
    silent: BoolArray = np.asarray(unknown.all(axis=0))
    background = use.beyond(
        nodes, amounts.capacity, recorded, usage=usage, column=column, silent=silent
    )
    reserved = reserved_of(
        assumptions.reserved,
        background=background,
        capacity=amounts.capacity,
        held=held_at_most(
            where, request, life.arrival_ms, life.departure_ms, nodes=len(amounts.capacity)
        ),
    )
    daemon = (rows["daemon"].fill_null(0).to_numpy() > 0) & (where >= 0)
    pinned = _pinned(life, daemon, where, assumptions)
    gang, gang_minimum = gangs_of(rows)
    budgets = budgets_of(rows["rules"])
    rules = held_rules(
        found, found.nodes, rows, assumptions, request=request, capacity=amounts.capacity
    )
    shut_out = [
        (at, why)
        for at, why in nowhere(rules, request, amounts.capacity)
        if pinned is None or pinned[at] < 0
    ]
    return Workload(
        name=name_of(store),
        step_ms=life.step_ms,
        times_ms=life.times_ms,
        node_ids=tuple(nodes),
        capacity=amounts.capacity,
        container_ids=tuple(rows["container"]),
        services=tuple(rows["service"].fill_null(UNKNOWN)),
        recorded_node=recorded,
        arrival_ms=life.arrival_ms,
        departure_ms=life.departure_ms,
        request=request,
        nonzero_request=nonzero(request, amounts.stated[life.order], amounts.resources),
        limit=amounts.limit[life.order],
        usage=usage,
        usage_column=column,
        background=background,
        reserved=reserved,
        settled_ms=life.settled_ms,
        resources=amounts.resources,
        exchangeable=life.exchangeable,
        pinned=pinned,
        daemon=daemon if daemon.any() else None,
        priority=priority_of(rows["priority"]),
        evicts_nobody=evicts_nobody_of(rows["rules"]),
        budgets=budgets,
        constraints=rules,
        price_per_hour=prices_of(found.nodes),
        domains=domains_of_nodes(found.nodes),
        gang=gang,
        gang_minimum=gang_minimum,
        quantities={
            **rests_on(store, "use of containers"),
            **({"node sizes": ASSUMED} if amounts.assumed else {}),
            **use_rests_on(unknown),
            **reserved_rests_on(reserved),
            **({"arrivals": ASSUMED} if life.assumed else {}),
        },
        assumptions={**dataclasses.asdict(assumptions), "step_used_ms": life.step_ms},
        told=(
            *doubts(store),
            *life.told,
            *waiting,
            *told_of(shut_out, rows["container"].to_list()),
            *(() if budgets is None else budgets.told()),
        ),
        facts={
            **({"nodes_set_aside": len(found.set_aside)} if len(found.set_aside) else {}),
            "containers_departed_before": life.over,
            "containers_set_aside_too_large": too_large,
            **_unknown(rows, where, request, silent),
            **_stand_ins(unknown),
            **(not_held(found.nodes, rows) if assumptions.groups == "keep" else {}),
        },
    )


def _pinned(
    life: Lives, daemon: BoolArray, where: IntArray, assumptions: SizedAssumptions
) -> IntArray | None:
    """The node of each container that no policy places, -1 for others; None where there is none."""
    stays = life.there & (where >= 0) & (assumptions.start == "observed")
    if assumptions.start == "observed" and not stays.any():
        raise nothing_observed()
    return np.where(daemon | stays, where, -1) if (daemon | stays).any() else None


def _unknown(
    rows: pl.DataFrame, where: IntArray, request: IntArray, silent: BoolArray
) -> dict[str, int]:
    """How many containers lack what a replay would use."""
    without_node = rows["node"].null_count()
    return {
        "containers_without_request": int((request[:, : len(BASE)] == 0).all(axis=1).sum()),
        "containers_without_usage": int(silent.sum()),
        "containers_without_recorded_node": without_node,
        "containers_on_unknown_nodes": int((where < 0).sum()) - without_node,
        "containers_with_rules_not_held": rows["not_held"].len() - rows["not_held"].null_count(),
    }


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


def _nodes(found: Sizes, assumptions: SizedAssumptions) -> list[str]:
    """Names of the nodes, in the order of the source; of assumed ones where it records none."""
    if found.nodes.height:
        return found.nodes["node"].to_list()
    if not assumptions.nodes:
        raise TracekitError(
            "the store records no nodes, so there is nothing to place on",
            hint="say how many and how large: --assume nodes=100 --assume node_cpu_cores=96"
            " --assume node_memory_bytes=384GiB",
        )
    digits = len(str(assumptions.nodes - 1))
    return [f"node-{at:0{digits}}" for at in range(assumptions.nodes)]


def _placeable(life: Lives, amounts: Amounts) -> tuple[Lives, int]:
    """Lives without the containers that fit on no node, even an empty one, and how many those are.

    Nobody can place them, production neither, and a bound that counts them bounds nothing. All of
    them stay where nothing else would be left, to be told why.
    """
    request = amounts.request[life.order]
    shapes, of = np.unique(request, axis=0, return_inverse=True)
    fits = np.array([(amounts.capacity >= shape).all(axis=1).any() for shape in shapes])
    kept = fits[of.reshape(-1)]
    if kept.all() or not kept.any():
        return life, 0
    return life.taken(np.flatnonzero(kept)), int((~kept).sum())


def _without_daemons(life: Lives, found: Sizes) -> Lives:
    """Lives without the daemons of nodes that are set aside: they belong to their node."""
    if not len(found.set_aside):
        return life
    rows = found.containers[life.order]
    gone = rows["node"].is_in(found.set_aside.implode()) & (rows["daemon"].fill_null(0) > 0)
    return life.taken(np.flatnonzero(~gone.fill_null(value=False).to_numpy()))


def _shown(names: pl.Series, where: IntArray) -> IntArray:
    """Where production ran containers; nowhere when it is known of few of those it placed.

    A row of production that lacks most containers compares with nothing.
    """
    placed = len(names) - names.null_count()
    known = int((where >= 0).sum())
    return where if known >= _KNOWN_SHARE * placed else np.full_like(where, -1)


def _positions(names: pl.Series, nodes: Sequence[str]) -> IntArray:
    known = pl.DataFrame({"node": nodes, "at": np.arange(len(nodes))})
    found = pl.DataFrame({"node": names}).join(known, on="node", how="left", maintain_order="left")
    return np.asarray(found["at"].fill_null(-1).to_numpy().astype(np.int64))


@dataclass(frozen=True)
class _Use:
    """Recorded use over the axis of the replay."""

    store: Store
    life: Lives
    assumptions: SizedAssumptions

    def _of(
        self,
        recorded: Recorded,
        ids: pl.Series,
        size: IntArray,
        instead: Float32Array | None = None,
    ) -> Use:
        return use_of(
            self.store,
            recorded,
            ids,
            size[:, : len(BASE)],
            times_ms=self.life.times_ms,
            step_ms=self.life.step_ms,
            assumptions=self.assumptions,
            instead=instead,
        )

    def of_containers(
        self, ids: pl.Series, request: IntArray
    ) -> tuple[Float32Array, IntArray, BoolArray]:
        """The matrix of use, each container's column, and of which resource it is not recorded.

        What is not recorded is ``used_share`` of the request all the time; containers without any
        recorded use that ask for the same share a column.
        """
        instead = (request[:, : len(BASE)] * self.assumptions.used_share).astype(np.float32)
        found = self._of(CONTAINERS, ids, request, instead)
        usage, silent = found.values, ~found.measured
        column = np.cumsum(found.measured) - 1
        if silent.any():
            base = request[silent, : len(BASE)]
            shapes, of = np.unique(base, axis=0, return_inverse=True)
            column[silent] = usage.shape[2] + of.reshape(-1)
            flat = (shapes.T * self.assumptions.used_share).astype(np.float32)
            constant = np.repeat(flat[:, None], len(self.life.times_ms), axis=1)
            usage = np.concatenate([usage, constant], axis=2)
        return usage, column.astype(np.int64), found.lacking | silent

    def beyond(
        self,
        nodes: Sequence[str],
        capacity: IntArray,
        recorded: IntArray,
        *,
        usage: Float32Array,
        column: IntArray,
        silent: BoolArray,
    ) -> Float32Array:
        """Use of nodes beyond that of the containers recorded there, shape (2, steps, nodes).

        Nothing where no container's use is recorded: their requests say nothing of the rest.
        """
        life = self.life
        stated = self._of(BACKGROUND, pl.Series(nodes), capacity)
        rest = np.zeros((len(BASE), len(life.times_ms), len(nodes)), dtype=np.float32)
        if stated.measured.any():
            rest[:, :, stated.measured] = stated.values
            return rest
        unknown = silent.all() or measured(self.store, NODES) is None
        if self.assumptions.background == "none" or unknown:
            return rest
        own = self._of(NODES, pl.Series(nodes), capacity)
        rest[:, :, own.measured] = own.values
        placed = np.flatnonzero(recorded >= 0)
        for step, now in enumerate(life.times_ms.tolist()):
            there = (life.arrival_ms[placed] <= now) & (now < life.departure_ms[placed])
            here = placed[there]
            for resource in range(len(BASE)):
                used = usage[resource, step, column[here]]
                rest[resource, step] -= np.bincount(recorded[here], used, len(nodes))
        rest[:, :, ~own.measured] = 0.0
        return np.maximum(rest, 0.0, out=rest)


def sized_assumptions(settings: Sequence[str]) -> SizedAssumptions:
    """The assumptions with ``name=value`` settings."""
    owner = "the assumptions of a store with sizes"
    return parameters.build_from_settings(SizedAssumptions, owner, settings)
