"""Plans of moves, in order: off the nodes that can go, or by a rebalancer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.counts import FULLEST, Fullest, fullest_fact
from tracekit.answer.nodes import case_of
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.study import Study
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.losses import without
from tracekit.cluster.on_nodes import barred_by, on_nodes
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import FEWEST, ExportSource, Format, Written
from tracekit.live.export._spelling import checked_name, command, script
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.runs.one import replay_nodes, replay_one
from tracekit.replay.runs.run import OBSERVED


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Moves of pods from node to node in their order, and the nodes that they empty.

    Parameters
    ----------
    moves : DataFrame
        wave, container, service, from_node, to_node (null: no node has room), cpu_milli,
        memory_bytes. Pods of one wave move together; the next wave starts once they run again.
    nodes : sequence of str
        The nodes to drain; empty if a rebalancer made the moves.
    held : mapping of str to str
        Nodes that are not needed but cannot be drained, with the disruption budgets that forbid it.
    about : tuple of Fact
        Facts on the state after the plan, and on its preconditions.
    """

    moves: pl.DataFrame
    nodes: Sequence[str] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    about: tuple[Fact, ...] = ()

    def facts(self) -> Iterator[Fact]:
        """Yield facts on the moves, and on the nodes that cannot be drained."""
        often = self.moves["container"].value_counts()["count"]
        about: dict[str, Any] = {
            "of": len(often),
            "waves": self.moves["wave"].n_unique(),
            "twice": int((often > 1).sum()),
            "unplaced": self.moves["to_node"].null_count() or None,
        }
        yield Fact(kind="exported", value=self.moves.height, because="plan", about=about)
        if self.held:
            budgets = ", ".join(sorted(set(self.held.values())))
            many = len(self.held)
            of: dict[str, Any] = {"of": many + len(self.nodes), "budgets": budgets}
            yield Fact(kind="drain_barred", value=many, unit="nodes", about=of)
        yield from self.about


def moves_of(left: ExportSource) -> Plan:
    """Return the moves that the policy's rebalancer made in the run, or else a drain of nodes."""
    if left.replay is not None and (left.policy or not _can_go(left)):
        entrant = left.entrant()
        if entrant.rebalance is not None:
            return _moved(left, str(entrant))
    return drain_of(left)


def _can_go(left: ExportSource) -> bool:
    fact = None if left.answer is None else left.answer.first("verdict")
    return fact is not None and fact.about_it("case") is not None


def _moved(left: ExportSource, policy: str) -> Plan:
    """The moves of a rebalancer, with those of one time as a wave."""
    rows = left.frame("moves").filter(policy=policy)
    if rows.is_empty():
        raise TracekitError(f"{policy} moved nothing in this run")
    load = left.load
    place = {name: at for at, name in enumerate(load.containers.ids)}
    moved = _rows(load, [place[name] for name in rows["container"]])
    wave = rows.select(wave=pl.col("time_ms").rank("dense").cast(pl.Int64))
    return Plan(moves=wave.hstack(moved).with_columns(rows["from_node"], rows["to_node"]))


def drain_of(left: ExportSource) -> Plan:
    """Return a plan that empties, as of the end of the trace, the nodes that a run found unneeded.

    The policy places the pods of these nodes anew. All other pods stay.
    """
    study, going, policy = _going(left)
    if study.about["scale"] != 1:
        raise TracekitError(
            f"the nodes were counted for {study.about['scale']} times the load, which is not there",
            hint="count them anew without --scale",
        )
    load = left.counted(study).load()
    barred = barred_by(load)
    place = {name: at for at, name in enumerate(load.nodes.ids)}
    held = {} if barred is None else {n: barred[place[n]] for n in going if barred[place[n]]}
    nodes = [name for name in going if name not in held]
    if not nodes:
        raise TracekitError(
            f"none of the {len(going)} nodes that can go can be drained: budgets hold their pods",
            hint=f"budgets of disruption: {', '.join(sorted(set(held.values())))}",
        )
    leaving = _leaving(load, np.array([place[name] for name in nodes]))
    to_node = _placed_anew(load, leaving, [place[name] for name in going], left, policy)
    waves = [(at, wave) for wave, some in enumerate(_waves(load, leaving), 1) for at in some]
    order = [at for at, _ in waves]
    moves = pl.DataFrame({"wave": [wave for _, wave in waves]}).hstack(_rows(load, order, to_node))
    stay = [place[name] for name in load.nodes.ids if name not in nodes]
    about = [replace(one, rank=1) for one in _after(load, to_node, stay)]
    if case_of(study) == "recommended":
        about.append(Fact(kind="exported", because="requests_first", rank=1))
    return Plan(moves=moves, nodes=nodes, held=held, about=tuple(about))


def _going(left: ExportSource) -> tuple[Study, list[str], str]:
    """The study, the nodes that can go (the first to go first), and the policy that places."""
    fact = None if left.answer is None else left.answer.first("verdict")
    case = None if fact is None else fact.about_it("case")
    study = left.study(FEWEST, str(case or ""))
    if study is None or fact is None:
        raise TracekitError(
            f"'{left.path}' counted no nodes, so that none is to be drained",
            hint="tracekit run SRC --out RUN, or tracekit nodes STORE --out RUN",
        )
    policy = left.policy or fact.subject or str(study.about["subject"])
    end = "_as_production" if case == "no_more_often" else ""
    rows = study.frames[f"nodes{end}"].filter(policy=policy, kept=False)
    if rows.is_empty():
        raise TracekitError(
            f"no node can go under {policy}: there is nothing to move",
            hint="other limits: tracekit nodes STORE --limit 'cpu_max_fraction <= 0.9' --out RUN",
        )
    return study, rows.sort("place", descending=True)["node"].to_list(), policy


def _leaving(load: Workload, nodes: IntArray) -> list[int]:
    """The containers on these nodes at the end, without daemons, node by node."""
    present = load.present_but_daemons(len(load.use.times_ms) - 1)
    return [
        at
        for node in nodes.tolist()
        for at in np.flatnonzero(present & (load.containers.recorded_node == node)).tolist()
    ]


def _placed_anew(
    load: Workload, leaving: Sequence[int], going: Sequence[int], left: ExportSource, policy: str
) -> dict[int, int]:
    """The new node of each leaving container, -1 for none; both as positions."""
    last = len(load.use.times_ms) - 1
    now = int(load.use.times_ms[last])
    running = np.flatnonzero(load.present(last) & (load.containers.recorded_node >= 0))
    order = np.concatenate([np.array(leaving), np.setdiff1d(running, leaving)]).astype(np.int64)
    begun = np.full(load.containers.count, now - load.use.step_ms)
    twice = [last, last]
    made = in_order_of(load, order, begun)
    ended = (
        ()
        if load.nodes.losses is None
        else load.nodes.losses.node[load.nodes.losses.time_ms <= now].tolist()
    )
    standing = replace(
        made,
        use=replace(
            made.use,
            times_ms=np.array([now - load.use.step_ms, now]),
            settled_ms=now - load.use.step_ms,
            values=load.use.values[:, twice],
            background=load.use.background[:, twice],
            further=None if load.use.further is None else load.use.further[:, twice],
        ),
        rules=replace(
            made.rules,
            pinned=made.containers.recorded_node,
            gang=None,
            gang_minimum=None,
            preemption=None,
        ),
        containers=replace(
            made.containers,
            departure_ms=np.maximum(made.containers.departure_ms, now + load.use.step_ms),
            exchangeable=None,
        ),
        nodes=replace(made.nodes, losses=None, joins=None, leaves=None, returns=None),
    )
    lost = without(standing, dict.fromkeys([*going, *ended], now), assumed=True)
    placement = left.entrant(policy).placement
    seed = 0 if left.replay is None else int(left.manifest["seed"])
    # leaving containers come first, and none is a daemon
    node = replay_one(lost, placement, seed).placements["node"].fill_null(-1)
    return dict(zip(leaving, node.to_list(), strict=False))


def _after(load: Workload, to_node: Mapping[int, int], stay: Sequence[int]) -> Iterator[Fact]:
    """The fullest nodes after the plan, by the recorded use of containers at the end."""
    runs = np.flatnonzero(
        load.present(len(load.use.times_ms) - 1) & (load.containers.recorded_node >= 0)
    )
    where = load.containers.recorded_node.copy()
    where[list(to_node)] = list(to_node.values())
    stands = in_order_of(
        replace(load, containers=replace(load.containers, recorded_node=where)),
        runs,
        load.containers.arrival_ms,
    )
    after = on_nodes(stands, np.array(stay))
    _, use = replay_nodes(after, parse_entrant(OBSERVED), 0)
    ceilings = (load.rules.ceiling.cpu_fraction, load.rules.ceiling.memory_fraction)
    highest = (use.cpu_p99, use.highest[1])
    for measure, values, ceiling in zip(FULLEST.values(), highest, ceilings, strict=True):
        at = int(values.argmax())
        full = Fullest(node=after.nodes.ids[at], measure=measure, value=float(values[at]))
        above = full.value > ceiling
        yield replace(
            fullest_fact(full, "plan", "recorded"),
            because="above" if above else "",
            against=ceiling if above else None,
        )


def _waves(load: Workload, leaving: Sequence[int]) -> Iterator[list[int]]:
    """Containers that move together: of one node, and as many as the budgets allow."""
    expected = load.present(len(load.use.times_ms) - 1)
    runs = expected & (load.containers.recorded_node >= 0)
    rest = list(leaving)
    while rest:
        node = load.containers.recorded_node[rest[0]]
        mine = [at for at in rest if load.containers.recorded_node[at] == node]
        if load.rules.budgets is not None:
            allowed = load.rules.budgets.allowed(runs, expected)
            mine = load.rules.budgets.granted(np.array(mine), allowed).tolist() or mine[:1]
        yield mine
        gone = set(mine)
        rest = [at for at in rest if at not in gone]


def _rows(
    load: Workload, moved: Sequence[int], to_node: Mapping[int, int] | None = None
) -> pl.DataFrame:
    """A row for each moved container; ``to_node`` maps containers to nodes, both as positions."""
    at = np.array(moved, dtype=np.int64)
    nodes = pl.Series(load.nodes.ids, dtype=pl.String)
    onto = [None if to_node is None or to_node[one] < 0 else to_node[one] for one in moved]
    return pl.DataFrame(
        {
            "container": pl.Series(load.containers.ids, dtype=pl.String).gather(at),
            "service": pl.Series(load.containers.services, dtype=pl.String).gather(at),
            "from_node": nodes.gather(load.containers.recorded_node[at]),
            "to_node": nodes.gather(pl.Series(onto, dtype=pl.Int64)),
            "cpu_milli": load.containers.request[at, 0],
            "memory_bytes": load.containers.request[at, 1],
        }
    )


def _moves_csv(left: ExportSource) -> Written:
    plan = moves_of(left)
    return Written(files={"": plan.moves.write_csv().encode()}, facts=tuple(plan.facts()))


moves_csv = Format(
    name="moves.csv",
    title="a plan to read: moves of pods in waves that keep the budgets of disruption",
    write=_moves_csv,
)


def _drain_sh(left: ExportSource) -> Written:
    """Cordon all nodes first, so that no pod moves to a node that is drained later.

    ``kubectl drain`` itself waits for the budgets of disruption.
    """
    plan = drain_of(left)
    nodes = [checked_name(one, "node") for one in plan.nodes]
    lines = [command("kubectl", "cordon", one) for one in nodes]
    lines += [command("kubectl", "drain", "--ignore-daemonsets", one) for one in nodes]
    return Written(files={"": script(lines)}, facts=tuple(plan.facts()))


drain_sh = Format(
    name="drain.sh",
    title="a plan to read: which nodes to close and drain, in which order",
    write=_drain_sh,
)
