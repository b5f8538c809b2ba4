"""The simulation set of the sizing study: call chains with the usage of the containers on them.

Yao et al., C.S.A. 2023 32(4), section 3.1: a call table (timestamp, UM, DM, calls) and container
states (timestamp, containerID, cpuNeed, memNeed). Where the study leaves a choice, the functions
below name the choice made here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tracekit.analysis.callgraph import CHAINS
from tracekit.analysis.callgraph.chains import (
    Chain,
    ChainCounter,
    choose,
    rated_calls,
    signature,
    signatures,
)
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.ledger import Tally
from tracekit.analysis.callgraph.places import StoreNames
from tracekit.analysis.callgraph.records import Part, chunks, open_parts
from tracekit.analysis.callgraph.run import calls_frame
from tracekit.base.constants import STEP_MS
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import scan_parquet
from tracekit.base.files.replacing import replaced_file
from tracekit.base.progress import SILENT, Progress, Task
from tracekit.base.shown import Shown
from tracekit.store.folder import Store

#: Usage 1.0 of a container's own size is taken to be this many cores, or GB.
NEED_AT_FULL_USE = 4.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Exported(Shown):
    """What ``export`` wrote: the numbers of chains, containers and rows, and the file names."""

    chains: int
    containers: int
    call_rows: int
    state_rows: int
    files: tuple[str, ...]


def export(
    store: Store, out: Path, *, chains: int = CHAINS, progress: Progress = SILENT
) -> Exported:
    """Write ``calltable.csv``, ``containerState.csv`` and ``chains.csv`` to a folder.

    A chain is the set of edges (calls between two services) of some traces; both services have
    containers. The edges come from the graphs that ``rebuild`` makes in mode ``repair``.
    ``chains.choose`` chooses ``chains`` of them. Each chain gets one container of each of its
    services, which no other chain gets; containers with more samples come first.

    The calls of a period and edge come from ``chains.rated_calls``. The time of a row is the end of
    its period, because a sample of use at t covers the time before t (alibaba/clusterdata issue
    144). ``cpuNeed`` (cores) and ``memNeed`` (GB) are ``min(4 * f, 4)``, where f is the used
    fraction of the container's CPU or memory.

    Raises
    ------
    TracekitError
        When the store lacks calls or container usage, or no call goes between two services with
        containers.
    """
    frames = simulation_frames(store, chains=chains, progress=progress)
    out.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        with replaced_file(out / name, follow=False) as made:
            frame.write_csv(made)
    members = frames["chains.csv"]
    return Exported(
        chains=members["chain"].n_unique(),
        containers=members.height,
        call_rows=frames["calltable.csv"].height,
        state_rows=frames["containerState.csv"].height,
        files=tuple(frames),
    )


def simulation_frames(
    store: Store, *, chains: int = CHAINS, progress: Progress = SILENT
) -> dict[str, pl.DataFrame]:
    """Return the tables that ``export`` writes, by file name; raise the same errors."""
    parts = open_parts(store)
    hosts = _containers(store)
    with progress.task("export", None, "pieces") as task:
        counter = ChainCounter(hosts["service_key"].unique())
        for calls in _graphs(parts, task):
            counter.add(calls)
        spare = dict(hosts.group_by("service_key").len().rows())
        chosen = choose(counter.chains(), chains, spare)
        if not chosen:
            raise TracekitError(
                f"{store.path}: no call goes from one service with containers to another",
                hint="the names of services must be the same in calls and in containers; spans of"
                " Kubernetes need the attribute k8s.namespace.name, those of Alibaba MSResource",
            )
        members = _members(chosen, hosts)
        sampled = _call_table(parts, chosen, members, hosts["service_key"].unique(), task)
    table = rated_calls(store, sampled, STEP_MS)
    return _printed(StoreNames(store), table, _states(store, members["container_key"]), members)


def _graphs(parts: list[Part], task: Task) -> Iterator[pl.DataFrame]:
    for rows in chunks(parts):
        yield calls_frame(rebuild(rows))
        task.advance(1)


def _containers(store: Store) -> pl.DataFrame:
    """service_key, container_key; the containers of a service in falling order of samples."""
    from tracekit.store.query.database import Database  # noqa: PLC0415 - duckdb is slow to import

    with Database(store) as database:
        usage = database.frame(
            "SELECT service_key, container_key, count(*) AS samples FROM container_usage_keyed"
            " GROUP BY service_key, container_key"
            " ORDER BY service_key, samples DESC, container_key"
        )
    if not usage.height:
        raise TracekitError(
            f"{store.path} has no container usage, so no chain can be exported",
            hint="ingest the MSResource files too: tracekit ingest SRC STORE",
        )
    return usage


def _members(chosen: list[Chain], hosts: pl.DataFrame) -> pl.DataFrame:
    """The containers of each chain: chain (from 0), trace_key, traces, service_key, container_key.

    No container is in two chains.
    """
    lists = hosts.group_by("service_key").agg("container_key")
    waiting = {service: list(containers) for service, containers in lists.rows()}
    rows = [
        (number, chain.member, chain.traces, service, waiting[service].pop(0))
        for number, chain in enumerate(chosen)
        for service in chain.services
    ]
    names = ["chain", "trace_key", "traces", "service_key", "container_key"]
    columns = pl.DataFrame(rows, schema=names, orient="row")
    return columns.with_columns(pl.col("service_key", "container_key").cast(pl.Int32))


def _call_table(
    parts: list[Part], chosen: list[Chain], members: pl.DataFrame, services: pl.Series, task: Task
) -> pl.DataFrame:
    """timestamp, upstream and downstream container_key, calls; sorted."""
    numbers = pl.DataFrame(
        {"edges": [signature(c) for c in chosen], "chain": range(len(chosen))},
        schema={"edges": pl.String, "chain": pl.Int64},
    )
    tally = Tally(["timestamp", "um", "dm"])
    for calls in _graphs(parts, task):
        chain_of = (
            signatures(calls, services).join(numbers, on="edges").select("trace_key", "chain")
        )
        hosted = calls.join(chain_of, on="trace_key")
        for end, name in (("upstream_key", "um"), ("downstream_key", "dm")):
            host = members.select(
                "chain", pl.col("service_key").alias(end), pl.col("container_key").alias(name)
            )
            hosted = hosted.join(host, on=["chain", end])
        ends_ms = -(-pl.col("time_ms") // STEP_MS) * STEP_MS
        tally.add(
            hosted.filter(pl.col("um") != pl.col("dm"))
            .group_by(ends_ms.alias("timestamp"), "um", "dm")
            .agg(pl.col("repeats").sum().alias("calls"))
        )
    return tally.frame().sort("timestamp", "um", "dm")


def _printed(
    names: StoreNames, table: pl.DataFrame, states: pl.DataFrame, members: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """The tables with original ids and the column names of the study."""
    containers, services = names.of("container"), names.of("service")
    return {
        "calltable.csv": table.select(
            "timestamp",
            containers.gather(table["um"]).alias("UM"),
            containers.gather(table["dm"]).alias("DM"),
            "calls",
        ),
        "containerState.csv": states.select(
            "timestamp",
            containers.gather(states["container_key"]).alias("containerID"),
            "cpuNeed",
            "memNeed",
        ),
        "chains.csv": members.select(
            "chain",
            "traces",
            names.traces(members["trace_key"]).alias("member"),
            services.gather(members["service_key"]).alias("service"),
            containers.gather(members["container_key"]).alias("containerID"),
        ),
    }


def _states(store: Store, containers: pl.Series) -> pl.DataFrame:
    """timestamp, container_key, cpuNeed, memNeed; sorted."""
    files = [scan_parquet(path) for path in store.table_files("container_usage")]
    needs = {"cpu_fraction": "cpuNeed", "memory_fraction": "memNeed"}
    return (
        pl.concat(files)
        .filter(pl.col("container_key").is_in(containers.implode()))
        .select(
            pl.col("time_ms").alias("timestamp"),
            "container_key",
            *(
                (pl.col(name) * NEED_AT_FULL_USE).clip(upper_bound=NEED_AT_FULL_USE).alias(need)
                for name, need in needs.items()
            ),
        )
        .sort("timestamp", "container_key")
        .collect()
    )
