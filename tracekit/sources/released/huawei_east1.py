"""Virtual machines that are created and deleted in one region of Huawei Cloud over 30 days.

Facts: huaweicloud/VM-placement-dataset, Huawei-East-1 (README).
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Broken, Head, Opened, Read
from tracekit.sources._rows import Rule, long, missing, refuse, seconds
from tracekit.sources.released._lines import named, together
from tracekit.units import BYTES_PER_GIB, BYTES_PER_KIB

_COLUMNS = ("vmid", "cpu", "memory", "time", "type")
_GB = float(BYTES_PER_GIB)
_CREATE, _DELETE = 0.0, 1.0
#: A VM with so many cores is none, but one millicore by millicore.
_CORES = 1000
#: A VM with so many GB for each of its cores is none either: the largest have 32.
_GB_PER_CORE = 128
_UNITS = {"cpu": "cores", "memory": "GB"}
#: What is larger than any VM, and from where on.
_TOO_LARGE = (
    ("cpu", pl.col("cpu") >= _CORES, f"{_CORES:,} cores"),
    ("memory", pl.col("memory") >= pl.col("cpu") * _GB_PER_CORE, f"{_GB_PER_CORE} GB per core"),
)


def is_events(head: Head) -> bool:
    """Whether a file has the columns of Huawei-East-1, and no other."""
    found = [name for name in head.fields() if name]
    return sorted(found) == sorted(_COLUMNS)


def read_events(opened: Opened) -> Read:
    """The containers in the order of their creation, and what they request."""
    lines = named(opened, ("vmid",), _COLUMNS[1:], "container", empty=("",))
    rows, broken = together(lines)
    _check_units(opened.name, rows)
    yield from broken
    good, refused = refuse(rows, _rules(), "container")
    yield from refused
    created, deleted, refused = _paired(good)
    yield from refused
    vms = created.join(deleted, on="vmid", how="left", maintain_order="left").with_columns(
        pl.col("vmid").alias("container"),
        (pl.col("time") * 1000).cast(pl.Int64).alias("time_ms"),
        (pl.col("deleted") * 1000).cast(pl.Int64).alias("departure_ms"),
    )
    columns = ("container", "time_ms", "departure_ms", "line")
    yield Batch(table="container", rows=vms.select(columns).with_row_index("position"))
    units = {"cpu": ("cpu", "cores", 1.0), "memory": ("memory", "bytes", _GB)}
    requests = long(vms, ("time_ms", "container"), units)
    yield Batch(table="container_resource", rows=requests.rename({"amount": "request"}))


def _check_units(name: str, rows: pl.DataFrame) -> None:
    """Raise TracekitError where most VMs are larger than any is."""
    sized = rows.filter((pl.col("cpu") > 0) & (pl.col("memory") > 0))
    for column, large, limit in _TOO_LARGE:
        above = sized.filter(large)
        if 2 * above.height <= sized.height:
            continue
        likely = "millicores" if column == "cpu" else _likely(above)
        raise TracekitError(
            f"{name}: {column} is in {_UNITS[column]}, but {above.height:,} of {sized.height:,}"
            f" values are {limit} or more, {above[column][0]:,.10g} for example",
            hint=f"it looks like {likely}; nothing of the file was taken in",
        )


def _likely(rows: pl.DataFrame) -> str:
    """The unit of memory that is too much in GB."""
    per_core = (rows["memory"] / rows["cpu"]).to_numpy()
    return "MB" if float(np.median(per_core)) < _GB_PER_CORE * BYTES_PER_KIB else "bytes"


def _rules() -> Iterator[Rule]:
    yield from missing("vmid", "time", "type")
    yield from seconds("time")
    yield Rule(
        column="type",
        broken=~pl.col("type").is_in([_CREATE, _DELETE]),
        expected="0 (creation) or 1 (deletion)",
    )
    yield Rule(column="time", broken=~(pl.col("time") >= 0), expected="a second of the trace")
    for size in ("cpu", "memory"):
        wrong = (pl.col("type") == _CREATE) & ~(pl.col(size) > 0).fill_null(value=False)
        yield Rule(column=size, broken=wrong, expected="a size above 0")
    for column, large, limit in _TOO_LARGE:
        wrong = (pl.col("type") == _CREATE) & large
        yield Rule(column=column, broken=wrong, expected=f"less than {limit}")


def _paired(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, list[Broken]]:
    """Creations, the deletion of each VM (vmid, deleted), and rows that go with no other."""
    first = pl.col("line") == pl.col("line").min().over("vmid", "type")
    twice = Rule(column="vmid", broken=~first, expected="an id that comes once with each type")
    once, broken = refuse(rows, [twice], "container")
    created = once.filter(pl.col("type") == _CREATE)
    since = created.select("vmid", pl.col("time").alias("since"))
    deleted = once.filter(pl.col("type") == _DELETE).join(
        since, on="vmid", how="left", maintain_order="left"
    )
    rules = [
        Rule(column="vmid", broken=pl.col("since").is_null(), expected="a VM that was created"),
        Rule(
            column="time",
            broken=pl.col("time") < pl.col("since"),
            expected="a time behind its creation",
        ),
    ]
    deleted, refused = refuse(deleted, rules, "container")
    return created, deleted.select("vmid", pl.col("time").alias("deleted")), [*broken, *refused]


SOURCE = ClusterSource(
    name="huawei_east1",
    title="Huawei-East-1: 125,430 VMs created and 116,313 deleted in 30 days",
    url="https://github.com/huaweicloud/VM-placement-dataset",
    missing_names=frozenset({""}),
    licence="CC-BY-NC: fetch it yourself, no commercial use",
    files=(
        ClusterFile(
            word="events",
            title="creations and deletions of VMs",
            tables=("container", "container_resource"),
            recognises=is_events,
            read=read_events,
        ),
    ),
    lacks=(
        "machines and their sizes",
        "usage",
        "placement",
        "services and tenants",
        "which of the small VMs share cores",
    ),
    inferred=("a GB is 2^30 bytes", "a VM that is never deleted stays"),
    notes=(
        "requests are cores as sold; many small VMs share cores, so machines hold more of them",
        "a sharing VM takes 1/4 to 1/2 of its cores, says upstream; VMAgent reckons with 1/3",
        "60 to 90 % of the VMs of a small flavour share cores, says upstream",
    ),
)
