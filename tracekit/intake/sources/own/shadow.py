"""Reads the choices that ``tracekit serve --shadow`` records."""

import re

import polars as pl

from tracekit.intake.sources._source import (
    Batch,
    Broken,
    ClusterFile,
    ClusterSource,
    Head,
    Opened,
    Read,
)
from tracekit.intake.sources.own._json_items import BrokenItem, items

_TABLE = "shadow_choice"
_BEGINS = re.compile(rb'\s*\{"shadow": ?1, ')
_COLUMNS = {
    "time_ms": int,
    "service": str,
    "policy": str,
    "node": str,
    "cpu_fraction": float,
    "memory_fraction": float,
}


def _is_shadow(head: Head) -> bool:
    return bool(_BEGINS.match(head.start))


def _read(opened: Opened) -> Read:
    rows = []
    for item in items(opened):
        if isinstance(item, BrokenItem):
            yield Broken(table=_TABLE, line=item.number, reason=item.reason, text=item.text)
            continue
        line, value = item.number, item.value
        try:
            row = {name: kind(value[name]) for name, kind in _COLUMNS.items()}
            rows.append({**row, "container": str(value["pod"]), "line": line})
        except (LookupError, TypeError, ValueError) as error:
            reason = f"is no choice: {type(error).__name__} {error}"
            yield Broken(table=_TABLE, line=line, reason=reason, text=str(value))
    if rows:
        yield Batch(table=_TABLE, rows=pl.DataFrame(rows))


SHADOW = ClusterSource(
    name="shadow",
    title="Choices of policies in a live cluster, recorded by tracekit serve --shadow",
    url="https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/",
    licence="your own",
    files=(
        ClusterFile(
            word="shadow",
            title="choices of policies, decision by decision",
            tables=(_TABLE,),
            recognises=_is_shadow,
            read=_read,
        ),
    ),
    lacks=("nodes", "use", "what would have followed from another choice"),
    inferred=("how full a node would be: its use, or its requests, with the pod's request on top",),
    notes=("tracekit compare STORE judges the record, by blocks of an hour",),
)
