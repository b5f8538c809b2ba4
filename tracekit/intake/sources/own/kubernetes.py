"""A cluster of Kubernetes: nodes and pods of kubectl, use of Prometheus or metrics-server."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._source import Broken, ClusterFile, ClusterSource, Opened, Read
from tracekit.intake.sources.own._impossible_use import possible
from tracekit.intake.sources.own._json_items import BrokenItem, items
from tracekit.intake.sources.own._kubernetes.objects import (
    full_name,
    holds_measurements,
    holds_objects,
    time_ms,
)
from tracekit.intake.sources.own._kubernetes.requests import QuantityError, amount, resource, unit
from tracekit.intake.sources.own._kubernetes.shape import Rows, batches
from tracekit.intake.sources.own._prometheus.counters import (
    Before,
    Ends,
    check_apart,
    stored_ends,
)
from tracekit.intake.sources.own._prometheus.forms import holds_exports, holds_ranges, holds_texts
from tracekit.intake.sources.own._prometheus.metrics import STATES, USES, Use
from tracekit.intake.sources.own._prometheus.series import Series, read_series
from tracekit.intake.sources.own._prometheus.unused import (
    AROUND,
    IDLE,
    ON_HOST,
    Unused,
    check_one_cluster,
    clusters_of,
    not_read,
    unknown_node,
    unnamed,
)
from tracekit.intake.sources.own._roster import Roster, roster_beside
from tracekit.intake.sources.own._roster_read import read_objects
from tracekit.intake.sources.own._use_parts import (
    NO_CONTAINER,
    PodCgroups,
    ends_beside,
    is_idle,
    node_of,
    of_whole_pod,
    pod_of,
)
from tracekit.intake.sources.own._use_seen import astray, described
from tracekit.intake.sources.own._use_sums import Sums

#: Clocks and scrapes differ by up to this time; earlier use is not of the pod.
_EARLY_MS = 300_000


@dataclass(frozen=True)
class _To:
    """Everything that the series of a file are added to.

    Parameters
    ----------
    stored : collection of str
        The nodes of the store.
    outer : PodCgroups
        The series that may count use twice.
    clusters : set of str
        The names of clusters so far.
    ends, before : Ends, Before
        The last samples of the counters in this file, and in other files.
    """

    roster: Roster
    stored: Collection[str]
    sums: Sums
    outer: PodCgroups
    clusters: set[str]
    ends: Ends
    before: Before


def _read(opened: Opened, *, word: str) -> Read:
    """The rows of a file with series; ``word`` is its kind."""
    roster = roster_beside(opened, word)
    stored = stored_ends(opened)
    before = Before(pl.concat([stored, ends_beside(opened, word)]))
    sums, clusters = Sums(scraped=word != "range"), set(roster.state.clusters)
    to = _To(roster, opened.stored_sizes, sums, PodCgroups(), clusters, Ends(), before)
    met: set[str] = set()
    others: set[str] = set()

    def wanted(name: str) -> bool:
        (met if name in USES or name in STATES else others).add(name)
        return name in USES or name in STATES

    yield from _added(read_series(opened, word, wanted), to)
    to.ends.check_replicas(opened.name)
    check_apart(opened.name, to.ends.frame(), stored)
    if others and not met:
        _check_described(opened.name, others, roster)
    yield from not_read(others, met)
    check_one_cluster(opened.name, to.clusters)
    sums.leave_out(to.outer.numbers())
    yield from astray(opened, roster)
    yield from batches(described(opened, roster))
    nodes = {**opened.stored_sizes, **_sizes_of_nodes(roster)}
    yield from possible(sums.rows(), opened.name, nodes, places=roster.places())
    yield from to.ends.rows()


def _added(some: Iterable[Series | Broken], to: _To) -> Iterator[Broken]:
    """Add the series of a file to the sums, and yield the rejects."""
    unused = Unused()
    for series in some:
        if isinstance(series, Broken):
            yield series
        elif series.name in USES:
            use = USES[series.name]
            to.clusters.update(clusters_of(series))
            refused = _use(series, use, to)
            unused.note(series, refused if isinstance(refused, str) else "")
            if isinstance(refused, Broken):
                yield refused
    yield from unused.reasons()


def _sizes_of_nodes(roster: Roster) -> dict[str, dict[str, float]]:
    """Cores and bytes of each node: as kubectl printed them, else the largest record."""
    seen = {
        name: {what: max(value for _, value in values) for what, values in node.resources.items()}
        for name, node in roster.state.nodes.items()
    }
    return {**seen, **roster.sizes}


def _check_described(name: str, others: Collection[str], roster: Roster) -> None:
    """Raise TracekitError for a file of other metrics without nodes or pods beside it."""
    if not (roster.nodes or roster.pods or roster.state.nodes or roster.state.pods):
        raise TracekitError(
            f"{name}: holds no metric that says what nodes or containers are or use; it"
            f" holds {', '.join(sorted(others)[:5])}",
            hint=f"these are read: {', '.join(sorted({*USES, *STATES}))}",
        )


def _use(series: Series, use: Use, to: _To) -> Broken | str | None:
    """Add a series to the use of its container or node.

    Returns the reject, or the reason to leave the series out, where it is not added.
    """
    labels = series.labels
    if is_idle(labels, use):
        return IDLE
    if use.fills == "node":
        node = node_of(labels, to.roster)
        if not node:
            return unnamed(series, "node, nodename or instance")
        called = to.roster.node_called(node, to.stored)
        if not called:
            return unknown_node(series, node)
        before = _before(series, use, to)
        to.sums.add(series, use, called, lambda _: called, lives=[], before=before)
        return None
    return _use_of_pod(series, use, to)


def _use_of_pod(series: Series, use: Use, to: _To) -> Broken | str | None:
    roster, sums = to.roster, to.sums
    labels = series.labels
    # the answer to a query of ``fetch``, or to a recording rule of that name
    answered = not series.raw or series.name.endswith("_in_use")
    if not labels.get("pod"):
        # cgroups of the machine, and of programs outside the cluster
        return unnamed(series, "pod") if answered else AROUND
    # cgroups around a pod's containers count the same again
    inner = labels.get("container") not in NO_CONTAINER
    # an answer that was summed up by pod has neither of these labels any more
    apart = not answered or "container" in labels or "id" in labels
    if apart and not use.sandbox and not inner and not (series.raw and of_whole_pod(series)):
        return AROUND
    pod = pod_of(series)
    if use.sandbox and pod in roster.state.on_host:
        return ON_HOST
    starts, names = roster.lives(pod)
    if starts and series.times_ms[-1] < starts[0] - _EARLY_MS:
        return Broken(
            table="container_amount",
            line=series.line,
            column="time_ms",
            reason=f"is {series.times_ms[-1]} at last, but the pod began at {starts[0]}: the use of"
            " another pod of its name, or times that count otherwise",
            text=pod,
        )
    if not use.sandbox:
        to.outer.note(series, sums.part(series, use, pod))
    before = _before(series, use, to)
    uid = labels.get("uid", "")
    if uid or len(names) < 2:
        container = roster.container(pod, uid)
        sums.add(series, use, pod, lambda _: container, lives=[], before=before)
    else:
        sums.add(series, use, pod, lambda at: names[max(at, 0)], lives=list(starts), before=before)
    return None


def _before(series: Series, use: Use, to: _To) -> tuple[int, float] | None:
    """The last sample of a counter in an earlier file, for the first series of this file."""
    is_first = use.counter and series.raw and to.ends.note(series)
    return to.before.of(series) if is_first else None


def read_measurements(opened: Opened) -> Read:
    """Yield the measured use of nodes and pods; the use of a pod is the sum of its containers."""
    roster = roster_beside(opened, "measurements")
    rows: Rows = {"container_amount": [], "node_amount": []}
    for item in items(opened):
        if isinstance(item, BrokenItem):
            yield Broken(
                table="container_amount", line=item.number, reason=item.reason, text=item.text
            )
            continue
        try:
            table, some = _measured(item.value, item.number, roster)
        except (KeyError, TypeError, AttributeError, QuantityError, ValueError) as error:
            amiss = isinstance(error, QuantityError)
            yield Broken(
                table="container_amount",
                line=item.number,
                column="amount" if amiss else None,
                reason=str(error) if amiss else f"lacks {error}",
                text=json.dumps(item.value),
            )
        else:
            rows[table] += some
    yield from batches(rows)


def _measured(value: Any, line: int, roster: Roster) -> tuple[str, list[dict[str, Any]]]:
    meta, time = value["metadata"], time_ms(value["timestamp"])
    if "containers" in value:
        name = roster.container_at(full_name(meta), time)
        table, entity = "container_amount", "container"
        stated = [one.get("usage") or {} for one in value["containers"]]
    else:
        table, entity, name = "node_amount", "node", meta["name"]
        stated = [value["usage"]]
    total: dict[str, float] = {}
    for one in stated:
        for what, quantity in one.items():
            try:
                total[what] = total.get(what, 0.0) + amount(str(quantity))
            except QuantityError as error:
                raise QuantityError(f"of {what} {error}") from None
    return table, [
        {
            "time_ms": time,
            entity: name,
            "resource": resource(what),
            "amount": used,
            "unit": unit(resource(what)),
            "line": line,
        }
        for what, used in total.items()
    ]


_DESCRIBED = ("node", "node_resource", "container", "container_resource", "fixed_request")
_USED = ("container_amount", "node_amount")
_SERIES = (*_DESCRIBED, *_USED, "counter_end")

KUBERNETES = ClusterSource(
    name="kubernetes",
    title="One's own Kubernetes cluster: kubectl, Prometheus, metrics-server",
    url="https://kubernetes.io/docs/reference/kubectl/",
    licence="your own data",
    files=(
        ClusterFile(
            word="objects",
            title="output of kubectl get nodes,pods -A -o json, or a watch log",
            tables=_DESCRIBED,
            recognises=holds_objects,
            read=read_objects,
            together=True,
        ),
        ClusterFile(
            word="measurements",
            title="answers of metrics-server: NodeMetricsList, PodMetricsList",
            tables=_USED,
            recognises=holds_measurements,
            read=read_measurements,
        ),
        ClusterFile(
            word="range",
            title="answers of Prometheus to query_range, as JSON or as promtool prints them",
            tables=_SERIES,
            recognises=holds_ranges,
            read=partial(_read, word="range"),
        ),
        ClusterFile(
            word="text",
            title="promtool tsdb dump, or OpenMetrics with times",
            tables=_SERIES,
            recognises=holds_texts,
            read=partial(_read, word="text"),
        ),
        ClusterFile(
            word="export",
            title="JSON lines that VictoriaMetrics exports",
            tables=_SERIES,
            recognises=holds_exports,
            read=partial(_read, word="export"),
        ),
    ),
    lacks=(
        "NUMA cells, bound CPUs and prices",
        "changes of labels and taints before a snapshot was taken",
        "preferred affinities, rules about pods of namespaces that are chosen by their labels",
        "calls between services",
    ),
    inferred=(
        "service: the Deployment of a ReplicaSet and the CronJob of a Job, by their names",
        "departure of a pod that ended without saying when: its eviction, or its last condition",
        "departure of an ended pod without either: when it was first recorded or listed as ended",
        "departure of a pod that a later list lacks: the creation of its successor, else that list",
        "departure of a pod that only Prometheus saw: its end, its first Failed or Succeeded",
        "departure of a pod that says none of these: its last sample",
        "rates of scraped counters: increase since the sample before, from 0 where a counter fell",
    ),
    notes=(
        "times are epoch milliseconds; a pod that was there before arrives when it was scheduled",
        "a container is a pod: namespace/name, and namespace/name@uid for a later life of it",
        "a pod that waited for its node counts from when it was scheduled, not from its creation",
        "nvidia.com/gpu is gpu, ephemeral-storage is disk; other resources keep their names",
        "samples that were scraped, not queried, are put on a grid of their usual step",
        "where kubectl printed a node or pod, its size and node in Prometheus are left out",
        "cgroups around containers (no container label, or POD) are left out, of answers too",
        "an exporter's node is matched by its name, an address, or the first part of a host's name",
        "no rate is made across silence: five minutes, more where samples lie further apart",
    ),
)
