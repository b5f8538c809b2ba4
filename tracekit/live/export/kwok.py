"""Nodes and pods for KWOK and kube-scheduler-simulator: a list that kubectl applies."""

import json
from collections.abc import Mapping

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.live.export._format import Format, Written, left_out
from tracekit.live.export._left import Left
from tracekit.live.export._names import object_names
from tracekit.live.export._objects import objects_of
from tracekit.live.export._workload import carried, lost


def _write(left: Left) -> Written:
    load = left.load
    objects = objects_of(load, left.store)
    if left.policy:
        places = _places(left, left.policy)
        names = dict(zip(load.nodes.ids, object_names(load.nodes.ids), strict=True))
        for container, pod in zip(load.containers.ids, objects.pods, strict=True):
            if node := places.get(container):
                pod["spec"]["nodeName"] = names[node]
    text = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [*objects.nodes, *objects.pods]}, indent=1
    )
    facts = (
        *carried(load, rounded=False),
        *((left_out("renamed", objects.renamed, "containers"),) if objects.renamed else ()),
        *(() if left.policy else lost(load, "placement")),
        *lost(load, "use", "departures", "groups", "gangs", "budgets", "background", "prices"),
        *lost(load, "away", "rules" if left.store is None else "own_rules"),
    )
    return Written(files={"": text.encode()}, facts=facts)


def _places(left: Left, policy: str) -> Mapping[str, str | None]:
    """Where a policy of the run placed containers."""
    rows = left.frame("placements")
    mine = rows.filter(pl.col("policy") == policy)
    if mine.is_empty():
        raise TracekitError(
            f"'{policy}' is no policy of this run",
            hint=f"one of: {', '.join(rows['policy'].unique(maintain_order=True))}",
        )
    return dict(zip(mine["container"], mine["node"], strict=True))


FORMAT = Format(
    name="kwok",
    title="nodes and pods for KWOK, a list for kubectl apply; --policy says where pods run",
    write=_write,
)
