"""Pods that never had a node: what they ask for is load that the cluster did not carry."""

from datetime import UTC, datetime
from typing import Any

import polars as pl

from tracekit.store.folder import Store
from tracekit.store.views import read
from tracekit.tables.container import GATES
from tracekit.units import EPOCH_FROM_MS, MS_PER_S, memory
from tracekit.words import counted, plural

#: The source whose lists say of every pod whether it has a node.
_SAYS_SO = "kubernetes"
#: A pod is one of these on its node, whatever else it asks for.
_PODS = "pods"
#: So many services are named, those with most pods first.
_NAMED = 5


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


def told(store: Store) -> str:
    """A sentence on containers that never had a node: counts by service and requests, or empty."""
    return told_of(never_ran(store), read(store, "container_resource"))


def told_of(rows: pl.DataFrame, resources: pl.DataFrame) -> str:
    """The same of rows of ``container`` and of ``container_resource``."""
    if not rows.height:
        return ""
    asked = resources.sort("time_ms", maintain_order=True).unique(
        ["container", "resource"], keep="first", maintain_order=True
    )
    asked = asked.join(rows, on="container", how="semi").filter(pl.col("request") > 0)
    named = rows.with_columns(service=pl.coalesce("service", "container"))
    of = named.group_by("service", maintain_order=True).agg(
        pl.len().alias("pods"), pl.col("container"), pl.col("time_ms").min()
    )
    of = of.sort("pods", descending=True, maintain_order=True)
    parts = [_service_text(one, asked) for one in of.head(_NAMED).to_dicts()]
    if of.height > _NAMED:
        parts.append(f"{of['pods'][_NAMED:].sum():,} of other services")
    pods = counted(rows.height, "pod")
    together = f"; together they request {_requests(asked)}" if of.height > 1 else ""
    return f"{pods} never had a node: {'; '.join(parts)}{together}"


def _service_text(service: dict[str, Any], asked: pl.DataFrame) -> str:
    mine = asked.filter(pl.col("container").is_in(service["container"]))
    since = service["time_ms"]
    waiting = " from the start on"
    if since >= EPOCH_FROM_MS:
        waiting = f" since {datetime.fromtimestamp(since / MS_PER_S, UTC):%Y-%m-%d %H:%M} UTC"
    several = f"{service['pods']:,} of {service['service']}"
    who = several if len(service["container"]) > 1 else service["container"][0]
    return f"{who} ({_requests(mine)},{waiting})"


def _requests(asked: pl.DataFrame) -> str:
    """Amounts added up, as people write them."""
    totals = asked.filter(pl.col("resource") != _PODS).group_by("resource", maintain_order=True)
    amounts = totals.agg(pl.col("request").sum(), pl.col("unit").first()).sort(
        pl.col("resource").replace_strict({"cpu": 0, "memory": 1}, default=2), "resource"
    )
    texts = [_amount(*row) for row in amounts.select("request", "unit", "resource").iter_rows()]
    return ", ".join(texts) or "nothing requested"


def _amount(amount: float, unit: str | None, resource: str) -> str:
    if unit == "bytes":
        return memory(amount) if resource == "memory" else f"{memory(amount)} {resource}"
    if unit == "cores":
        return f"{amount:,.6g} {plural(amount, 'core')}"
    return f"{amount:,.6g} {resource}"
