"""Inputs of the OpenDC simulator: workload traces and topologies.

Facts: atlarge-research/opendc, its documentation of input files and the tests' own data.
"""

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Batch, ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.sources._columns import named_frames
from tracekit.sources._rows import Rule, long, missing, refuse
from tracekit.sources.released import _opendc_topology as topology
from tracekit.units import BYTES_PER_KIB, BYTES_PER_MIB, MS_PER_S

_KIB = float(BYTES_PER_KIB)
_MIB = float(BYTES_PER_MIB)
TASKS = ("id", "submission_time", "duration", "cpu_count", "cpu_capacity", "mem_capacity")
FRAGMENTS = ("id", "duration", "cpu_usage")
#: No task asks for so much: a file that seems to say so counts in KB, not in MB.
_LARGEST_MB = 4 << 20
#: Submissions in between are seconds since 1970: in ms the first were 11 days after the start.
_SECONDS = (1_000_000_000, 100_000_000_000)
_KEYS = ("time_ms", "container")


def _positive(name: str) -> Rule:
    return Rule(column=name, broken=pl.col(name).cast(pl.Float64) <= 0, expected="more than 0")


def _second(seen: set[str]) -> Rule:
    """The rule that a task comes once: of two the first counts."""
    name = pl.col("id").cast(pl.String)
    again = name.is_in(list(seen)) | ~name.is_first_distinct()
    return Rule(column="id", broken=again, expected="an id that no task before has")


def read_tasks(opened: Opened) -> Read:
    """Tasks as containers that stay as long as they are to run, and what they ask for."""
    sizes = {
        "cpu_count": ("cpu", "cores", 1.0),
        "mem_capacity": ("memory", "bytes", _memory_unit(opened)),
        "gpu_count": ("gpu", "count", 1.0),
    }
    ms = _time_unit(opened)
    seen: set[str] = set()
    for frame, broken in named_frames(opened, "container", needed=TASKS):
        yield from broken
        rules = [*missing("id", "submission_time", "duration"), _positive("duration")]
        whole, refused = refuse(frame, rules, "container")
        yield from refused
        kept, again = refuse(whole, [_second(seen)], "container")
        yield from again
        seen.update(kept["id"].cast(pl.String))
        submitted = pl.col("submission_time").cast(pl.Int64) * ms
        rows = kept.with_columns(
            pl.col("id").cast(pl.String).alias("container"),
            submitted.alias("time_ms"),
            (submitted + pl.col("duration").cast(pl.Int64) * ms).alias("departure_ms"),
            pl.col("line").alias("position"),
        )
        yield Batch(
            table="container",
            rows=rows.select("time_ms", "container", "departure_ms", "position", "line"),
        )
        stated = {name: size for name, size in sizes.items() if name in rows.columns}
        requests = long(rows, _KEYS, stated).rename({"amount": "request"})
        yield Batch(table="container_resource", rows=requests)


def _memory_unit(opened: Opened) -> float:
    """Bytes of one unit of memory in a file of tasks: MB as documented, or KB."""
    frames = (frame for frame, _ in named_frames(opened, "container", needed=TASKS))
    asked = [frame["mem_capacity"].cast(pl.Float64).max() for frame in frames]
    larger = any(float(str(one)) > _LARGEST_MB for one in asked if one is not None)
    return _KIB if larger else _MIB


def _time_unit(opened: Opened) -> int:
    """Milliseconds of one unit of time in a file of tasks: 1 as documented, or 1000."""
    known = [
        frame["submission_time"].cast(pl.Int64, strict=False).drop_nulls()
        for frame, _ in named_frames(opened, "container", needed=TASKS)
    ]
    seconds = [bool(one.is_between(*_SECONDS).all()) for one in known if len(one)]
    return MS_PER_S if seconds and all(seconds) else 1


def read_fragments(opened: Opened) -> Read:
    """Use of tasks: a fragment begins where the previous one of its task ends.

    Raises
    ------
    TracekitError
        Without the tasks, which say when the first fragment begins and what a core's MHz are.
    """
    tasks = _tasks(opened)
    ended = pl.DataFrame(schema={"id": tasks.schema["id"], "passed_ms": pl.Int64})
    for frame, broken in named_frames(opened, "container_amount", needed=FRAGMENTS):
        yield from broken
        joined = frame.join(tasks, on="id", how="left", maintain_order="left")
        kept, refused = refuse(joined, _fragment_rules(), "container_amount")
        yield from refused
        in_ms = kept.with_columns(pl.col("duration") * pl.col("ms"))
        timed = in_ms.join(ended, on="id", how="left", maintain_order="left").with_columns(
            (pl.col("duration").cum_sum().over("id") + pl.col("passed_ms").fill_null(0)).alias(
                "passed_ms"
            )
        )
        last = timed.group_by("id").agg(pl.col("passed_ms").last())
        ended = pl.concat([ended.join(last, on="id", how="anti"), last])
        yield Batch(table="container_amount", rows=_amounts(timed))


def _fragment_rules() -> list[Rule]:
    unknown = pl.col("submission_time").is_null()
    no_core = (pl.col("cpu_capacity") <= 0) & (pl.col("cpu_usage") > 0)
    return [
        *missing("id"),
        Rule(column="id", broken=unknown, expected="a task of the tasks beside"),
        *missing("duration"),
        _positive("duration"),
        Rule(column="cpu_usage", broken=no_core, expected="0, as the task has no MHz"),
    ]


def _amounts(timed: pl.DataFrame) -> pl.DataFrame:
    share = {
        "cpu": ("cpu_usage", "cpu_capacity", "cpu_count", "cores"),
        "gpu": ("gpu_usage", "gpu_capacity", "gpu_count", "count"),
    }
    there = {name: one for name, one in share.items() if set(one[:3]) <= set(timed.columns)}
    rows = timed.with_columns(
        (pl.col("submission_time") + pl.col("passed_ms") - pl.col("duration")).alias("time_ms"),
        pl.col("id").cast(pl.String).alias("container"),
        *(
            pl.when(pl.col(used) == 0)
            .then(0.0)
            .otherwise(pl.col(used) / pl.col(whole) * pl.col(count))
            .alias(name)
            for name, (used, whole, count, _) in there.items()
        ),
    )
    return long(rows, _KEYS, {name: (name, one[3], 1.0) for name, one in there.items()})


def _tasks(opened: Opened) -> pl.DataFrame:
    """The tasks beside a file of fragments."""
    files = opened.beside.get("tasks", ())
    if not files:
        raise TracekitError(
            f"{opened.name}: fragments without the tasks that they are of",
            hint="ingest tasks.parquet and fragments.parquet together",
        )
    wanted = [*TASKS[:2], *TASKS[3:5], "gpu_count", "gpu_capacity"]
    parts = [
        frame.select(name for name in wanted if name in frame.columns).with_columns(
            pl.col("submission_time").cast(pl.Int64) * ms, ms=pl.lit(ms)
        )
        for file in files
        for ms in (_time_unit(file),)
        for frame, _ in named_frames(file, "container", needed=TASKS)
    ]
    return pl.concat(parts, how="diagonal_relaxed").unique("id", keep="first", maintain_order=True)


_FRAGMENT_COLUMNS = {*FRAGMENTS, "gpu_usage", "cpu_count", "gpu_count", "mem_usage"}


def _is_tasks(head: Head) -> bool:
    return set(TASKS) <= set(head.columns)


def _is_fragments(head: Head) -> bool:
    return set(FRAGMENTS) <= set(head.columns) <= _FRAGMENT_COLUMNS


SOURCE = ClusterSource(
    name="opendc",
    title="Inputs of OpenDC: tasks, fragments of their use, topologies of hosts",
    url="https://github.com/atlarge-research/opendc",
    missing_names=frozenset({""}),
    licence="MIT for the files in its repository; traces elsewhere have their own",
    files=(
        ClusterFile(
            word="tasks",
            title="tasks and what they ask for",
            tables=("container", "container_resource"),
            recognises=_is_tasks,
            read=read_tasks,
            alone=True,
        ),
        ClusterFile(
            word="fragments",
            title="what tasks use, piece by piece",
            tables=("container_amount",),
            recognises=_is_fragments,
            read=read_fragments,
            alone=True,
        ),
        ClusterFile(
            word="topology",
            title="clusters of hosts",
            tables=("node", "node_resource"),
            recognises=topology.is_topology,
            read=topology.read_topology,
            alone=True,
        ),
    ),
    lacks=("placement", "use of memory", "network and disk", "services", "order between tasks"),
    inferred=(
        "cores in use: MHz of the fragment / MHz of the task x its cores",
        "when a fragment begins: where the one before it ends, the first at the submission",
        "departure: submission + duration",
        "unit of times: ms, but s for a file whose submissions are seconds since 1970",
        "unit of mem_capacity: MB, but KB for a file with a task of more than 4 TiB in MB",
    ),
    notes=(
        "memory without a unit is MB of 2^20 bytes, in tasks and topologies",
        "mem_capacity of the repository's bitbrains files is KB, though MB is documented",
        "times are ms, as documented; seconds since 1970 (small_gpu) are met",
    ),
)
