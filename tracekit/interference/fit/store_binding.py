"""Bindings that a store records: vCPUs of containers, and how nodes are built."""

from pathlib import Path

import polars as pl

from tracekit.interference.fit.binding import Binding, binding_of
from tracekit.interference.fit.rows import NothingToFitError
from tracekit.interference.fit.topology_file import Topologies, read_topologies
from tracekit.interference.vcpu.topology import linux_numbering, parse_cpu_list
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database
from tracekit.store.sqlfiles import get_query

BINDINGS = "interference/bindings"


def records_bindings(store: Store, engine: str | None = None) -> bool:
    """Whether the store says of some container which vCPUs it was bound to."""
    if not store.manifest.parts("container"):
        return False
    with open_database(store, engine) as database:
        found = database.frame("SELECT count(vcpus) AS bound FROM container_keyed", {})
    return bool(found["bound"][0])


def binding_of_store(
    store: Store,
    topology: Path | None,
    *,
    sockets: int,
    threads_per_core: int,
    engine: str | None = None,
) -> Binding:
    """The bindings of a store that can be believed.

    Parameters
    ----------
    topology : Path, optional
        How nodes are built: see ``fit.topology_file``. Without it, by Linux's usual rule
        from their recorded cores with ``sockets`` and ``threads_per_core``; cores that do not
        divide evenly are left out.

    Raises
    ------
    TracekitError
        When no row is sound, or the topology file cannot be used.
    """
    with open_database(store, engine) as database:
        found = database.frame(get_query(BINDINGS).text, {})
    if found.is_empty():
        raise NothingToFitError(
            "the store records vCPUs of containers, but no use of those containers",
            hint="ingest their use too; info says what is recorded: tracekit info STORE",
        )
    topologies = (
        _built(found, sockets, threads_per_core) if topology is None else read_topologies(topology)
    )
    rows = found.select(
        pl.col("container").alias("instance_id"),
        pl.col("node").alias("node_ip"),
        pl.col("vcpus").alias("cpu_list"),
        (pl.col("cpu_fraction") * _per_vcpu(found)).alias("cpu_util"),
        "service",
        "time_ms",
    )
    return binding_of(
        rows.with_columns(pl.all().cast(pl.String)),
        topologies,
        "the store",
        hint="say how nodes are built: --sockets and --threads of a core, or --topology FILE",
    )


def _per_vcpu(rows: pl.DataFrame) -> pl.Expr:
    """Use of the request, converted to use of the container's own vCPUs."""
    many = {text: _count(text) for text in rows["vcpus"].unique()}
    vcpus = pl.col("vcpus").replace_strict(many, return_dtype=pl.Float64)
    return (pl.col("request_cores") / vcpus).fill_null(1.0)


def _count(text: str) -> float | None:
    try:
        return float(len(parse_cpu_list(text)))
    except ValueError:
        return None


def _built(rows: pl.DataFrame, sockets: int, threads_per_core: int) -> Topologies:
    unit = sockets * threads_per_core
    found = Topologies()
    sizes = rows.select("node", "node_cores").drop_nulls().unique("node").sort("node")
    made = {}
    for node, cores in sizes.iter_rows():
        vcpus = int(cores) // unit * unit
        if vcpus and vcpus not in made:
            made[vcpus] = linux_numbering(vcpus, sockets, threads_per_core)
        if vcpus:
            found[node] = made[vcpus]
    return found
