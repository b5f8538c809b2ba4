"""Pods and nodes for the descheduler, from their recorded texts; and requests of pods."""

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
    ContainerSelection,
    LabelIndex,
    Rule,
    rules_in,
    rules_of,
)
from tracekit.cluster.constraints.build_among import domain_of
from tracekit.cluster.constraints.constraints import OF_CONTAINERS, OF_NODES, DeschedulerRows
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
from tracekit.cluster.resources import NONZERO_DEFAULT
from tracekit.intake.sources.own._kubernetes.rules import BUDGET
from tracekit.store.tables import UNREADY_TAINTS

#: Classes of quality of service, in the order of their eviction.
BEST_EFFORT, BURSTABLE, GUARANTEED = 0, 1, 2
_QUALITY = {"BestEffort": BEST_EFFORT, "Burstable": BURSTABLE, "Guaranteed": GUARANTEED}


@dataclass(frozen=True, kw_only=True)
class PodRecord:
    """The recorded Kubernetes fields of a group of equal pods, which the descheduler reads.

    Parameters
    ----------
    owners : tuple of (kind, name)
    marks : frozenset of str
        ``evict`` and ``keep`` by annotation; ``mirror``, ``static``, ``terminating``,
        ``resource_claims``; ``local`` and ``claim`` by volumes; ``budget``.
    priority : float
        -inf for no stated priority.
    quality : int
        The class of quality of service, -1 for an unknown class.
    selector : tuple
        The alternative requirements of the node selector; empty for any node.
    tolerations : tuple of Toleration
    selects, requires : bool
        Whether the pod has a node selector or affinity, and whether it has a required affinity.
    prefers : tuple of (weight, requirements)
        Preferred node affinity.
    rules, soft : tuple of Rule
        Required rules about other pods, and constraints on spread with ScheduleAnyway.
    states : mapping
        The keys ``restarts``, ``waiting`` and ``terminated``, each by the kind of container.
    """

    namespace: str
    labels: Mapping[str, str]
    owners: tuple[tuple[str, str], ...]
    images: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    priority: float = -np.inf
    quality: int = -1
    selector: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    selects: bool = False
    requires: bool = False
    prefers: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()
    rules: tuple[Rule, ...] = ()
    soft: tuple[Rule, ...] = ()
    phase: str = ""
    reason: str = ""
    states: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Pods:
    """All containers of a workload as pods, and its nodes, as a descheduler sees them.

    Parameters
    ----------
    texts : sequence of PodRecord
    of, created_ms : int64, shape (containers,)
        The position in ``texts`` of each container's text, and the time of its creation.
    nodes : DataFrame
        The columns ``OF_NODES`` and ``node``, a row for each node of the workload.

    Attributes
    ----------
    closed, ready : bool, shape (nodes,)
        Cordoned nodes, and nodes without a taint of an unready node.
    """

    def __init__(
        self, texts: Sequence[PodRecord], of: IntArray, created_ms: IntArray, nodes: pl.DataFrame
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
        self._wearers = LabelIndex([(one.namespace, one.labels) for one in texts])
        self.open_to = functools.cache(self._open_to)
        self.domain = functools.cache(lambda key: domain_of(self.labels, key))

    def each(self, value: Callable[[PodRecord], Any], dtype: Any = np.bool_) -> Any:
        """Return ``value`` of each text as an array, shape (texts,)."""
        return np.array([value(one) for one in self.texts], dtype=dtype)

    def meeting(self, whom: ContainerSelection) -> BoolArray:
        """Return which texts are of pods that a rule selects, shape (texts,)."""
        selected = np.zeros(len(self.texts), dtype=np.bool_)
        selected[self._wearers.meeting(whom)] = True
        return selected

    def wearing(self, asks: Sequence[Requirement]) -> BoolArray:
        """Return which texts have labels that meet all requirements, in any namespace, (texts,)."""
        return self.meeting(ContainerSelection((EVERY,), tuple(asks)))

    def selected(self, asks: Sequence[Requirement]) -> BoolArray:
        """Return which nodes have labels that meet all requirements, shape (nodes,)."""
        every = np.ones(self._count, dtype=np.bool_)
        return np.asarray(np.logical_and.reduce([every, *map(self.labels.meets, asks)]))

    def suits(self, text: int) -> BoolArray:
        """Return which nodes the node selector of text number ``text`` selects, shape (nodes,)."""
        asks = self.texts[text].selector
        if not asks:
            return np.ones(self._count, dtype=np.bool_)
        return selected(self.labels, asks, self._count)

    def tolerates(self, text: int, counts: Callable[[Taint], bool]) -> BoolArray:
        """Return on which nodes a text tolerates all taints that ``counts`` accepts, (nodes,)."""
        bears = self.texts[text].tolerations
        tolerated = {
            taint: not counts(taint) or any(one.tolerates(taint) for one in bears)
            for has in self._taints
            for taint in has
        }
        return np.array([all(tolerated[taint] for taint in has) for has in self._taints])

    def taint_count(self) -> IntArray:
        """Return the number of taints of each node, shape (nodes,)."""
        return np.array([len(has) for has in self._taints], dtype=np.int64)

    def _open_to(self, text: int) -> BoolArray:
        """The nodes that cordons, selectors and taints leave open to a text, shape (nodes,)."""
        tolerated = self.tolerates(text, lambda taint: taint.effect in CLOSING)
        return np.asarray(~self.closed & self.suits(text) & tolerated)

    def wishes(self, text: int) -> IntArray:
        """Return each node's sum of a text's preferred affinity weights, shape (nodes,)."""
        total = np.zeros(self._count, dtype=np.int64)
        for weight, asks in self.texts[text].prefers:
            total += np.where(self.selected(asks), weight, 0) if asks else 0
        return total


def pods_of(written: DeschedulerRows, node_ids: Sequence[str]) -> Pods:
    """Return the pods and nodes of a workload from their recorded texts."""
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
    """Return pods for a workload without recorded texts.

    The service of a container counts as the owner, and all nodes are alike.
    """
    ranks = [-np.inf] * len(services) if priority is None else priority.tolist()
    numbers: dict[tuple[str, float], int] = {}
    of = [numbers.setdefault(key, len(numbers)) for key in zip(services, ranks, strict=True)]
    texts = [
        PodRecord(namespace="", labels={}, owners=(("", service),), priority=float(rank))
        for service, rank in numbers
    ]
    names = pl.DataFrame({"node": [str(at) for at in range(nodes)]})
    return Pods(texts, np.array(of, dtype=np.int64), created_ms, names)


def _read(row: Mapping[str, Any]) -> PodRecord:
    """A row of ``OF_CONTAINERS``."""
    space, written = row["namespace"] or "", json.loads(row["eviction"] or "{}")
    unlisted = row["eviction"] is None  # the owner is unknown, and the service counts as the owner
    owners = [["", row["service"]]] if unlisted else written.get("owners", [])
    return PodRecord(
        namespace=space,
        labels=labels_of(row["labels"]) if row["labels"] else {},
        owners=tuple((str(kind), str(name)) for kind, name in owners),
        images=tuple(written.get("images", ())),
        marks=frozenset(
            [*written.get("marks", ()), *written.get("volumes", ()), *_budget(row["rules"])]
        ),
        priority=-np.inf if row["priority"] is None else float(row["priority"]),
        quality=_QUALITY.get(written.get("qos"), -1),
        selector=tuple(map(tuple, alternatives(row["selector"]))) if row["selector"] else (),
        tolerations=tolerations(row["tolerations"]) if row["tolerations"] else (),
        selects=bool(written.get("selects")),
        requires=bool(written.get("requires")),
        prefers=tuple(
            (int(one["weight"]), tuple(map(requirement, one["asks"])))
            for one in written.get("prefers", ())
        ),
        rules=rules_of(row["rules"], space) if row["rules"] else (),
        soft=rules_in(written.get("spread", []), space),
        phase=written.get("phase", ""),
        reason=written.get("reason", ""),
        states={name: written.get(name, {}) for name in ("restarts", "waiting", "terminated")},
    )


def _budget(rules: str | None) -> list[str]:
    return ["budget"] if rules and BUDGET in rules else []


# Requests of a Kubernetes pod: containers, sidecars, init containers, overhead.
#
# Source: resource helpers of kubernetes v1.34 (PodRequests). A container of a workload is a pod
# with one container.

Amounts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class PodContainer:
    """One container of a pod; a resource that is absent from ``requests`` has no request."""

    requests: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    restartable: bool = False


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A Kubernetes pod; init containers run one by one before ``containers`` start.

    A restartable init container is a sidecar: it keeps running with all later containers.
    """

    containers: tuple[PodContainer, ...] = ()
    init_containers: tuple[PodContainer, ...] = ()
    overhead: Amounts = field(default_factory=dict)

    def request(self) -> dict[str, int]:
        """Return the filter's request: ``max(containers + sidecars, init peak) + overhead``."""
        return self._total({})

    def nonzero_request(self) -> dict[str, int]:
        """Return the request for scores, with defaults in place of missing cpu and memory.

        An explicit 0 stays 0; a pod without containers requests nothing.
        """
        return self._total(NONZERO_DEFAULT)

    def limit(self) -> dict[str, int]:
        """Return the limits, summed like requests; a resource without a limit is absent."""
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
    """The highest need of the start: each init container with the sidecars before it."""
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for requests, restartable in inits:
        together = add([sidecars, requests])
        peak = maximum(peak, together)
        sidecars = together if restartable else sidecars
    return peak


def add(maps: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of resource maps."""
    total: dict[str, int] = {}
    for amounts in maps:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def maximum(first: Amounts, second: Amounts) -> dict[str, int]:
    """Return the larger amount of each resource in two maps."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}
