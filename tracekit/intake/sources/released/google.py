"""Google's Borg cells of 2011 and 2019: machines, tasks or instances, usage.

Facts: google/cluster-data. 2011: ClusterData2011_2 (headerless CSV, times in microseconds). 2019:
clusterdata_trace_format_v3.proto (JSON lines or Parquet).
"""

import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.errors import TracekitError
from tracekit.base.opened import PARQUET_MAGIC
from tracekit.intake.sources._described import Released
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources._source import Broken, Head, Opened

BEFORE = "the trace begins at 600 s: what stands at time 0 was there before and is put at 600 s"
OF_ATTRIBUTES = "attributes of machines, which become labels of machine_events beside it"
FIRST_MACHINE = "its node is the first machine that an event of it names"
AFTER = "events at 2^63-1 lie behind the trace and say nothing about it: they are left out"
SAMPLED = "a sample stands at the beginning of its 300 s"
LABELS = "a machine's labels are its attributes at the time of its event"
#: What to do with attributes that come alone.
BESIDE_MACHINES = "ingest both together: attributes are labels of machines"


_NAME = r"[A-Za-z0-9+/]{43}="
_NUMBER = r"[-+.\deE]*"

GOOGLE11 = Released(
    name="google11",
    title="Google cluster data 2011 (version 2): 12,500 machines, 29 days, tasks and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2011_2.md",
    licence="CC-BY-4.0",
    lacks=(
        "cores and bytes: all sizes are fractions of the largest machine of the cell",
        "disk space of machines",
        "network",
        "failure domains",
        "task_constraints, users, scheduling classes, CPI and MAI: not read",
    ),
    inferred=(
        "a task is one container from its first SUBMIT to the last end that no start follows",
        FIRST_MACHINE,
        "different-machines: tasks of the job share no machine",
        LABELS,
    ),
    notes=(
        BEFORE,
        AFTER,
        "ingest all parts of task_events at once: a task comes in one part and goes in another",
        "disk_io is the share of time that the disk served the task, only in the first 14 days",
        SAMPLED,
    ),
    shared="_google",
    kinds=(
        Kind(
            word="machines",
            title="machines that come, go and change",
            columns=rf"time:number!=\d+ machine:whole!=\d+ event:number!=[012] platform={_NAME}|"
            " cpu:number memory:number",
            rules=("event: event NOT IN (0, 1, 2) -> a code from 0 to 2",),
            beside=("attributes",),
            whole=True,
        ),
        Kind(
            word="attributes",
            title=OF_ATTRIBUTES,
            columns=rf"time:number!=\d+ machine:whole!=\d+ name!={_NAME} value deleted:number=[01]",
            needs={"machines": BESIDE_MACHINES},
            tables=("node",),
        ),
        Kind(
            word="jobs",
            title="events of jobs; they say nothing that those of tasks do not",
            columns=rf"time:number=\d+ missing=[0-6]? job=\d+ event:number=[0-8] user={_NAME}|"
            rf" class=[0-3]? name={_NAME}| logical={_NAME}|",
            tables=("container",),
        ),
        Kind(
            word="tasks",
            title="events of tasks",
            columns=r"time:number!=\d+ missing=[0-6]? job:whole!=\d+ task:whole!=\d+ machine=\d*"
            rf" event:number!=[0-8] -={_NAME}| -=[0-3]? priority:number=\d* cpu:number"
            " memory:number disk:number different:number=[01]?",
            rules=("event: event NOT IN (0, 1, 2, 3, 4, 5, 6, 7, 8) -> a code from 0 to 8",),
            tables=("container", "container_resource"),
        ),
        Kind(
            word="usage",
            title="usage of tasks over 300 s",
            columns=r"time:number!=\d+ end:number=\d+ job:whole!=\d+ task:whole!=\d+ -=\d*"
            rf" cpu:number memory:number {f'-={_NUMBER} ' * 4}disk_io:number disk:number"
            rf" {f'-={_NUMBER} ' * 7}",
            rules=("""end: "end" < time -> an end no earlier than the start""",),
        ),
    ),
)


# Rows of JSON lines and of Parquet as frames of texts, for the cells of 2019.

#: The columns to read: a text, a record of texts, or a list of either.
_Columns = Mapping[str, pl.DataType | type[pl.DataType]]

_ROWS_AT_ONCE = 1 << 16


def _objects(
    opened: Opened, columns: _Columns, table: str
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """The rows with ``line``, every value as a text; a missing field is NULL.

    A line that is no JSON object, or that has an object in place of a text, is a broken line of
    ``table``. Fields that ``columns`` does not name are left out.

    Raises
    ------
    TracekitError
        For Parquet that is damaged.
    """
    dtype = pl.Struct(dict(columns))
    with opened.stream() as stream:
        start = stream.read(len(PARQUET_MAGIC))
    texts = _parquet(opened, columns) if start == PARQUET_MAGIC else _lines(opened)
    line = 1
    for some in texts:
        numbered = pl.DataFrame({"text": some}).with_row_index("line", offset=line)
        numbered = numbered.with_columns(pl.col("line").cast(pl.Int64))
        line += numbered.height
        filled = numbered.filter(pl.col("text").str.strip_chars() != "")
        frames, broken = _decoded(filled, dtype, table)
        whole = pl.concat([pl.DataFrame(schema={"line": pl.Int64, **columns}), *frames])
        yield whole, broken


def _lines(opened: Opened) -> Iterator[pl.Series]:
    with opened.stream() as stream:
        while some := list(itertools.islice(stream, _ROWS_AT_ONCE)):
            yield pl.Series([one.decode(errors="replace") for one in some], dtype=pl.String)


def _parquet(opened: Opened, columns: _Columns) -> Iterator[pl.Series]:
    """The rows of Parquet as JSON, so that both forms are read alike."""
    with opened.stream() as stream:
        try:
            file = pq.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
            present = [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=present):
                frame = pl.DataFrame(batch)
                yield frame.select(pl.struct(pl.all()).struct.json_encode()).to_series()
        except (pa.ArrowException, OSError) as error:
            cause = str(error).splitlines()[0]
            raise TracekitError(f"{opened.name} cannot be read as Parquet: {cause}") from error


def _decoded(
    rows: pl.DataFrame, dtype: pl.Struct, table: str
) -> tuple[list[pl.DataFrame], list[Broken]]:
    """Frames of the good lines; broken lines are found by halving."""
    if rows.is_empty():
        return [], []
    try:
        decoded_rows = rows.select("line", pl.col("text").str.json_decode(dtype).alias("row"))
    except pl.exceptions.PolarsError:
        if rows.height == 1:
            ((line, text),) = rows.rows()
            return [], [_broken(line, text, table)]
        half = rows.height // 2
        first, last = (_decoded(some, dtype, table) for some in (rows[:half], rows[half:]))
        return [*first[0], *last[0]], [*first[1], *last[1]]
    none = decoded_rows.filter(pl.col("row").is_null())["line"].to_list()
    if none:
        nulls = rows.filter(pl.col("line").is_in(none))
        broken = [_broken(line, text, table) for line, text in nulls.iter_rows()]
        return [decoded_rows.filter(pl.col("row").is_not_null()).unnest("row")], broken
    return [decoded_rows.unnest("row")], []


def _broken(line: int, text: str, table: str) -> Broken:
    return Broken(table=table, line=line, reason=_reason(text), text=text.strip())


def _reason(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {error}"
    kind = type(value).__name__
    if not isinstance(value, dict):
        return f"is a JSON {kind}, expected an object"
    return "has an object or a list where a text or a number is due, or the other way round"


_LOOKED_AT = 50
_TEXT = pl.String()
_RESOURCES = pl.Struct({"cpus": _TEXT, "memory": _TEXT})
_CONSTRAINT = pl.Struct({"name": _TEXT, "value": _TEXT, "relation": _TEXT})
_RECORDS = {
    **dict.fromkeys(("capacity", "resource_request", "average_usage"), _RESOURCES),
    "constraint": pl.List(_CONSTRAINT),
}
_MACHINES = "time:whole! machine_id:whole! type switch_id platform_id capacity:any"
_ATTRIBUTES = "time:whole! machine_id:whole! name! value deleted"
_COLLECTIONS = "collection_id:whole! max_per_machine max_per_switch"
_INSTANCES = (
    "time:whole! type collection_id:whole! instance_index:whole! machine_id priority missing_type"
    " collection_type alloc_collection_id alloc_instance_index resource_request:any constraint:any"
)
_USAGE = (
    "start_time:whole! end_time:number collection_id:whole! instance_index:whole! average_usage:any"
)


def _keys(head: Head) -> set[str]:
    """The fields of the first rows; none where a line is no object."""
    if head.columns:
        return set(head.columns)
    fields: set[str] = set()
    for line in head.lines[:_LOOKED_AT]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        fields |= row.keys() if isinstance(row, dict) else set()
    return fields


def _is(head: Head, table: str, some: set[str], but: set[str]) -> bool:
    """Whether a file is of this kind: by name for packed Parquet, else by its fields."""
    if head.start.startswith(PARQUET_MAGIC) and not head.columns:
        return re.fullmatch(rf"{table}-\d{{12}}\.parquet", head.name) is not None
    keys = _keys(head)
    return some <= keys and not but & keys


def _kind(table: str, columns: str, some: str, but: str, to: str, **more: Any) -> Kind:
    """A kind of file, JSON lines or Parquet, recognised by fields that it has and that it lacks."""
    names = [one.split(":")[0].strip("!") for one in columns.split()]
    fields = {one: _RECORDS.get(one, _TEXT) for one in names}
    return Kind(
        columns=columns,
        rows=partial(_objects, columns=fields, table=to),
        recognises=partial(_is, table=table, some=set(some.split()), but=set(but.split())),
        **more,
    )


GOOGLE19 = Released(
    name="google19",
    title="Google cluster data 2019 (version 3): eight cells, May 2019, instances and usage",
    url="https://github.com/google/cluster-data/blob/master/ClusterData2019.md",
    licence="CC-BY-4.0",
    lacks=(
        "cores and bytes: all sizes are fractions of the largest machine",
        "disk and network",
        "failure domains besides switches",
        "largest and sampled usage, percentiles, CPI, scheduling classes, users: not read",
    ),
    inferred=(
        "an instance is one container from its first SUBMIT to the last end that no start follows",
        FIRST_MACHINE,
        "an alloc instance reserves; a task in it requests 0 and stays together with it",
        "what a task in an alloc instance asks for is its limit",
        "max_per_machine and max_per_switch keep a collection apart; of both the first holds",
        "constraints are selectors of labels where machine_attributes are ingested too",
        LABELS,
    ),
    notes=(
        BEFORE,
        AFTER,
        "ingest all files of a cell at once, and one cell per store",
        SAMPLED,
    ),
    shared="_google",
    kinds=(
        _kind(
            word="machines",
            title="machines that come, go and change (machine_events)",
            columns=_MACHINES,
            to="node",
            table="machine_events",
            some="time machine_id type",
            but="collection_id name",
            rules=(
                (
                    "type: coalesce(machine_event(type), 0) = 0"
                    " -> one of ADD, REMOVE, UPDATE or its number"
                ),
            ),
            beside=("attributes",),
            whole=True,
        ),
        _kind(
            word="attributes",
            title=OF_ATTRIBUTES,
            columns=_ATTRIBUTES,
            to="node",
            table="machine_attributes",
            some="time machine_id name",
            but="collection_id",
            needs={"machines": BESIDE_MACHINES},
            tables=("node",),
        ),
        _kind(
            word="collections",
            title="events of jobs and alloc sets, whose limits per machine the instances take",
            columns=_COLLECTIONS,
            to="container",
            table="collection_events",
            some="time type collection_id",
            but="instance_index",
            tables=("container",),
        ),
        _kind(
            word="instances",
            title="events of tasks and alloc instances",
            columns=_INSTANCES,
            to="container",
            table="instance_events",
            some="time type collection_id instance_index",
            but="average_usage",
            rules=(
                (
                    "type: instance_event(type) IS NULL"
                    " -> an event of instance_events, by name or number"
                ),
            ),
            beside=("collections", "attributes"),
            tables=("container", "container_resource"),
        ),
        _kind(
            word="usage",
            title="usage of instances over 300 s",
            columns=_USAGE,
            to="container_amount",
            table="instance_usage",
            some="start_time collection_id average_usage",
            but="type",
            rules=("end_time: end_time < start_time::DOUBLE -> an end no earlier than the start",),
        ),
    ),
)
