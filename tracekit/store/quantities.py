"""The quantities that a store records for analyses and replays."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from tracekit.base.files.places import parquet_metadata, scan_parquet
from tracekit.store.folder import DERIVED, Store
from tracekit.store.never_ran import is_moment

RECORDED, INFERRED, ABSENT = "recorded", "inferred", "absent"
_BASE = ("cpu", "memory")
_NETWORK = ("net", "net_in", "net_out")
_DISK = ("disk", "disk_io")


def quantities(store: Store) -> dict[str, str]:
    """Return for each quantity ``recorded``, ``inferred`` (derived by ingest) or ``absent``."""
    kinds = {name: find(store) for name, find in _QUANTITIES.items()}
    for entity in ("node", "container"):
        name, table = f"use of {entity}s", f"{entity}_amount"
        # shares of use are of CPU and memory together: without them one of the two may be wanting
        if kinds[name] == ABSENT or _one(store, f"{entity}_usage", "") != ABSENT:
            continue
        lacks = [what for what in _BASE if _of(table, what)(store) == ABSENT]
        if len(lacks) < len(_BASE):
            kinds |= {f"{name}: {what}": ABSENT for what in lacks}
        else:
            # of what counts as use there is none, whatever else was measured
            kinds[name] = ABSENT
            kinds |= {f"{name}: {what}": RECORDED for what in _resources(store, table)}
    return kinds


def absent_use(store: Store) -> list[str]:
    """Return the quantities of use that are absent; [] for a store without sizes and requests."""
    kinds = quantities(store)
    if kinds["node sizes"] == kinds["requests"] == ABSENT:
        return []
    return [name for name, kind in kinds.items() if name.startswith("use of ") and kind == ABSENT]


def together(before: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return the quantities ``more`` of a part of a store, merged with those of another part.

    Recorded wins over inferred, and inferred over absent.
    """
    order = (RECORDED, INFERRED, ABSENT)
    return {
        name: min(kind, before.get(name, ABSENT), key=order.index) for name, kind in more.items()
    }


def _any(*places: str) -> Callable[[Store], str]:
    """A function of a store: the best state of some places, each ``table.column`` or ``table``."""

    def find(store: Store) -> str:
        kinds = {_one(store, *place.partition(".")[::2]) for place in places}
        return next((kind for kind in (RECORDED, INFERRED) if kind in kinds), ABSENT)

    return find


def _one(store: Store, table: str, column: str) -> str:
    kind = ABSENT
    for entry, path in zip(store.manifest.parts(table), store.table_files(table), strict=True):
        if entry.rows and (not column or _holds(path, column)):
            kind = INFERRED if entry.release == DERIVED else RECORDED
        if kind == RECORDED:
            break
    return kind


def _holds(path: Path, column: str) -> bool:
    """Whether some row group has a value in the column."""
    metadata = parquet_metadata(path)
    names = metadata.schema.names
    if column not in names:
        return False
    at = names.index(column)
    for group in range(metadata.num_row_groups):
        stats = metadata.row_group(group).column(at).statistics
        if stats is None or stats.null_count < metadata.row_group(group).num_rows:
            return True
    return False


def _of(table: str, *resources: str) -> Callable[[Store], str]:
    """A function of a store: RECORDED if a table has rows of some resources, else ABSENT."""

    def find(store: Store) -> str:
        files = store.table_files(table)
        if not files:
            return ABSENT
        rows = scan_parquet(*files).filter(pl.col("resource").is_in(list(resources)))
        return RECORDED if rows.head(1).collect().height else ABSENT

    return find


def _resources(store: Store, table: str) -> list[str]:
    """The resources in a table, without those that are quantities of their own."""
    names = scan_parquet(*store.table_files(table)).select(pl.col("resource").unique().sort())
    own = {*_NETWORK, *_DISK}
    return [one for one in names.collect()["resource"].to_list() if one not in own]


def _use_of_nodes(store: Store) -> str:
    """The state of use of nodes; samples of one moment beside containers' history do not count."""
    amounts = () if is_moment(store.manifest) else ("node_amount",)
    return _any("node_usage", *amounts)(store)


#: The quantities, in the words of the report, with the functions of their states.
_QUANTITIES: dict[str, Callable[[Store], str]] = {
    "node sizes": _any("node_resource"),
    "requests": _any("container_resource.request"),
    "limits": _any("container_resource.limit"),
    "use of nodes": _use_of_nodes,
    "use of containers": _any("container_usage", "container_amount"),
    "network in use": _of("container_amount", *_NETWORK),
    "disk in use": _of("container_amount", *_DISK),
    "placement": _any("container.node_key", "container_usage.node_key"),
    "arrivals": _any("container"),
    "departures": _any("container.departure_ms"),
    "priorities": _any("container.priority"),
    "groups": _any(
        "container.apart",
        "container.together",
        "container.rules",
        "container.host_ports",
        "sharing_rule",
    ),
    "selectors and taints": _any("container.selector", "node.taints"),
    "fault domains": _any("node.rack", "node.domain", "node.zone"),
    "NUMA cells": _any("node_resource.cell"),
    "NUMA cells per container": _any("container.numa_cells"),
    "bound vCPUs": _any("container.vcpus"),
    "calls": _any("call", "service_calls"),
    "call rates": _any("service_rate"),
    "prices": _any("node.price_per_hour"),
}
#: The names of the quantities in the order of listings.
NAMES = tuple(_QUANTITIES)
