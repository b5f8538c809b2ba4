"""One's own cluster: nodes and pods from kubectl, their use from Prometheus or metrics-server."""

import json
from typing import Any

from tracekit.intake.sources._cluster import Broken, ClusterFile, ClusterSource, Opened, Read
from tracekit.intake.sources.own._json_items import Cut, items
from tracekit.intake.sources.own._kubernetes.objects import (
    holds_measurements,
    holds_objects,
    time_ms,
)
from tracekit.intake.sources.own._kubernetes.requests import QuantityError, amount, resource, unit
from tracekit.intake.sources.own._kubernetes.shape import Rows, batches
from tracekit.intake.sources.own._pod_use.rows import read_exports, read_ranges, read_texts
from tracekit.intake.sources.own._prometheus.forms import holds_exports, holds_ranges, holds_texts
from tracekit.intake.sources.own._roster.read import read_objects
from tracekit.intake.sources.own._roster.roster import Roster, roster


def read_measurements(opened: Opened) -> Read:
    """Amounts of pods (their containers together) and of nodes."""
    known = roster(opened, "measurements")
    rows: Rows = {"container_amount": [], "node_amount": []}
    for item in items(opened):
        if isinstance(item, Cut):
            yield Broken(
                table="container_amount", line=item.number, reason=item.reason, text=item.text
            )
            continue
        try:
            table, some = _measured(item.value, item.number, known)
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


def _measured(value: Any, line: int, known: Roster) -> tuple[str, list[dict[str, Any]]]:
    meta, time = value["metadata"], time_ms(value["timestamp"])
    if "containers" in value:
        pod = f"{meta.get('namespace') or 'default'}/{meta['name']}"
        table, entity, name = "container_amount", "container", known.container_at(pod, time)
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

SOURCE = ClusterSource(
    name="kubernetes",
    title="One's own Kubernetes cluster: kubectl, Prometheus, metrics-server",
    url="https://kubernetes.io/docs/reference/kubectl/",
    missing_names=frozenset({""}),
    licence="your own data",
    files=(
        ClusterFile(
            word="objects",
            title="what kubectl get nodes,pods -A -o json prints, or a watch log",
            tables=_DESCRIBED,
            recognises=holds_objects,
            read=read_objects,
            together=True,
        ),
        ClusterFile(
            word="measurements",
            title="what metrics-server answers: NodeMetricsList, PodMetricsList",
            tables=_USED,
            recognises=holds_measurements,
            read=read_measurements,
        ),
        ClusterFile(
            word="range",
            title="answers of Prometheus to query_range, as JSON or as promtool prints them",
            tables=_SERIES,
            recognises=holds_ranges,
            read=read_ranges,
        ),
        ClusterFile(
            word="text",
            title="promtool tsdb dump, or OpenMetrics with times",
            tables=_SERIES,
            recognises=holds_texts,
            read=read_texts,
        ),
        ClusterFile(
            word="export",
            title="JSON lines that VictoriaMetrics exports",
            tables=_SERIES,
            recognises=holds_exports,
            read=read_exports,
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
        "departure of a pod that a later list lacks: when what replaces it came, else then",
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
        "an exporter's node is met by its name, an address, or the first part of a host's name",
        "no rate is made across silence: five minutes, more where samples lie further apart",
    ),
)
