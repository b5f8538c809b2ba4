"""Virtual machines for 1,710 servers of two NUMA cells, with groups that keep apart or together.

Facts: mdl1104/Dataset-for-topology-aware-VM-placement (README, PM_res, VM_data_C1..5,
topology_provider).
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import PurePath

import polars as pl

from tracekit.sources import ClusterFile, ClusterSource
from tracekit.sources._cluster import Batch, Head, Opened, Read
from tracekit.sources._objects import as_csv, is_workbook
from tracekit.sources._rows import Delimited, Rule, frames, long, missing, refuse
from tracekit.units import BYTES_PER_GIB

_SERVERS = ("CPU1", "RAM1", "CPU2", "RAM2")
_REQUESTS = ("flavor_vcpus", "flavor_ram", "numa", "strategy", "group", "domain")
_HOSTS = ("host_id", "rack_id")
_NOTHING = ("", "nan", "NaN")
_GB = float(BYTES_PER_GIB)
_GROUPED = pl.col("strategy").is_not_null()
_SPREAD = pl.col("strategy") == "fault_domain"


def is_servers(head: Head) -> bool:
    """Whether a file is PM_res."""
    return _is(head, _SERVERS, r"pm_res")


def is_requests(head: Head) -> bool:
    """Whether a file is VM_data_C1 to C5."""
    return _is(head, _REQUESTS, r"vm_data_c\d+")


def is_topology(head: Head) -> bool:
    """Whether a file is topology_provider."""
    return _is(head, _HOSTS, r"topology_provider")


def _is(head: Head, columns: tuple[str, ...], stem: str) -> bool:
    if is_workbook(head):
        return re.fullmatch(stem, PurePath(head.name).stem.lower()) is not None
    return tuple(head.fields()) == columns


def read_servers(opened: Opened) -> Read:
    """Nodes in the order of the file, with free cores and bytes: whole, and of cells 0 and 1."""
    form = Delimited(columns=_SERVERS, numbers=_SERVERS, header=True, table="node_resource")
    for rows, broken in frames(as_csv(opened), form):
        yield from broken
        good, refused = refuse(rows, missing(*_SERVERS, expected="a number"), form.table)
        yield from refused
        named = good.with_columns(
            pl.format("server-{}", _number()).alias("node"), pl.lit(0).alias("time_ms")
        )
        position = (pl.col("line") - 2).alias("position")
        yield Batch(table="node", rows=named.select("time_ms", "node", position, "line"))
        yield Batch(table="node_resource", rows=_cells(named))


def _cells(rows: pl.DataFrame) -> pl.DataFrame:
    keys, cpu, memory = ("time_ms", "node", "cell"), ("cpu", "cores", 1.0), ("memory", "bytes", _GB)
    whole = rows.with_columns(
        pl.lit(None, dtype=pl.String).alias("cell"),
        (pl.col("CPU1") + pl.col("CPU2")).alias("cores"),
        (pl.col("RAM1") + pl.col("RAM2")).alias("ram"),
    )
    parts = [long(whole, keys, {"cores": cpu, "ram": memory})]
    for cell in (0, 1):
        of_cell = rows.with_columns(pl.lit(str(cell)).alias("cell"))
        parts.append(long(of_cell, keys, {f"CPU{cell + 1}": cpu, f"RAM{cell + 1}": memory}))
    return pl.concat(parts)


def _number() -> pl.Expr:
    """The row's number counted from 0, in four digits: names sort as the file does."""
    return (pl.col("line") - 2).cast(pl.String).str.zfill(4)


def read_requests(opened: Opened) -> Read:
    """Containers, what they request, and the rules between the fault domains of a group."""
    problem = _problem(opened.name)
    form = Delimited(
        columns=_REQUESTS,
        numbers=[name for name in _REQUESTS if name != "strategy"],
        header=True,
        table="container",
        empty=_NOTHING,
    )
    spread: dict[tuple[int, int], int] = {}
    for rows, broken in frames(as_csv(opened), form):
        yield from broken
        good, refused = refuse(rows, _rules(), form.table)
        yield from refused
        named = good.with_columns(
            pl.format("{}/{}", pl.lit(problem), _number()).alias("container"),
            pl.lit(0).alias("time_ms"),
            pl.col("group", "domain").cast(pl.Int64),
        )
        yield Batch(table="container", rows=_containers(named, problem))
        amounts = {
            "flavor_vcpus": ("cpu", "cores", 1.0),
            "flavor_ram": ("memory", "bytes", _GB),
        }
        requests = long(named, ("time_ms", "container"), amounts).rename({"amount": "request"})
        yield Batch(table="container_resource", rows=requests)
        for group, domain, line in (
            named.filter(_SPREAD).select("group", "domain", "line").iter_rows()
        ):
            spread.setdefault((group, domain), line)
    yield Batch(table="sharing_rule", rows=_apart(spread, problem))


def _problem(name: str) -> str:
    """The problem that a file poses, c1 to c5; its whole name for a file of another name."""
    stem = PurePath(PurePath(name).name.removesuffix(".gz")).stem.lower()
    found = re.fullmatch(r"vm_data_(c\d+)", stem)
    return found[1] if found else stem


def _rules() -> Iterator[Rule]:
    yield from missing("flavor_vcpus", "flavor_ram", "numa", expected="a number")
    yield Rule(column="numa", broken=~pl.col("numa").is_in([1.0, 2.0]), expected="1 or 2")
    strategies = ["affinity", "anti-affinity", "fault_domain"]
    yield Rule(
        column="strategy",
        broken=~pl.col("strategy").is_in(strategies),
        expected=" or ".join([*strategies, "none"]),
    )
    yield Rule(
        column="group",
        broken=_GROUPED & pl.col("group").is_null(),
        expected="the number of the group",
    )
    yield Rule(
        column="domain",
        broken=_SPREAD & pl.col("domain").is_null(),
        expected="the number of the fault domain",
    )


def _containers(rows: pl.DataFrame, problem: str) -> pl.DataFrame:
    group = pl.format("{}/{}/{}", pl.lit(problem), "strategy", "group")
    apart = pl.col("strategy") == "anti-affinity"
    return rows.select(
        "time_ms",
        "container",
        pl.when(_SPREAD)
        .then(pl.format("{}/{}", group, "domain"))
        .otherwise(group)
        .alias("service"),
        (pl.col("line") - 2).alias("position"),
        pl.when(apart).then(group).alias("apart"),
        pl.when(apart).then(pl.lit("node")).alias("apart_domain"),
        pl.col("numa").alias("numa_cells"),
        "line",
    )


def _apart(spread: dict[tuple[int, int], int], problem: str) -> pl.DataFrame:
    """A rule for each ordered pair of fault domains of one group: none beside the other."""
    rows = [
        {
            "time_ms": 0,
            "holder": f"{problem}/fault_domain/{group}/{one}",
            "guest": f"{problem}/fault_domain/{group}/{other}",
            "most": 0,
            "line": max(spread[group, one], spread[group, other]),
        }
        for group, pairs in itertools.groupby(sorted(spread), key=lambda pair: pair[0])
        for one, other in itertools.permutations([domain for _, domain in pairs], 2)
    ]
    schema = {"time_ms": pl.Int64, "holder": pl.String, "guest": pl.String}
    return pl.DataFrame(rows, schema={**schema, "most": pl.Int64, "line": pl.Int64})


def read_topology(opened: Opened) -> Read:
    """Nodes with their racks; none beside the servers, which are others and would be joined."""
    form = Delimited(
        columns=_HOSTS, numbers=("rack_id",), header=True, table="node", empty=_NOTHING
    )
    for rows, broken in frames(as_csv(opened), form):
        yield from broken
        good, refused = refuse(rows, missing("host_id", "rack_id"), form.table)
        yield from refused
        if opened.beside.get("servers"):
            continue
        yield Batch(
            table="node",
            rows=good.select(
                pl.lit(0).alias("time_ms"),
                pl.col("host_id").alias("node"),
                pl.format("rack-{}", pl.col("rack_id").cast(pl.Int64)).alias("rack"),
                "line",
            ),
        )


SOURCE = ClusterSource(
    name="huawei_topology25",
    title="Huawei topology-aware 2025: five lists of 4,998 VMs for 1,710 servers with NUMA cells",
    url="https://github.com/mdl1104/Dataset-for-topology-aware-VM-placement",
    missing_names=frozenset({"", "nan"}),
    licence="CC0-1.0 (upstream asks to be cited)",
    files=(
        ClusterFile(
            word="servers",
            title="free cores and GB of the two NUMA cells of each server",
            tables=("node", "node_resource"),
            recognises=is_servers,
            read=read_servers,
        ),
        ClusterFile(
            word="requests",
            title="VM requests in order of arrival",
            tables=("container", "container_resource", "sharing_rule"),
            recognises=is_requests,
            read=read_requests,
            alone=True,
        ),
        ClusterFile(
            word="topology",
            title="racks of 17,387 other hosts, left out beside the servers",
            tables=("node",),
            recognises=is_topology,
            read=read_topology,
        ),
    ),
    lacks=(
        "times: the requests have an order of arrival only; all arrive at 0",
        "departures",
        "usage",
        "placement",
        "racks of the 1,710 servers: topology_provider names other hosts",
        "sizes of the 17,387 hosts of topology_provider",
    ),
    inferred=(
        "a GB is 2^30 bytes",
        "numa 1: the whole VM on one cell; numa 2: half of it on each of two cells",
        "anti-affinity: members of a group share no server",
        "affinity: no rule, since many groups fit no server and no server's rack is known",
        "fault_domain: members of a group with different domains share no server",
        "server-0000 is the first row of PM_res; c1/0000 the first row of VM_data_C1",
    ),
    notes=(
        "capacity is what was free, not the size of the servers",
        "VM_data_C1 to C5 are five problems: ingest one of them per store; ids begin with c1/, c2/",
        "the service of a VM says of which group it is: c1/affinity/3",
    ),
)
