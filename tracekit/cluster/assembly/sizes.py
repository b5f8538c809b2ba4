"""The tables of nodes, containers, their resources and rules, with ids as texts."""

from dataclasses import dataclass

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.words import counted
from tracekit.store import never_ran
from tracekit.store.broken_rows import broken_rows
from tracekit.store.folder import Store
from tracekit.store.node_states import begins_ms, nodes_of, without_size
from tracekit.store.views import read

_MS = "time_ms"
#: What shows the broken rows of lists of containers.
_REJECTS = """tracekit query STORE "FROM reject WHERE \\"table\\" = 'container'\""""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes that a store records.

    Attributes
    ----------
    nodes : DataFrame
        A row for each node of the table ``node``, as it is when the replay begins, in the order
        of the source. Where the source states sizes, a node without one is set aside.
    capacity : DataFrame
        Rows of ``node_resource`` for these nodes, of whole nodes and of cells.
    containers : DataFrame
        The table ``container``, in order of arrival, then of the source.
    requests : DataFrame
        The table ``container_resource``: the first row of each container and resource.
    rules : DataFrame
        The table ``sharing_rule``.
    set_aside : Series
        Names of the nodes that are set aside, also of those without any record.
    unmeasured : int
        Number of nodes without recorded use, where other nodes have use.
    unlisted : int
        Number of containers that have a request and no row in ``container``; it is left out.
    """

    nodes: pl.DataFrame
    capacity: pl.DataFrame
    containers: pl.DataFrame
    requests: pl.DataFrame
    rules: pl.DataFrame
    set_aside: pl.Series
    unmeasured: int
    unlisted: int


def is_sized(store: Store) -> bool:
    """Whether a store lists containers, and records their requests or the sizes of nodes.

    A container without a request in a store that records nodes is one that requests nothing.
    """
    sizes = _rows(store, "container_resource") or _rows(store, "node_resource")
    return bool(sizes and _rows(store, "container"))


def records_nodes(store: Store) -> bool:
    """Whether a store records sizes of nodes."""
    return bool(_rows(store, "node_resource"))


def used_by_others(store: Store) -> bool:
    """Whether use comes as fractions from a source that lists no containers, such as CTM21.

    Samples of use tell then when containers come and go.
    """
    listing = {entry.release for entry in store.manifest.parts("container") if entry.rows}
    using = {entry.release for entry in store.manifest.stated("container_usage")}
    return bool(using - listing)


def _rows(store: Store, table: str) -> int:
    return sum(entry.rows for entry in store.manifest.parts(table))


def sizes_of(store: Store) -> Sizes:
    """Read the tables.

    Raises
    ------
    TracekitError
        When most containers that ask for something are not listed.
    """
    containers = read(store, "container").sort("time_ms", "position", "container")
    containers = containers.unique("container", keep="last", maintain_order=True)
    requests = read(store, "container_resource").sort("container", "resource", _MS)
    requests = requests.unique(["container", "resource"], keep="first", maintain_order=True)
    unlisted = _unlisted(store, requests, containers)
    requests = requests.join(containers, on="container", how="semi", maintain_order="left")
    nodes, capacity = nodes_of(read(store, "node"), read(store, "node_resource"), begins_ms(store))
    bare, silent = without_size(nodes, capacity), never_ran.silent(store, nodes)
    set_aside = pl.concat([bare["node"], silent["node"]]).unique(maintain_order=True)
    nodes = nodes.filter(~pl.col("node").is_in(set_aside.implode()))
    if set_aside.len() and not nodes.height:
        raise TracekitError(
            f"no node states both its CPU and its memory ({set_aside.len():,} nodes)",
            hint="tracekit check STORE says what was rejected",
        )
    return Sizes(
        nodes=nodes,
        capacity=capacity.filter(~pl.col("node").is_in(set_aside.implode())),
        containers=containers,
        requests=requests,
        rules=read(store, "sharing_rule").sort("holder", "guest", _MS),
        set_aside=set_aside,
        unmeasured=never_ran.without_use(store, nodes).height,
        unlisted=unlisted,
    )


def _unlisted(store: Store, requests: pl.DataFrame, containers: pl.DataFrame) -> int:
    """How many containers have a request and no row in ``container``, because the row was broken.

    Raises TracekitError if that is most containers: their rows are rejects, or the file that lists
    containers is missing.
    """
    asking = requests["container"].unique().sort()
    strange = asking.filter(~asking.is_in(containers["container"].implode()))
    if 2 * strange.len() > asking.len():
        more = strange.len() - 1
        others = f", nor {'is' if more == 1 else 'are'} {counted(more, 'other')}" * (more > 0)
        broken = broken_rows(store.manifest.parts("container"))
        first = broken[0].about if broken else {}
        why = f"; their rows are likely rejects, the first {first['example']}" if broken else ""
        raise TracekitError(
            f"container '{strange[0]}' has a request and is not in the table container{others} of"
            f" {asking.len():,} with a request{why}",
            hint=f"each broken row: {_REJECTS}; mend these, and ingest all into a new store"
            if broken
            else "ingest the file that lists containers with their times too",
        )
    return strange.len()
