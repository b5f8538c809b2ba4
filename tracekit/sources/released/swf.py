"""Job logs of parallel computers in the Standard Workload Format.

Facts: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers",
JSSPP 1999; the Parallel Workloads Archive keeps the logs.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from tracekit.sources._cluster import Batch, Broken, ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.sources._rows import Rule, amounts, long, refuse
from tracekit.units import BYTES_PER_KIB

_KIB = float(BYTES_PER_KIB)
#: In their order; -1 stands for unknown.
FIELDS = (
    "job",
    "submit_s",
    "wait_s",
    "run_s",
    "allocated_processors",
    "mean_cpu_s",
    "used_memory_kb",
    "requested_processors",
    "requested_s",
    "requested_memory_kb",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_s",
)
_BLOCK_LINES = 100_000
_KEY = re.compile(r";\s*([A-Za-z]+):\s*(.*)")
_RULES = (
    Rule(column="job", broken=pl.col("job").is_null(), expected="a number of a job"),
    Rule(column="submit_s", broken=~pl.col("submit_s").is_finite(), expected="a finite number"),
    *amounts("submit_s"),
    Rule(column="submit_s", broken=pl.col("submit_s").is_null(), expected="when it was submitted"),
    Rule(column="run_s", broken=~pl.col("run_s").is_finite(), expected="a finite number"),
    Rule(
        column="requested_processors",
        broken=~(pl.col("processors") >= 1).fill_null(value=False),
        expected="1 or more, requested or allocated",
    ),
)
_REQUESTS = {"processors": ("cpu", "cores", 1.0), "memory": ("memory", "bytes", 1.0)}
_AMOUNTS = {"busy": ("cpu", "cores", 1.0), "used_memory": ("memory", "bytes", 1.0)}
_KEYS = ("time_ms", "container")


@dataclass(kw_only=True)
class _Log:
    """The comments' settings, the widest job so far, and the jobs that were seen."""

    keys: dict[str, str] = field(default_factory=dict)
    widest: float = 0.0
    seen: set[str] = field(default_factory=set)

    def new(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """The first line of each job: what others of its number ask for and use is not its own."""
        once = pl.col("container").is_first_distinct() & ~pl.col("container").is_in(list(self.seen))
        found = jobs.filter(once)
        self.seen.update(found["container"])
        return found

    def number(self, key: str) -> int | None:
        """The number that a comment's value begins with."""
        found = re.match(r"\d+", self.keys.get(key, ""))
        return int(found.group()) if found and int(found.group()) > 0 else None


def read_log(opened: Opened) -> Read:
    """Jobs with what they ask for and used, and at the end the computer's nodes."""
    log = _Log()
    for frame, broken in _blocks(opened, log):
        yield from broken
        kept, refused = refuse(_jobs(frame), _RULES, "container")
        yield from refused
        if kept.height:
            log.widest = max(log.widest, float(kept["processors"].max()))  # type: ignore[arg-type]
            yield Batch(table="container", rows=kept.select(_LIFE))
            first = log.new(kept)
            requests = long(first, _KEYS, _REQUESTS).rename({"amount": "request"})
            yield Batch(table="container_resource", rows=requests)
            yield Batch(table="container_amount", rows=long(first, _KEYS, _AMOUNTS))
    yield from _nodes(log)


def _blocks(opened: Opened, log: _Log) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """Blocks of jobs as numbers, NULL for -1, and the lines that are none."""
    rows: list[tuple[float, ...]] = []
    broken: list[Broken] = []
    with opened.stream() as stream:
        for line, raw in enumerate(stream, start=1):
            text = raw.decode(errors="replace").strip()
            if not text:
                continue
            if text.startswith(";"):
                key = _KEY.match(text)
                if key:
                    log.keys.setdefault(key.group(1), key.group(2).strip())
                continue
            found = _numbers(text, line)
            if isinstance(found, Broken):
                broken.append(found)
            else:
                rows.append((*found, float(line)))
            if len(rows) + len(broken) >= _BLOCK_LINES:
                yield _frame(rows), broken
                rows, broken = [], []
    yield _frame(rows), broken


def _numbers(text: str, line: int) -> list[float] | Broken:
    fields = text.split()
    if len(fields) != len(FIELDS):
        reason = f"has {len(fields)} fields, expected {len(FIELDS)}"
        return Broken(table="container", line=line, reason=reason, text=text[:200])
    numbers = []
    for name, one in zip(FIELDS, fields, strict=True):
        try:
            number = float(one)
        except ValueError:
            number = math.nan
        numbers.append(number)
        if math.isnan(number):
            reason = f"is '{one[:60]}', expected a number"
            return Broken(table="container", line=line, column=name, reason=reason, text=text[:200])
    return numbers


def _frame(rows: list[tuple[float, ...]]) -> pl.DataFrame:
    names = (*FIELDS, "line")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row")
    known = (pl.when(pl.col(name) != -1).then(pl.col(name)).alias(name) for name in FIELDS)
    return frame.with_columns(*known, pl.col("line").cast(pl.Int64))


def _jobs(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds a job's requests: processors, bytes of all of them together, seconds."""
    wide = frame.with_columns(
        pl.max_horizontal("requested_processors", "allocated_processors").alias("processors"),
        # a job that ended at once or was cancelled before it began takes a second
        pl.max_horizontal(pl.col("run_s"), pl.lit(1.0)).alias("run_s"),
    )
    busy = (pl.col("mean_cpu_s") / pl.col("run_s")) * pl.col("processors")
    return wide.with_columns(
        (pl.col("requested_memory_kb") * _KIB * pl.col("processors")).alias("memory"),
        (pl.col("used_memory_kb") * _KIB * pl.col("processors")).alias("used_memory"),
        busy.alias("busy"),
        _whole("job").alias("container"),
        (pl.col("submit_s") * 1000).alias("time_ms"),
    )


def _whole(name: str) -> pl.Expr:
    """A number as the log writes it, without a fraction."""
    return pl.col(name).cast(pl.Int64, strict=False).cast(pl.String)


_LIFE = (
    pl.col("time_ms"),
    pl.col("container"),
    pl.concat_str(pl.lit("executable-"), _whole("executable")).alias("service"),
    ((pl.col("submit_s") + pl.col("run_s")) * 1000).alias("departure_ms"),
    pl.col("line").alias("position"),
    pl.col("line"),
)


def _nodes(log: _Log) -> Iterator[Batch]:
    """The computer: its nodes where each job fits one of them, else one pool of processors."""
    processors, nodes = log.number("MaxProcs"), log.number("MaxNodes")
    if processors is None and nodes is None:
        return
    total, count = processors or nodes or 1, nodes or 1
    names = [f"node-{at}" for at in range(count)]
    if log.widest > total / count:
        count, names = 1, ["pool"]
    told = json.dumps({key: log.keys[key] for key in _TOLD if key in log.keys})
    rows = pl.DataFrame({"node": names}).with_columns(
        pl.lit(0, pl.Int64).alias("time_ms"),
        pl.int_range(1, count + 1, dtype=pl.Int64).alias("line"),
    )
    yield Batch(table="node", rows=rows.with_columns(pl.lit(told).alias("labels")))
    amounts = rows.with_columns(pl.lit(total / count).alias("cores"))
    yield Batch(
        table="node_resource",
        rows=long(amounts, ("time_ms", "node"), {"cores": ("cpu", "cores", 1.0)}),
    )


#: Comments that stay with the nodes.
_TOLD = ("Computer", "Installation", "MaxNodes", "MaxProcs", "UnixStartTime", "TimeZoneString")


_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")


def _is_log(head: Head) -> bool:
    """A ``.swf`` whose lines are comments, then 18 numbers."""
    if not head.name.endswith(".swf"):
        return False
    lines = [line.split() for line in head.lines if line.strip()]
    first = next((line for line in lines if not line[0].startswith(";")), None)
    if first is None:
        return bool(lines)
    return len(first) == len(FIELDS) and all(_NUMBER.fullmatch(field) for field in first)


SOURCE = ClusterSource(
    name="swf",
    title="Job logs of parallel computers in the Standard Workload Format (SWF)",
    url="https://www.cs.huji.ac.il/labs/parallel/workload/",
    missing_names=frozenset({"", "-1"}),
    licence="Parallel Workloads Archive: free, acknowledge who gave the log, named in its header",
    files=(
        ClusterFile(
            word="log",
            title="jobs of one parallel computer",
            tables=(
                "node",
                "node_resource",
                "container",
                "container_resource",
                "container_amount",
            ),
            recognises=_is_log,
            read=read_log,
        ),
    ),
    lacks=("use over time: one mean a job", "placement", "network and disk", "memory of nodes"),
    inferred=(
        "a job is one container; its cores are the larger of requested and allocated processors",
        "departure: submission + run time, which is at least 1 s; what it waited is left out",
        "nodes: MaxNodes of MaxProcs / MaxNodes cores; one pool of MaxProcs if a job fits none",
    ),
    notes=(
        "times are since the log's start; UnixStartTime stays among the labels of the nodes",
        "memory is stated for a processor; KB is taken as 1,024 bytes",
        "sizes of partitions are not in the format",
    ),
)
