"""Tasks and their instances, as Alibaba's traces of batch jobs have them: short-lived containers.

An instance is a container. Its request stands with its task in another file, so the two are read
together; tasks that come without the file of instances stand for all their instances, each as long
as the task and on no known node.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._rows import Delimited, Rule, frames, long, refuse
from tracekit.sources.released._known import Known
from tracekit.sources.released._lines import each_of, ms

#: A number in a row, or none, as a regular expression.
NUM = r"-?[\d.]*(?:[eE][-+]?\d+)?"
#: What is inferred of an instance that its own row does not say.
INFERRED = (
    "an instance of a batch task asks for what its task asks for",
    "batch tasks without their instances: each instance lives as long as its task",
)
_RULES = (
    Rule(
        column="status",
        broken=pl.col("status").is_in(["Ready", "Waiting"]),
        expected="one of what has begun",
    ),
    Rule(column="start", broken=pl.col("start").is_null(), expected="when it began"),
    Rule(
        column="end",
        broken=(pl.col("end").fill_null(0) == 0) & (pl.col("status") != "Running"),
        expected="when it ended, since it is not Running",
    ),
    Rule(
        column="departure",
        broken=pl.col("departure") < pl.col("arrival"),
        expected="no time before its arrival",
    ),
)
_ALONE = "has no instance in the files beside, expected one: nothing is stored of it"
#: Larger files of instances are not read a second time only to see whose instances they lack.
_MOST_INSTANCE_BYTES = 1 << 30
#: For each column: the resource, its unit, and the factor that leads to it.
Amounts = Mapping[str, tuple[str, str, float]]


@dataclass(frozen=True, kw_only=True)
class BatchForm:
    """How a release writes its tables of tasks and instances.

    Parameters
    ----------
    tasks : Delimited
        Columns start, end, job, task, instances, status, and those of ``asked``.
    instances : Delimited
        Columns start, end, job, task, node, status, those of ``used``, and where there is one
        ``name`` (else the line stands for it) and ``try``.
    asked, used : mapping
        What the requests of tasks, and the use of instances, become.
    unique_names : bool
        Whether ``name`` alone names an instance in the whole trace.
    selector : function(Opened, DataFrame) -> Series, optional
        Where instances may run, as JSON.
    """

    tasks: Delimited
    instances: Delimited
    asked: Amounts
    used: Amounts = field(default_factory=dict)
    unique_names: bool = False
    selector: Callable[[Opened], Callable[[pl.DataFrame], pl.Series]] | None = None


def read_instances(opened: Opened, form: BatchForm) -> Read:
    """Containers from instances, with the requests of the tasks that are read beside."""
    requests = Known(opened.beside.get("tasks", ()), form.tasks, ("job", "task"), tuple(form.asked))
    selector = form.selector(opened) if form.selector is not None else None
    for raw, broken in frames(opened, form.instances):
        yield from broken
        kept, wrong = _begun(_named(raw, form))
        yield from wrong
        yield _containers(kept, None if selector is None else selector(kept))
        asked = pl.concat(
            [kept.select("arrival", "container", "line"), requests.of(kept)], how="horizontal"
        )
        yield _asked(asked, form)
        if form.used:
            used = long(
                kept.with_columns(pl.col("arrival").alias("time_ms")),
                ["time_ms", "container"],
                form.used,
            )
            yield Batch(table="container_amount", rows=used)


def read_tasks(opened: Opened, form: BatchForm) -> Read:
    """Containers from tasks; nothing where the instances are read beside, which say more."""
    if opened.beside.get("instances"):
        yield from _beside_instances(opened, form)
        return
    for raw, broken in frames(opened, form.tasks):
        yield from broken
        kept, wrong = _begun(raw.with_columns(pl.lit(None, pl.String).alias("node")))
        yield from wrong
        for part in each_of(kept, "instances"):
            each = part.with_columns(
                pl.format("{}/{}/{}", "job", "task", "number").alias("container")
            )
            yield _containers(each)
            yield _asked(each, form)


def _beside_instances(opened: Opened, form: BatchForm) -> Read:
    """Rejects of tasks: broken lines, and every task without an instance."""
    instances = opened.beside["instances"]
    small = sum(one.path.stat().st_size for one in instances) <= _MOST_INSTANCE_BYTES
    named = [
        raw.select("job", "task").unique()
        for one in (instances if small else ())
        for raw, _ in frames(one, form.instances)
    ]
    known = pl.concat(named).unique() if named else None
    for raw, broken in frames(opened, form.tasks):
        yield from broken
        if known is not None:
            keys = ["job", "task"]
            alone = raw.join(known, on=keys, how="anti", nulls_equal=True, maintain_order="left")
            for line, job, task in alone.select("line", *keys).iter_rows():
                yield Broken(
                    table="container", line=line, column="task", reason=_ALONE, text=f"{job},{task}"
                )


def _named(raw: pl.DataFrame, form: BatchForm) -> pl.DataFrame:
    """Adds each instance's name: its job, task and name or line; a further try is another."""
    own = pl.col("name") if "name" in raw.columns else pl.col("line").cast(pl.String)
    job, task = pl.col("job").fill_null(""), pl.col("task").fill_null("")
    if form.unique_names:
        return raw.with_columns(own.alias("container"))
    again = (
        pl.when(pl.col("try") > 1)
        .then(pl.format("#{}", pl.col("try").cast(pl.Int64)))
        .otherwise(pl.lit(""))
    )
    return raw.with_columns(pl.format("{}/{}/{}{}", job, task, own, again).alias("container"))


def _begun(lives: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
    """Arrival and departure in ms of what has begun, and as broken rows what has not."""
    running = pl.col("status") == "Running"
    timed = lives.with_columns(
        ms(pl.col("start").clip(0)).alias("arrival"),
        pl.when(~running).then(ms(pl.col("end").clip(0))).alias("departure"),
    )
    return refuse(timed, _RULES, "container")


def _containers(rows: pl.DataFrame, selector: pl.Series | None = None) -> Batch:
    where = pl.lit(None, pl.String) if selector is None else selector
    return Batch(
        table="container",
        rows=rows.select(
            pl.col("arrival").alias("time_ms"),
            "container",
            pl.col("job").alias("service"),
            "node",
            pl.col("line").alias("position"),
            pl.col("departure").alias("departure_ms"),
            where.alias("selector"),
            "line",
        ),
    )


def _asked(rows: pl.DataFrame, form: BatchForm) -> Batch:
    made = long(
        rows.with_columns(pl.col("arrival").alias("time_ms")), ["time_ms", "container"], form.asked
    )
    return Batch(table="container_resource", rows=made.rename({"amount": "request"}))
