"""One decision of a replay, explained: the score of each node with its parts, or its filter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, stream
from tracekit.base.errors import TracekitError, nearest
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.policy.view.snapshot import Container, Snapshot, lacking
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import (
    Clock,
    Placer,
    PlainPlacer,
    Proposal,
    WindowStart,
    scored_nodes,
)
from tracekit.replay.engine.state import ReplayState

NOT_LOOKED_AT = "not looked at"
OWN_FILTER = "the policy's own filter"


@dataclass(frozen=True, kw_only=True)
class NodeVerdict:
    """One node in a ``Decision``: its score with its parts, or the filters that removed it."""

    node: str
    score: float | None
    parts: Mapping[str, float]
    removed: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision on one container: ``chosen``, None if it waits, and every node, best first."""

    policy: str
    container: str
    service: str
    time_ms: int
    chosen: str | None
    nodes: tuple[NodeVerdict, ...]


class _Explained(Exception):  # noqa: N818 - not an error: it ends the replay
    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self.decision = decision


def explain(load: Workload, entrant: Entrant, container: str, *, seed: int = 0) -> Decision:
    """Replay up to the first decision on a container, and explain that decision.

    Parameters
    ----------
    container : str
        Its id, or the beginning of its id.

    Raises
    ------
    TracekitError
        For a container that the workload does not have, that never arrives, or that is pinned.
    """
    if container not in load.containers.ids:
        matches = [one for one in load.containers.ids if one.startswith(container)]
        if len(matches) != 1:
            raise _no_such(load, container, matches)
        container = matches[0]
    target = load.containers.ids.index(container)
    policy, rebalance = entrant.placement, entrant.rebalance
    if entrant.schedulers is not None:
        raise TracekitError(
            f"'{entrant}': decisions of several schedulers are not taken apart",
            hint=f"explain that of one: --policy {policy}",
        )

    def placer(state: ReplayState, rng: np.random.Generator, clock: Clock) -> Placer:
        return _Explainer(state, rng, clock, target, str(entrant))

    engine = Engine(load, policy, stream(seed, str(policy)), placer=placer, rebalance=rebalance)
    try:
        engine.run()
    except _Explained as explained:
        return explained.decision
    if load.rules.pinned is not None and load.rules.pinned[target] >= 0:
        node = load.nodes.ids[load.rules.pinned[target]]
        raise TracekitError(
            f"container '{container}' stays where it was observed, on node '{node}':"
            " no policy decides",
            hint="replay with --start empty, unless it is a daemon",
        )
    raise TracekitError(f"container '{container}' never arrives while the workload lasts")


def _no_such(load: Workload, container: str, matches: list[str]) -> TracekitError:
    if matches:
        return TracekitError(
            f"'{container}' begins the ids of {len(matches)} containers",
            hint=f"for example {matches[0]}",
        )
    close = nearest(container, load.containers.ids) or load.containers.ids[0]
    return TracekitError(
        f"workload '{load.name}' has no container '{container}'", hint=f"for example {close}"
    )


class _Explainer(PlainPlacer):
    """A plain placer that ends the replay with the decision on one container."""

    def __init__(
        self, state: ReplayState, rng: np.random.Generator, clock: Clock, target: int, entrant: str
    ) -> None:
        super().__init__(state, rng, clock)
        self._target, self._entrant = target, entrant

    def _place(self, index: int, now: int, proposed: Proposal | None) -> None:
        if index != self._target:
            super()._place(index, now, proposed)
            return
        state = self._state
        snapshot, container = state.snapshot(now), state.container(index)
        closed, window_start = state.closed_nodes(index), WindowStart(self._window_start.start)
        verdicts = _verdicts(state, snapshot, container, closed, window_start)
        # the verdicts come first: the placement changes the cluster that the snapshot shows
        super()._place(index, now, proposed)
        chosen = int(state.node[index])
        names = state.workload.nodes.ids
        raise _Explained(
            Decision(
                policy=self._entrant,
                container=container.id,
                service=container.service,
                time_ms=now,
                chosen=names[chosen] if chosen >= 0 else None,
                nodes=tuple(_ordered(verdicts, names[chosen] if chosen >= 0 else "")),
            )
        )


def _verdicts(
    state: ReplayState,
    snapshot: Snapshot,
    container: Container,
    constraints: list[tuple[str, BoolArray]],
    window_start: WindowStart,
) -> list[NodeVerdict]:
    policy, names = state.policy, state.workload.nodes.ids
    every, short = np.arange(len(names)), lacking(snapshot, container)
    barred = ~policy.admits(snapshot, container, every)
    lacks = [(f"too little {one}", short[:, at]) for at, one in enumerate(snapshot.resources)]
    why = [*lacks, *constraints, (OWN_FILTER, barred)]
    shut = np.any([mask for _, mask in why], axis=0) if policy.filtered else barred
    nodes = scored_nodes(policy, every[~shut], len(names), window_start)
    scores: Any = np.zeros(len(nodes))
    parts: Mapping[str, FloatArray] = {}
    if len(nodes) and not policy.skips(snapshot, container):
        scores = policy.normalize(policy.score(snapshot, container, nodes))
        parts = policy.explain(snapshot, container, nodes)
    verdicts = {
        int(node): NodeVerdict(
            node=names[node],
            score=float(scores[at]),
            parts={name: float(values[at]) for name, values in parts.items()},
            removed="",
        )
        for at, node in enumerate(nodes)
    }

    def removed(node: int) -> NodeVerdict:
        reasons = ", ".join(name for name, mask in why if mask[node])
        return NodeVerdict(node=names[node], score=None, parts={}, removed=reasons or NOT_LOOKED_AT)

    return [verdicts.get(node) or removed(node) for node in every.tolist()]


def _ordered(verdicts: list[NodeVerdict], chosen: str) -> list[NodeVerdict]:
    """The chosen node, the scored by score, then the removed; equals in the order of nodes."""

    def key(at: int) -> tuple[bool, bool, float, int]:
        one = verdicts[at]
        return one.node != chosen, one.score is None, -(one.score or 0.0), at

    return [verdicts[at] for at in sorted(range(len(verdicts)), key=key)]
