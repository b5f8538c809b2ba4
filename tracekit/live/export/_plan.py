"""A plan of moves: pods that leave the nodes that can go, or what a rebalancer moved, in order."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tracekit.answer.counts import FULLEST, Fullest, fullest_fact
from tracekit.answer.nodes import case_of
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.study import Study
from tracekit.cluster.changed.on_nodes import barred_by, on_nodes
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.losses import without
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import Asked
from tracekit.live.export._left import FEWEST, Left, source_of_study
from tracekit.policy.entrant import halves, parse_entrant
from tracekit.replay.runs.one import replay_nodes, replay_one
from tracekit.replay.runs.run import OBSERVED


@dataclass(frozen=True, kw_only=True)
class Move:
    """A pod that moves.

    Parameters
    ----------
    wave : int
        Pods of one wave may go together; the next goes once these run again.
    to_node : str, optional
        Where the policy puts it; None where it finds no room.
    """

    wave: int
    container: str
    service: str
    from_node: str
    to_node: str | None
    cpu_milli: int
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Moves in their order, and the nodes that are empty after them.

    Parameters
    ----------
    held : mapping of str to str
        Nodes that can go, but whose pods a budget holds; with the budgets' names.
    about : tuple of Fact
        What holds after it, and before it may begin.
    """

    moves: Sequence[Move]
    nodes: Sequence[str] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    about: tuple[Fact, ...] = ()

    def facts(self) -> Iterator[Fact]:
        """How much moves, how often, and what does not."""
        often = Counter(one.container for one in self.moves)
        about: dict[str, Any] = {
            "of": len(often),
            "waves": len({one.wave for one in self.moves}),
            "empty_nodes": len(self.nodes),
            "twice": sum(many > 1 for many in often.values()),
            "unplaced": sum(one.to_node is None for one in self.moves) or None,
        }
        yield Fact(kind="exported", value=len(self.moves), because="plan", about=about)
        if self.held:
            budgets = ", ".join(sorted(set(self.held.values())))
            yield Fact(
                kind="drain_barred",
                value=len(self.held),
                unit="nodes",
                about={"of": len(self.held) + len(self.nodes), "budgets": budgets},
            )
        yield from self.about


def moves_of(left: Left, asked: Asked) -> Plan:
    """What the rebalancer of a policy moved; without one what leaves the nodes that can go."""
    if left.replay is not None and (asked.policy or not _can_go(left)):
        entrant = left.entrant(asked.policy)
        if halves(entrant)[1] is not None:
            return _moved(left, str(entrant))
    return drain_of(left, asked)


def _can_go(left: Left) -> bool:
    fact = None if left.answer is None else left.answer.first("verdict")
    return fact is not None and fact.about_it("case") is not None


def _moved(left: Left, policy: str) -> Plan:
    """The moves of a rebalancer, those of one time as a wave; its engine kept the budgets."""
    rows = left.frame("moves").filter(policy=policy).to_dicts()
    if not rows:
        raise TracekitError(f"{policy} moved nothing in this run")
    load = left.load
    at = {name: place for place, name in enumerate(load.container_ids)}
    waves = {time: wave for wave, time in enumerate(dict.fromkeys(r["time_ms"] for r in rows), 1)}
    moves = [
        _move(load, at[row["container"]], waves[row["time_ms"]], row["from_node"], row["to_node"])
        for row in rows
    ]
    return Plan(moves=moves)


def drain_of(left: Left, asked: Asked) -> Plan:
    """What leaves the nodes that can go, node by node, at the end of the record.

    Pods stay where they are but for those of these nodes, which the policy places anew.
    """
    study, going, policy = _going(left, asked)
    load = _with_sizes(study)
    barred = barred_by(load)
    place = {name: at for at, name in enumerate(load.node_ids)}
    held = {} if barred is None else {n: barred[place[n]] for n in going if barred[place[n]]}
    nodes = [name for name in going if name not in held]
    if not nodes:
        raise TracekitError(
            f"none of the {len(going)} nodes that can go can be drained: budgets hold their pods",
            hint=f"budgets of disruption: {', '.join(sorted(set(held.values())))}",
        )
    leaving = _leaving(load, np.array([place[name] for name in nodes]))
    to_node = _placed_anew(load, leaving, [place[name] for name in going], left, policy)
    waves = _waves(load, leaving)
    moves = [
        _move(load, at, wave, load.node_ids[load.recorded_node[at]], to_node.get(at))
        for wave, some in enumerate(waves, 1)
        for at in some
    ]
    about = [replace(one, rank=1) for one in _after(load, moves, [place[n] for n in nodes])]
    if case_of(study) == "recommended":
        about.append(Fact(kind="exported", because="requests_first", rank=1))
    return Plan(moves=moves, nodes=nodes, held=held, about=tuple(about))


def _going(left: Left, asked: Asked) -> tuple[Study, list[str], str]:
    """The study, the nodes that can go, the first to go first, and the policy that places."""
    fact = None if left.answer is None else left.answer.first("verdict")
    case = None if fact is None else fact.about_it("case")
    study = left.study(FEWEST, str(case or ""))
    if study is None or fact is None:
        raise TracekitError(
            f"'{left.path}' counted no nodes, so that none is to be drained",
            hint="tracekit run SRC --out RUN, or tracekit nodes STORE --out RUN",
        )
    policy = asked.policy or fact.subject or str(study.about["subject"])
    end = "_as_production" if case == "no_more_often" else ""
    rows = study.frames[f"nodes{end}"].filter(policy=policy, kept=False)
    if rows.is_empty():
        raise TracekitError(
            f"no node can go under {policy}: there is nothing to move",
            hint="other limits: tracekit nodes STORE --limit 'cpu_max_fraction <= 0.9' --out RUN",
        )
    return study, rows.sort("place", descending=True)["node"].to_list(), policy


def _with_sizes(study: Study) -> Workload:
    if study.about["scale"] != 1:
        raise TracekitError(
            f"the nodes were counted for {study.about['scale']} times the load, which is not there",
            hint="count them anew without --scale",
        )
    return source_of_study(study).load()


def _leaving(load: Workload, nodes: IntArray) -> list[int]:
    """The containers on these nodes at the end but daemons, node by node."""
    there = load.present_but_daemons(len(load.times_ms) - 1)
    return [
        at
        for node in nodes.tolist()
        for at in np.flatnonzero(there & (load.recorded_node == node)).tolist()
    ]


def _placed_anew(
    load: Workload, leaving: Sequence[int], going: Sequence[int], left: Left, policy: str
) -> dict[int, str]:
    """Where the policy puts each container that leaves, by its position."""
    last = len(load.times_ms) - 1
    now = int(load.times_ms[last])
    stays = np.flatnonzero(load.present(last) & (load.recorded_node >= 0))
    order = np.concatenate([np.array(leaving), np.setdiff1d(stays, leaving)]).astype(np.int64)
    begun = np.full(load.containers, now - load.step_ms)
    twice = [last, last]
    made = in_order_of(load, order, begun)
    ended = () if load.losses is None else load.losses.node[load.losses.time_ms <= now].tolist()
    standing = replace(
        made,
        times_ms=np.array([now - load.step_ms, now]),
        settled_ms=now - load.step_ms,
        usage=load.usage[:, twice],
        background=load.background[:, twice],
        further_usage=None if load.further_usage is None else load.further_usage[:, twice],
        pinned=made.recorded_node,
        departure_ms=np.maximum(made.departure_ms, now + load.step_ms),
        exchangeable=None,
        gang=None,
        gang_minimum=None,
        preemption=None,
        losses=None,
        joins=None,
        leaves=None,
        returns=None,
    )
    lost = without(standing, dict.fromkeys([*going, *ended], now), assumed=True)
    placement, _ = halves(left.entrant(policy))
    seed = 0 if left.replay is None else int(left.manifest["seed"])
    node = replay_one(lost, placement, seed).placements["node"]
    kept = {name: place for place, name in enumerate(lost.container_ids)}
    found = {at: node[kept[load.container_ids[at]]] for at in leaving}
    return {at: load.node_ids[on] for at, on in found.items() if on is not None}


def _after(load: Workload, moves: Sequence[Move], gone: Sequence[int]) -> Iterator[Fact]:
    """The fullest nodes by the recorded use of what runs at the end, where the plan has it."""
    runs = np.flatnonzero(load.present(len(load.times_ms) - 1) & (load.recorded_node >= 0))
    place = {name: at for at, name in enumerate(load.node_ids)}
    to_node = {one.container: place.get(one.to_node or "", -1) for one in moves}
    where = load.recorded_node.copy()
    for at in runs.tolist():
        where[at] = to_node.get(load.container_ids[at], where[at])
    stands = in_order_of(replace(load, recorded_node=where), runs, load.arrival_ms)
    there = on_nodes(stands, np.setdiff1d(np.arange(load.nodes), gone))
    _, use = replay_nodes(there, parse_entrant(OBSERVED), 0)
    for measure, values in zip(FULLEST.values(), (use.cpu_p99, use.highest[1]), strict=True):
        at = int(values.argmax())
        full = Fullest(node=there.node_ids[at], measure=measure, value=float(values[at]))
        yield fullest_fact(full, "plan", "recorded")


def _waves(load: Workload, leaving: Sequence[int]) -> Iterator[list[int]]:
    """Containers that may go together: of one node, and as many as their budgets allow."""
    there = load.present(len(load.times_ms) - 1)
    runs = there & (load.recorded_node >= 0)
    rest = list(leaving)
    while rest:
        node = load.recorded_node[rest[0]]
        mine = [at for at in rest if load.recorded_node[at] == node]
        if load.budgets is not None:
            allowed = load.budgets.allowed(runs, there)
            mine = load.budgets.granted(np.array(mine), allowed).tolist() or mine[:1]
        yield mine
        gone = set(mine)
        rest = [at for at in rest if at not in gone]


def _move(load: Workload, at: int, wave: int, from_node: str, to_node: str | None) -> Move:
    return Move(
        wave=wave,
        container=load.container_ids[at],
        service=load.services[at],
        from_node=from_node,
        to_node=to_node,
        cpu_milli=int(load.request[at, 0]),
        memory_bytes=int(load.request[at, 1]),
    )
