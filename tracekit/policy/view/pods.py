"""Pods and nodes as a descheduler reads them, out of what a workload has written of them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.among import (
    EVERY,
    Rule,
    Wearers,
    Whom,
    rules_in,
    rules_of,
)
from tracekit.cluster.constraints.build_among import domain_of
from tracekit.cluster.constraints.labels import (
    CLOSING,
    Labels,
    Requirement,
    Taint,
    Toleration,
    all_taints,
    alternatives,
    labels_of,
    requirement,
    selected,
    tolerations,
)
from tracekit.cluster.constraints.written import OF_CONTAINERS, OF_NODES, Written
from tracekit.cluster.resources import NONZERO_DEFAULT
from tracekit.intake.sources.own._kubernetes.rules import BUDGET
from tracekit.store.tables import UNREADY_TAINTS

#: Classes of quality of service, in the order of their eviction.
BEST_EFFORT, BURSTABLE, GUARANTEED = 0, 1, 2
_QUALITY = {"BestEffort": BEST_EFFORT, "Burstable": BURSTABLE, "Guaranteed": GUARANTEED}


@dataclass(frozen=True, kw_only=True)
class PodText:
    """What one distinct row says of pods.

    Parameters
    ----------
    owners : tuple of (kind, name)
    marks : frozenset of str
        ``evict``, ``keep`` by annotation; mirror, static, terminating, resource_claims, local,
        claim.
    priority : float
        -inf where none is stated.
    quality : int
        -1 where it is not stated.
    asks : tuple
        The alternatives of its selector; empty: any node.
    selects, requires : bool
        Whether it states a node selector or affinity at all; whether it requires an affinity.
    prefers : tuple of (weight, requirements)
    rules, soft : tuple of Rule
        Required of other pods; constraints on spread that yield.
    states : mapping
        Of ``restarts``, ``waiting``, ``terminated``, by the kind of container.
    """

    namespace: str
    labels: Mapping[str, str]
    owners: tuple[tuple[str, str], ...]
    images: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    priority: float = -np.inf
    quality: int = -1
    asks: tuple[tuple[Requirement, ...], ...] = ()
    bears: tuple[Toleration, ...] = ()
    selects: bool = False
    requires: bool = False
    prefers: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()
    rules: tuple[Rule, ...] = ()
    soft: tuple[Rule, ...] = ()
    phase: str = ""
    reason: str = ""
    states: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Pods:
    """All containers of a workload as pods, and its nodes.

    Parameters
    ----------
    texts : sequence of PodText
    of, created_ms : int64, shape (containers,)
        The text of each, and when it was asked for.
    nodes : DataFrame
        The columns ``OF_NODES`` and ``node``, a row for each node of the workload.
    """

    def __init__(
        self, texts: Sequence[PodText], of: IntArray, created_ms: IntArray, nodes: pl.DataFrame
    ) -> None:
        self.texts, self.of, self.created_ms = texts, of, created_ms
        self.labels, self._count = Labels(nodes), nodes.height
        taints: list[tuple[Taint, ...]] = []
        self.closed = np.zeros(nodes.height, dtype=np.bool_)
        if "taints" in nodes.columns:
            taints = [all_taints(text) if text else () for text in nodes["taints"]]
        if "state" in nodes.columns:
            self.closed = (nodes["state"].fill_null("") == "closed").to_numpy()
        self._taints = taints or [()] * nodes.height
        unready = set(UNREADY_TAINTS.values())
        self.ready = np.array([all(one.key not in unready for one in has) for has in self._taints])
        self._wearers = Wearers([(one.namespace, one.labels) for one in texts])
        self.open_to = functools.cache(self._open_to)
        self.domain = functools.cache(lambda key: domain_of(self.labels, key))

    def each(self, said: Callable[[PodText], Any], dtype: Any = np.bool_) -> Any:
        """What every text says of something, shape (texts,)."""
        return np.array([said(one) for one in self.texts], dtype=dtype)

    def meeting(self, whom: Whom) -> BoolArray:
        """The texts of those pods, shape (texts,)."""
        found = np.zeros(len(self.texts), dtype=np.bool_)
        found[self._wearers.meeting(whom)] = True
        return found

    def wearing(self, asks: Sequence[Requirement]) -> BoolArray:
        """The texts whose labels meet all requirements, in any namespace, shape (texts,)."""
        return self.meeting(Whom((EVERY,), tuple(asks)))

    def selected(self, asks: Sequence[Requirement]) -> BoolArray:
        """The nodes whose labels meet all requirements, shape (nodes,)."""
        every = np.ones(self._count, dtype=np.bool_)
        return np.asarray(np.logical_and.reduce([every, *map(self.labels.meets, asks)]))

    def suits(self, text: int) -> BoolArray:
        """The nodes that the selector of a pod selects, shape (nodes,)."""
        asks = self.texts[text].asks
        if not asks:
            return np.ones(self._count, dtype=np.bool_)
        return selected(self.labels, asks, self._count)

    def tolerates(self, text: int, minds: Callable[[Taint], bool]) -> BoolArray:
        """The nodes of which a pod tolerates every taint that is minded, shape (nodes,)."""
        bears = self.texts[text].bears
        known = {
            taint: not minds(taint) or any(one.tolerates(taint) for one in bears)
            for has in self._taints
            for taint in has
        }
        return np.array([all(known[taint] for taint in has) for has in self._taints])

    def taint_count(self) -> IntArray:
        """How many taints each node has, shape (nodes,)."""
        return np.array([len(has) for has in self._taints], dtype=np.int64)

    def _open_to(self, text: int) -> BoolArray:
        """The nodes that cordons, selectors and taints leave open to a pod, shape (nodes,)."""
        tolerated = self.tolerates(text, lambda taint: taint.effect in CLOSING)
        return np.asarray(~self.closed & self.suits(text) & tolerated)

    def wishes(self, text: int) -> IntArray:
        """The weight that a pod's preferred affinity gives each node, shape (nodes,)."""
        found = np.zeros(self._count, dtype=np.int64)
        for weight, asks in self.texts[text].prefers:
            found += np.where(self.selected(asks), weight, 0) if asks else 0
        return found


def pods_of(written: Written, node_ids: Sequence[str]) -> Pods:
    """The pods and nodes of a workload, out of what is written of them."""
    rows = [json.loads(written.nodes[at]) for at in written.node.tolist()]
    schema = dict.fromkeys(OF_NODES, pl.String)
    nodes = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        pl.Series("node", node_ids, dtype=pl.String)
    )
    texts = [
        _read(dict(zip(OF_CONTAINERS, json.loads(one), strict=True))) for one in written.containers
    ]
    return Pods(texts, written.container, written.created_ms, nodes)


def plain_pods(
    services: Sequence[str], priority: IntArray | None, created_ms: IntArray, nodes: int
) -> Pods:
    """Pods of which nothing is written: a service stands for the owner, all nodes are alike."""
    ranks = [-np.inf] * len(services) if priority is None else priority.tolist()
    known: dict[tuple[str, float], int] = {}
    of = [known.setdefault(key, len(known)) for key in zip(services, ranks, strict=True)]
    texts = [
        PodText(namespace="", labels={}, owners=(("", service),), priority=float(rank))
        for service, rank in known
    ]
    names = pl.DataFrame({"node": [str(at) for at in range(nodes)]})
    return Pods(texts, np.array(of, dtype=np.int64), created_ms, names)


def _read(row: Mapping[str, Any]) -> PodText:
    """A row of ``OF_CONTAINERS``."""
    space, said = row["namespace"] or "", json.loads(row["eviction"] or "{}")
    unknown = row["eviction"] is None  # whoever made it, it was not listed: its service did
    owners = [["", row["service"]]] if unknown else said.get("owners", [])
    return PodText(
        namespace=space,
        labels=labels_of(row["labels"]) if row["labels"] else {},
        owners=tuple((str(kind), str(name)) for kind, name in owners),
        images=tuple(said.get("images", ())),
        marks=frozenset([*said.get("marks", ()), *said.get("volumes", ()), *_budget(row["rules"])]),
        priority=-np.inf if row["priority"] is None else float(row["priority"]),
        quality=_QUALITY.get(said.get("qos"), -1),
        asks=tuple(map(tuple, alternatives(row["selector"]))) if row["selector"] else (),
        bears=tolerations(row["tolerations"]) if row["tolerations"] else (),
        selects=bool(said.get("selects")),
        requires=bool(said.get("requires")),
        prefers=tuple(
            (int(one["weight"]), tuple(map(requirement, one["asks"])))
            for one in said.get("prefers", ())
        ),
        rules=rules_of(row["rules"], space) if row["rules"] else (),
        soft=rules_in(said.get("spread", []), space),
        phase=said.get("phase", ""),
        reason=said.get("reason", ""),
        states={name: said.get(name, {}) for name in ("restarts", "waiting", "terminated")},
    )


def _budget(rules: str | None) -> list[str]:
    return ["budget"] if rules and BUDGET in rules else []


# Requests of a Kubernetes pod: containers, sidecars, init containers, overhead.
#
# Source: resource helpers of kubernetes v1.34 (PodRequests). A pod is what is placed; a workload's
# container is a pod with one container.

Amounts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class PodContainer:
    """One container of a pod; a resource absent from ``requests`` was not stated, 0 was."""

    requests: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    restartable: bool = False


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod; init containers run one after the other before ``containers`` start.

    A restartable init container is a sidecar: it keeps running beside all that follow.
    """

    containers: tuple[PodContainer, ...] = ()
    init_containers: tuple[PodContainer, ...] = ()
    overhead: Amounts = field(default_factory=dict)

    def request(self) -> dict[str, int]:
        """The filter's request: ``max(containers + sidecars, init peak) + overhead``."""
        return self._total({})

    def nonzero_request(self) -> dict[str, int]:
        """The request as scoring counts it: missing cpu and memory are replaced by a default.

        An explicit 0 stays 0; a pod without containers counts as nothing.
        """
        return self._total(NONZERO_DEFAULT)

    def limit(self) -> dict[str, int]:
        """The limits, added up like requests; a resource without a limit is absent."""
        sidecars = [c.limits for c in self.init_containers if c.restartable]
        running = add([c.limits for c in self.containers] + sidecars)
        peak = _peak([(c.limits, c.restartable) for c in self.init_containers])
        return add([maximum(running, peak), self.overhead]) if running or peak else {}

    def _total(self, default: Amounts) -> dict[str, int]:
        inits = [({**default, **c.requests}, c.restartable) for c in self.init_containers]
        main = [{**default, **c.requests} for c in self.containers]
        running = add(main + [requests for requests, restartable in inits if restartable])
        return add([maximum(running, _peak(inits)), self.overhead])


def _peak(inits: Iterable[tuple[Amounts, bool]]) -> dict[str, int]:
    """The most that start-up needs at once: each init container beside the sidecars before it."""
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for requests, restartable in inits:
        together = add([sidecars, requests])
        peak = maximum(peak, together)
        sidecars = together if restartable else sidecars
    return peak


def add(maps: Iterable[Amounts]) -> dict[str, int]:
    """Resource maps added up."""
    total: dict[str, int] = {}
    for amounts in maps:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def maximum(first: Amounts, second: Amounts) -> dict[str, int]:
    """The larger amount of each resource of either map."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}
