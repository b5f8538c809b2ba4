"""What nodes and pods use, as metrics-server answers: one sample of each."""

from __future__ import annotations

import json
from typing import Any

from tracekit.sources._cluster import Broken, Opened, Read
from tracekit.sources.own._json_items import Cut, items
from tracekit.sources.own._kubernetes_objects import time_ms
from tracekit.sources.own._kubernetes_quantity import QuantityError, amount, resource, unit
from tracekit.sources.own._kubernetes_roster import Roster, roster
from tracekit.sources.own._kubernetes_rows import Rows, batches


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
            reason = str(error) if isinstance(error, QuantityError) else f"lacks {error}"
            yield Broken(
                table="container_amount",
                line=item.number,
                reason=reason,
                text=json.dumps(item.value)[:200],
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
            total[what] = total.get(what, 0.0) + amount(str(quantity))
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
