"""Pods that never had a node: what they ask for is load that the cluster did not carry."""

from collections.abc import Iterator
from datetime import UTC, datetime

import polars as pl

from tracekit.base.facts import Fact, remark
from tracekit.base.units import EPOCH_FROM_MS, MS_PER_S
from tracekit.store.folder import Store
from tracekit.store.tables.objects import GATES
from tracekit.store.views import read

#: The source whose lists say of every pod whether it has a node.
_SAYS_SO = "kubernetes"


def says_so(store: Store) -> bool:
    """Whether a store's source says of every container whether it has a node."""
    return any(entry.release == _SAYS_SO for entry in store.manifest.parts("container"))


def waits() -> pl.Expr:
    """True for rows of ``container`` without a node that did not leave."""
    return pl.col("node").is_null() & pl.col("departure_ms").is_null()


def gated() -> pl.Expr:
    """True for those of them that no scheduler may give a node yet."""
    return waits() & pl.col("not_held").fill_null("").str.split(", ").list.contains(GATES)


def never_ran(store: Store) -> pl.DataFrame:
    """Containers without a node in all rows, a row each; none if no file says so."""
    rows = read(store, "container").sort("time_ms", "position", maintain_order=True)
    lasting = rows.unique("container", keep="last", maintain_order=True)
    return lasting.filter(waits() & says_so(store))


def facts(store: Store) -> Iterator[Fact]:
    """A fact of the containers that never had a node, if there are any."""
    rows = never_ran(store)
    if rows.height:
        yield waiting_fact("never_ran", rows, read(store, "container_resource"))


def waiting_fact(because: str, rows: pl.DataFrame, resources: pl.DataFrame) -> Fact:
    """A doubt of containers without a node: the service of most of them, and what they request.

    Parameters
    ----------
    because : str
        What becomes of them: the key of a template.
    rows, resources : DataFrame
        Rows of ``container``, at least one, and of ``container_resource``.
    """
    requests = resources.sort("time_ms", maintain_order=True).unique(
        ["container", "resource"], keep="first", maintain_order=True
    )
    requests = requests.join(rows, on="container", how="semi").filter(pl.col("request") > 0)
    totals = {
        (resource, unit): amount
        for resource, unit, amount in requests.group_by("resource", "unit")
        .agg(pl.col("request").sum())
        .rows()
    }
    further = [
        f"{amount:g} {resource}" if unit == "count" else f"{amount:g} {unit} of {resource}"
        for (resource, unit), amount in sorted(totals.items())
        if resource not in ("cpu", "memory")
    ]
    services = rows.with_columns(service=pl.coalesce("service", "container"))
    most = services.group_by("service", maintain_order=True).agg(
        pl.len().alias("pods"), pl.col("time_ms").min()
    )
    first = most.sort("pods", descending=True, maintain_order=True).row(0, named=True)
    since = None
    if first["time_ms"] >= EPOCH_FROM_MS:
        since = f"{datetime.fromtimestamp(first['time_ms'] / MS_PER_S, UTC):%Y-%m-%d %H:%M} UTC"
    return remark(
        because,
        rows.height,
        "pods",
        kind="doubt",
        service=first["service"],
        of_service=first["pods"],
        since=since,
        requested_cores=totals.get(("cpu", "cores")),
        requested_bytes=totals.get(("memory", "bytes")),
        requested_further=", ".join(further) or None,
    )
