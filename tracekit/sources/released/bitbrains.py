"""Virtual machines of business-critical workloads in a Bitbrains data centre, GWA-T-12.

Facts: Shen, van Beek, Iosup, "Statistical Characterization of Business-Critical Workloads Hosted in
Cloud Datacenters", CCGrid 2015; the archive's page names the columns.
"""

from dataclasses import dataclass

import polars as pl

from tracekit.sources._cluster import Batch, ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.sources._rows import Delimited, Rule, amounts, frames, long, missing, refuse
from tracekit.units import BYTES_PER_KIB, SECONDS_UP_TO

_KIB = float(BYTES_PER_KIB)
HEADER = (
    "Timestamp [ms]",
    "CPU cores",
    "CPU capacity provisioned [MHZ]",
    "CPU usage [MHZ]",
    "CPU usage [%]",
    "Memory capacity provisioned [KB]",
    "Memory usage [KB]",
    "Disk read throughput [KB/s]",
    "Disk write throughput [KB/s]",
    "Network received throughput [KB/s]",
    "Network transmitted throughput [KB/s]",
)
_COLUMNS = (
    "time",
    "cores",
    "provisioned_mhz",
    "used_mhz",
    "",
    "provisioned_kb",
    "used_kb",
    "read_kb",
    "write_kb",
    "received_kb",
    "sent_kb",
)
_FORM = Delimited(
    columns=_COLUMNS,
    numbers=[name for name in _COLUMNS if name],
    separator=";",
    header=True,
    table="container_amount",
)
_STEP_MS = 300_000
_SIZES = {"cores": ("cpu", "cores", 1.0), "provisioned_kb": ("memory", "bytes", _KIB)}
_AMOUNTS = {
    "used_cores": ("cpu", "cores", 1.0),
    "used_kb": ("memory", "bytes", _KIB),
    "disk_kb": ("disk_io", "bytes/s", _KIB),
    "received_kb": ("net_in", "bytes/s", _KIB),
    "sent_kb": ("net_out", "bytes/s", _KIB),
}
#: Samples are means, and a clock may be above its nominal rate: no more than so much of all.
_MOST_OF_ALL = 4
_RULES = (
    *missing("time", "cores", "provisioned_mhz"),
    Rule(
        column="used_mhz",
        broken=(pl.col("provisioned_mhz") <= 0) & (pl.col("used_mhz") > 0),
        expected="0, as no CPU is provisioned",
    ),
    *amounts("used_mhz", "used_kb"),
    *(
        Rule(
            column=used,
            broken=(pl.col(have) > 0) & (pl.col(used) > _MOST_OF_ALL * pl.col(have)),
            expected=f"at most {_MOST_OF_ALL:g} times what is provisioned ({have})",
        )
        for used, have in (("used_mhz", "provisioned_mhz"), ("used_kb", "provisioned_kb"))
    ),
)


@dataclass(kw_only=True)
class _Life:
    """The state of the machine after some blocks of its file."""

    first_ms: int
    last_ms: int
    line: int
    sizes: pl.DataFrame


def read_vm(opened: Opened) -> Read:
    """The machine's life, what is provisioned whenever that changes, and what it uses."""
    name = opened.name.rsplit("/", 1)[-1].removesuffix(".gz").removesuffix(".csv")
    life: _Life | None = None
    for frame, broken in frames(opened, _FORM):
        yield from broken
        kept, refused = refuse(frame, _RULES, "container_amount")
        yield from refused
        if not kept.height:
            continue
        rows = _measured(kept, name)
        yield Batch(table="container_amount", rows=long(rows, ("time_ms", "container"), _AMOUNTS))
        known = pl.concat([life.sizes, rows]) if life else rows
        changed = _changes(known).filter(pl.col("line") >= rows["line"][0])
        yield Batch(table="container_resource", rows=_requests(changed))
        life = _lived(life, rows)
    if life is not None:
        yield Batch(table="container", rows=_container(life, name))


def _measured(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Adds times in ms, cores in use, and the sum of both directions of the disk."""
    seconds = pl.col("time") <= SECONDS_UP_TO
    busy = pl.col("used_mhz") / pl.col("provisioned_mhz") * pl.col("cores")
    idle = (pl.col("provisioned_mhz") <= 0) & pl.col("used_mhz").is_not_null()
    return frame.with_columns(
        pl.when(seconds)
        .then(pl.col("time") * 1000)
        .otherwise("time")
        .cast(pl.Int64)
        .alias("time_ms"),
        pl.lit(name).alias("container"),
        pl.when(idle).then(0.0).otherwise(busy).alias("used_cores"),
        (pl.col("read_kb") + pl.col("write_kb")).alias("disk_kb"),
    )


def _changes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows at which something else is provisioned than in the row before; always the first."""
    same = (pl.col(name).eq_missing(pl.col(name).shift(1)) for name in _SIZES)
    return rows.filter(~pl.all_horizontal(same) | (pl.int_range(pl.len()) == 0))


def _requests(rows: pl.DataFrame) -> pl.DataFrame:
    return long(rows, ("time_ms", "container"), _SIZES).rename({"amount": "request"})


def _lived(life: _Life | None, rows: pl.DataFrame) -> _Life:
    first, last = int(rows["time_ms"].min()), int(rows["time_ms"].max())  # type: ignore[arg-type]
    return _Life(
        first_ms=min(life.first_ms, first) if life else first,
        last_ms=max(life.last_ms, last) if life else last,
        line=life.line if life else rows["line"][0],
        sizes=rows.tail(1),
    )


def _container(life: _Life, name: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time_ms": [life.first_ms],
            "container": [name],
            "departure_ms": [life.last_ms + _STEP_MS],
            "line": [life.line],
        }
    )


def _is_vm(head: Head) -> bool:
    return tuple(head.fields(";")) == HEADER


SOURCE = ClusterSource(
    name="bitbrains",
    title="Bitbrains GWA-T-12: 1,750 virtual machines with CPU, memory, disk and network use",
    url="https://atlarge-research.com/gwa-t-12/",
    missing_names=frozenset({""}),
    licence="Grid Workloads Archive: free for research, cite the paper",
    files=(
        ClusterFile(
            word="vm",
            title="one virtual machine's provisions and use",
            tables=("container", "container_resource", "container_amount"),
            recognises=_is_vm,
            read=read_vm,
        ),
    ),
    lacks=("nodes", "placement", "services", "limits"),
    inferred=(
        "cores in use: MHz in use / MHz provisioned x cores provisioned",
        "arrival and departure of a machine: its first sample, and 300 s after its last",
    ),
    notes=(
        "times are seconds since 1970, though the header says ms; above 1e11 they are taken as ms",
        "KB is taken as 1,024 bytes: provisioned memory then comes in whole GiB",
        "a machine is named by its file, so that each month of rnd belongs in a store of its own",
    ),
)
