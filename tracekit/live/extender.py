"""Answers to kube-scheduler, computed by the scoring code of the replay."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.live.names import Listed
from tracekit.live.objects import LivePod, node_of, pod_of
from tracekit.live.state import State
from tracekit.policy.kubernetes.scorers import host_scores
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.snapshot import lacking

#: The memory for decisions that ``/explain`` shows.
_REMEMBERED_BYTES = 128 << 20
#: Data that a served policy cannot read, as a live cluster does not have it.
_UNKNOWN = {"recorded", "calls", "cells"}


def check_served(policy: PlacementPolicy) -> None:
    """Raise TracekitError for a policy that cannot score nodes for one pod of a live cluster."""
    lacking_of_it = sorted(_UNKNOWN & policy.reads)
    if policy.batched or not policy.filtered or lacking_of_it:
        why = f"reads {lacking_of_it[0]}" if lacking_of_it else "does not score pod by pod"
        raise TracekitError(
            f"policy {policy} cannot be served: it {why}",
            hint="for example --policy least_allocated, or the kube-scheduler.yaml of a cluster",
        )


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """A request of kube-scheduler (ExtenderArgs): a pod, and the nodes to score for it.

    Parameters
    ----------
    listed : Listed
        The names of the nodes.
    nodes : dict, optional
        The NodeList, if the request has whole nodes (nodeCacheCapable: false).
    """

    pod: LivePod
    listed: Listed
    nodes: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The scores of all candidates for one pod, in the order of the request.

    Parameters
    ----------
    nodes : tuple of str
        The names of the nodes that the server knew.
    strangers : mapping of int to str
        The candidates that it did not know, by their index in the request.
    positions, hundred, tenths : shape (candidates,)
        The index in ``nodes`` (-1 for a stranger), the score from 0 to 100, and that from 0 to 10.
    """

    time_ms: int
    pod: LivePod
    nodes: tuple[str, ...]
    strangers: Mapping[int, str]
    positions: IntArray
    hundred: FloatArray
    tenths: IntArray
    parts: Mapping[str, Float32Array]

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the decision."""
        parts = sum(one.nbytes for one in self.parts.values())
        arrays = self.positions.nbytes + self.hundred.nbytes + self.tenths.nbytes + parts
        return arrays + 4096 + 128 * len(self.strangers)

    def name(self, at: int) -> str:
        """Return the name of the candidate with index ``at`` in the request."""
        return self.strangers.get(at) or self.nodes[self.positions[at]]


_ARGS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_args(body: bytes, state: State) -> Candidates:
    """Read ExtenderArgs, with keys in small or capital letters. Add whole nodes to the state.

    Raises
    ------
    TracekitError
        For any other body.
    """
    try:
        given = _ARGS.decode(body)
        exact = "Pod" in given
        if not exact:
            given = {_CAMEL.get(key.lower(), key): value for key, value in given.items()}
        document, nodes = (
            msgspec.json.decode(given.get(name, b"null")) for name in ("Pod", "Nodes")
        )
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TracekitError(f"the body is no ExtenderArgs: {error}") from None
    if not exact:
        document, nodes = _any_case(document), _any_case(nodes)
    if not isinstance(document, dict):
        raise TracekitError("the body is no ExtenderArgs: Pod is no object")
    pod = pod_of(document)
    if pod is None:
        raise TracekitError("the pod has ended")
    items = nodes.get("items") or [] if isinstance(nodes, dict) else []
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise TracekitError("Nodes.items is no list of nodes")
    whole = [node_of(one) for one in items]
    for node in whole:
        state.lend_node(node)
    listed: Any = given.get("NodeNames", b"null")
    by_name = bytes(listed) != b"null"
    if not by_name:
        listed = msgspec.json.encode([node.name for node in whole])
    return Candidates(pod=pod, listed=state.find(listed), nodes=None if by_name else nodes or {})


_CAMEL = {
    one.lower(): one
    for one in (
        *(
            "Pod",
            "Nodes",
            "NodeNames",
            "initContainers",
            "restartPolicy",
            "nodeName",
            "generateName",
        ),
        *("creationTimestamp", "ownerReferences", "lastTransitionTime"),
    )
}


def _any_case(value: Any) -> Any:
    """The value with field names in their usual case; labels stay as they are."""
    if isinstance(value, dict):
        return {_CAMEL.get(key.lower(), key): _any_case(one) for key, one in value.items()}
    return [_any_case(one) for one in value] if isinstance(value, list) else value


@dataclass(kw_only=True)
class Extender:
    """A scorer of nodes for kube-scheduler by a policy, which keeps the latest decisions.

    Attributes
    ----------
    decided : ordered dict of str to Decided
        By the pod's name, the oldest first.
    coarse : int
        Decisions in which a worse node has the same score 0 to 10 as the best one.
    lost : float
        The sum over decisions of the best score 0 to 100 minus the mean such score of the nodes
        that share the best score 0 to 10.
    """

    state: State
    policy: PlacementPolicy
    clock: Callable[[], float] = time.time
    decided: OrderedDict[str, Decided] = field(default_factory=OrderedDict)
    decisions: int = 0
    unknown: int = 0
    coarse: int = 0
    lost: float = 0.0
    _remembered_bytes: int = 0

    def decide(self, candidates: Candidates) -> Decided:
        """Return the scores of the candidates; a node that the state does not have gets 0."""
        now = int(self.clock() * 1000)
        positions = candidates.listed.positions
        in_cache = positions >= 0
        hundred = np.zeros(len(positions))
        tenths = np.zeros(len(positions), dtype=np.int64)
        if in_cache.any():
            container, at = self.state.container(candidates.pod), positions[in_cache]
            snapshot = self.state.snapshot(self.policy, now)
            hundred[in_cache], tenths[in_cache] = host_scores(self.policy, snapshot, container, at)
        return Decided(
            time_ms=now,
            pod=candidates.pod,
            nodes=self.state.names,
            strangers={at: candidates.listed.name(at) for at in np.flatnonzero(~in_cache).tolist()},
            positions=positions,
            hundred=hundred,
            tenths=tenths,
            parts={},
        )

    def remember(self, decided: Decided) -> None:
        """Count and keep a decision, with the parts of its scores.

        The parts are computed from the present nodes and pods, so call this before those change.
        """
        parts: dict[str, Float32Array] = {}
        in_cache = decided.positions >= 0
        if in_cache.any():
            container, at = self.state.container(decided.pod), decided.positions[in_cache]
            snapshot = self.state.snapshot(self.policy, decided.time_ms)
            for name, values in self.policy.explain(snapshot, container, at).items():
                parts[name] = np.full(len(in_cache), np.nan, dtype=np.float32)
                parts[name][in_cache] = values
        remembered = replace(decided, parts=parts)
        before = self.decided.pop(remembered.pod.name, None)
        self._remembered_bytes += remembered.size_bytes - (before.size_bytes if before else 0)
        self.decided[remembered.pod.name] = remembered
        while self._remembered_bytes > _REMEMBERED_BYTES and len(self.decided) > 1:
            self._remembered_bytes -= self.decided.popitem(last=False)[1].size_bytes
        self.decisions += 1
        self.unknown += len(remembered.strangers)
        if len(remembered.hundred):
            alike = remembered.hundred[remembered.tenths == remembered.tenths.max()]
            lost = float(alike.max() - alike.mean())
            self.coarse += lost > 0
            self.lost += lost

    def filtered(self, candidates: Candidates) -> dict[str, Any]:
        """Return the ExtenderFilterResult: nodes with room that the policy's filter admits."""
        container = self.state.container(candidates.pod)
        snapshot = self.state.snapshot(self.policy, int(self.clock() * 1000))
        positions = candidates.listed.positions
        at = positions[positions >= 0]
        short = lacking(snapshot, container, at)
        admitted = self.policy.admits(snapshot, container, at)
        why = {-1: "not known to tracekit"}
        for position, row, admits in zip(at.tolist(), short, admitted.tolist(), strict=True):
            missing = [n for n, less in zip(snapshot.resources, row, strict=True) if less]
            if missing:
                why[position] = f"too little {', '.join(missing)}"
            elif not admits:
                why[position] = f"the filter of policy {self.policy.name()}"
        names = [
            (candidates.listed.name(place), one) for place, one in enumerate(positions.tolist())
        ]
        failed = {name: why[position] for name, position in names if position in why}
        passed = [name for name, position in names if position not in why]
        nodes = candidates.nodes
        if nodes is not None:
            fit = set(passed)
            items = [one for one in nodes.get("items", ()) if one["metadata"]["name"] in fit]
            nodes = {**nodes, "items": items}
        return {
            "Nodes": nodes,
            "NodeNames": passed if nodes is None else None,
            "FailedNodes": failed,
            "FailedAndUnresolvableNodes": {},
            "Error": "",
        }

    def explained(self, pod: str) -> dict[str, Any]:
        """Return a pod's decision as JSON, best node first. Raise TracekitError if not kept."""
        decided = self._of(pod)
        bound = self.state.pods.get(decided.pod.uid)
        order = np.argsort(-decided.hundred, kind="stable").tolist()
        return {
            "policy": str(self.policy),
            "pod": decided.pod.name,
            "service": decided.pod.service,
            "time_ms": decided.time_ms,
            "node": bound.node or None if bound else None,
            "nodes": [
                {
                    "node": decided.name(at),
                    "score": int(decided.tenths[at]),
                    "of_hundred": float(decided.hundred[at]),
                    "parts": {
                        name: None if np.isnan(values[at]) else float(values[at])
                        for name, values in decided.parts.items()
                    },
                }
                for at in order
            ],
        }

    def case(self, pod: str) -> dict[str, Any]:
        """Return the input of ``tracekit score``: a decided pod, its candidates, the state now."""
        decided = self._of(pod)
        names = [decided.name(at) for at in range(len(decided.positions))]
        in_cache = [name for name in names if name in self.state.nodes]
        now = int(self.clock() * 1000)
        inputs = self.state.document(in_cache, decided.pod, self.policy, now)
        return {
            "name": decided.pod.name,
            "kind": "prioritize",
            "policy": self.policy.address(),
            "inputs": inputs,
        }

    def _of(self, pod: str) -> Decided:
        of_pod = self.decided.get(pod) or self.decided.get(f"default/{pod}")
        if of_pod is None:
            raise TracekitError(
                f"no decision on pod '{pod}' is remembered", hint="pod=NAMESPACE/NAME"
            )
        return of_pod
