"""Virtual machines of Azure with their lives, sizes and CPU use, as released for 2017 and 2019.

Facts: Azure/AzurePublicDataset, AzurePublicDatasetV1.md and V2.md, and their notebooks.
"""

from collections.abc import Iterator

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Opened, Read
from tracekit.sources._rows import Rule, frames, long, missing, refuse
from tracekit.sources._shape import INTEGER, REAL, Shape
from tracekit.units import BYTES_PER_GIB

_ID = r"[A-Za-z0-9+/]{20,}=*"
_BUCKET = r">?[\d.]+"

VMS = Shape(
    (
        ("vm", _ID), ("", f"{_ID}|"), ("deployment", f"{_ID}|"), ("created", INTEGER),
        ("deleted", INTEGER), ("", REAL), ("", REAL), ("", REAL), ("", "[A-Za-z -]*"),
        ("cores", _BUCKET), ("memory", _BUCKET),
    )
)  # fmt: skip
READINGS = Shape((("time", INTEGER), ("vm", _ID), ("", REAL), ("", REAL), ("average", REAL)))

_GB = float(BYTES_PER_GIB)
#: What upstream's notebook puts for the open bucket of each size.
_OPEN = {"cores": (">24", 30.0), "memory": (">64", 70.0)}
#: VMs that are still there are told to be deleted with the last reading, of 2017 or of 2019.
_END_S = 2_591_400
_STEP_S = 300


def read_vms(opened: Opened) -> Read:
    """The containers and what they request."""
    form = VMS.form("container", ("created", "deleted"))
    for rows, broken in frames(opened, form):
        yield from broken
        good, refused = refuse(rows, _rules(), form.table)
        yield from refused
        vms = good.with_columns(
            pl.col("vm").alias("container"),
            (pl.col("created") * 1000).cast(pl.Int64).alias("time_ms"),
            *(_size(name).alias(name) for name in _OPEN),
        )
        yield Batch(table="container", rows=_containers(vms))
        units = {"cores": ("cpu", "cores", 1.0), "memory": ("memory", "bytes", _GB)}
        requests = long(vms, ("time_ms", "container"), units)
        yield Batch(table="container_resource", rows=requests.rename({"amount": "request"}))


def _size(name: str) -> pl.Expr:
    bucket, value = _OPEN[name]
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(pl.col(name) == bucket).then(value).otherwise(number)


def _rules() -> Iterator[Rule]:
    yield from missing("vm", "created", "deleted")
    for name, (bucket, _) in _OPEN.items():
        wrong = _size(name).is_null() | ~(_size(name) > 0)
        yield Rule(column=name, broken=wrong, expected=f"a size above 0, or {bucket}")
    early = pl.col("deleted") < pl.col("created")
    yield Rule(column="deleted", broken=early, expected="a time behind its creation")


def _containers(vms: pl.DataFrame) -> pl.DataFrame:
    end = pl.max_horizontal("deleted", pl.col("created") + _STEP_S) * 1000
    return vms.select(
        "time_ms",
        "container",
        pl.col("deployment").alias("service"),
        (pl.col("line") - 1).alias("position"),
        pl.when(pl.col("deleted") < _END_S).then(end.cast(pl.Int64)).alias("departure_ms"),
        "line",
    )


def read_readings(opened: Opened) -> Read:
    """Mean CPU use of each VM over 300 s, in cores: the VMs beside it say of how many.

    Raises
    ------
    TracekitError
        When no table of VMs is ingested with it.
    """
    form = READINGS.form("container_amount", ("time", "average"))
    sizes = _cores(opened)
    for rows, broken in frames(opened, form):
        yield from broken
        good, refused = refuse(rows, missing("time", "vm", "average"), form.table)
        yield from refused
        known = good.join(sizes, on="vm").sort("line")
        if known.height < good.height:
            strange = good.join(sizes, on="vm", how="anti")
            rule = Rule(column="vm", broken=pl.lit(value=True), expected="a VM of vmtable")
            yield from refuse(strange, [rule], form.table)[1]
        samples = known.with_columns(
            (pl.col("time") * 1000).cast(pl.Int64).alias("time_ms"),
            pl.col("vm").alias("container"),
            (pl.col("average") * pl.col("cores") / 100).alias("used"),
        )
        units = {"used": ("cpu", "cores", 1.0)}
        yield Batch(table="container_amount", rows=long(samples, ("time_ms", "container"), units))


def _cores(opened: Opened) -> pl.DataFrame:
    """How many vCPUs each VM has: vm, cores."""
    form = VMS.form("container", ("created", "deleted"))
    found = [
        refuse(rows, _rules(), form.table)[0].select("vm", _size("cores").alias("cores"))
        for table in opened.beside.get("vms", ())
        for rows, _ in frames(table, form)
    ]
    if not found:
        raise TracekitError(
            f"{opened.name}: readings in percent of a VM's vCPUs, and no vmtable beside them",
            hint="put vmtable.csv.gz into the same folder and ingest the folder",
        )
    return pl.concat(found).unique("vm", keep="first")


SOURCE = ClusterSource(
    name="azure_vm17",
    title="Azure VM traces of 2017 and 2019: 2.0 and 2.7 million VMs of 30 days, CPU every 300 s",
    url="https://github.com/Azure/AzurePublicDataset/blob/master/AzurePublicDatasetV1.md",
    missing_names=frozenset({""}),
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="vms",
            title="VMs: life, vCPUs, memory",
            tables=("container", "container_resource"),
            recognises=VMS.fits,
            read=read_vms,
        ),
        ClusterFile(
            word="readings",
            title="CPU use of VMs over 300 s",
            tables=("container_amount",),
            recognises=READINGS.fits,
            read=read_readings,
        ),
    ),
    lacks=(
        "machines and their sizes",
        "placement",
        "memory use, disks, network",
        "least and largest CPU use of the 300 s, categories, subscriptions: not read",
        "exact sizes in the release of 2019: vCPUs and GB are buckets",
    ),
    inferred=(
        "a bucket counts as its upper bound",
        ">24 vCPUs are 30 and >64 GB are 70, as in upstream's notebook",
        "a GB is 2^30 bytes",
        "a VM that is deleted at 2,591,400 s or later outlives the trace: it stays",
        "a VM lives 300 s at least, as in upstream's notebook",
    ),
    notes=(
        "VMs of time 0 were there before",
        "readings are percent of a VM's vCPUs: ingest them with the VM table, which says how many",
        "the service of a VM is its deployment",
    ),
)
