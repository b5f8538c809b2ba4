"""Batch tasks and instances of the Alibaba traces of 2017 and 2018: containers that come and go.

An instance is a container. Its request stands with its task in another file, so the two are read
together; tasks that come without the file of instances stand for all their instances, each as long
as the task and on no known node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened, Read
from tracekit.sources._refused import Rule, refuse
from tracekit.sources._rows import Delimited, frames, long
from tracekit.sources.released._lines import ms

_RULES = (
    Rule(
        column="status",
        broken=pl.col("status").is_in(["Ready", "Waiting"]),
        expected="one of what has begun",
    ),
    Rule(
        column="end",
        broken=(pl.col("end") == 0) & (pl.col("status") != "Running"),
        expected="when it ended, since it is not Running",
    ),
    Rule(
        column="departure",
        broken=pl.col("departure") < pl.col("arrival"),
        expected="no time before its arrival",
    ),
)
_ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class BatchForm:
    """How a release writes its two batch tables.

    Parameters
    ----------
    tasks : Delimited
        Columns start, end, job, task, instances, status, cpu (100 is one core), memory.
    instances : Delimited
        Columns start, end, job, task, node, status, try, cpu and memory; ``name`` where an
        instance has one, else its line stands for it.
    memory_whole : float
        What all of a machine's memory is called.
    core : float
        What one core is called in the use of instances; the requests of tasks count it as 100.
    """

    tasks: Delimited
    instances: Delimited
    memory_whole: float
    core: float


def read_instances(opened: Opened, form: BatchForm) -> Read:
    """Containers from instances, with the requests of the tasks that are read beside."""
    requests = _Requests(opened.beside.get("tasks", ()), form)
    for raw, broken in frames(opened, form.instances):
        yield from broken
        lives = _instance_lives(raw)
        kept, wrong = _begun(lives)
        yield from wrong
        yield _containers(kept)
        yield Batch(
            table="container_resource",
            rows=_asked(kept.join(requests.of(kept), on="line"), form),
        )
        used = long(
            kept.with_columns(time_ms=pl.col("arrival")),
            ["time_ms", "container"],
            {
                "cpu": ("cpu", "cores", 1 / form.core),
                "memory": ("memory", "fraction", 1 / form.memory_whole),
            },
        )
        yield Batch(table="container_amount", rows=used)


def read_tasks(opened: Opened, form: BatchForm) -> Read:
    """Containers from tasks; nothing where the instances are read beside, which say more."""
    if opened.beside.get("instances"):
        return
    for raw, broken in frames(opened, form.tasks):
        yield from broken
        lives = raw.with_columns(pl.lit(None, pl.String).alias("node"))
        kept, wrong = _begun(lives)
        yield from wrong
        for part in _parts(kept):
            each = part.with_columns(
                pl.int_ranges(pl.col("instances").fill_null(0).cast(pl.Int64)).alias("number")
            )
            each = (
                each.explode("number")
                .drop_nulls("number")
                .with_columns(pl.format("{}/{}/{}", "job", "task", "number").alias("container"))
            )
            yield _containers(each)
            yield Batch(
                table="container_resource",
                rows=_asked(each.rename({"cpu": "ask_cpu", "memory": "ask_memory"}), form),
            )


def _instance_lives(raw: pl.DataFrame) -> pl.DataFrame:
    """With the name of each instance: its job, task and name or line; a further try is another."""
    own = pl.col("name") if "name" in raw.columns else pl.col("line").cast(pl.String)
    again = (
        pl.when(pl.col("try") > 1)
        .then(pl.format("#{}", pl.col("try").cast(pl.Int64)))
        .otherwise(pl.lit(""))
    )
    job, task = pl.col("job").fill_null(""), pl.col("task").fill_null("")
    return raw.with_columns(pl.format("{}/{}/{}{}", job, task, own, again).alias("container"))


def _begun(lives: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
    """Arrival and departure in ms of what has begun, and as broken rows what has not."""
    running = pl.col("status") == "Running"
    timed = lives.with_columns(
        ms(pl.col("start").clip(0)).alias("arrival"),
        pl.when(~running).then(ms(pl.col("end").clip(0))).alias("departure"),
    )
    return refuse(timed, _RULES, "container")


def _containers(rows: pl.DataFrame) -> Batch:
    return Batch(
        table="container",
        rows=rows.select(
            pl.col("arrival").alias("time_ms"),
            "container",
            pl.col("job").alias("service"),
            "node",
            pl.col("line").alias("position"),
            pl.col("departure").alias("departure_ms"),
            "line",
        ),
    )


def _asked(rows: pl.DataFrame, form: BatchForm) -> pl.DataFrame:
    made = long(
        rows.with_columns(time_ms=pl.col("arrival")),
        ["time_ms", "container"],
        {
            "ask_cpu": ("cpu", "cores", 1 / 100),
            "ask_memory": ("memory", "fraction", 1 / form.memory_whole),
        },
    )
    return made.rename({"amount": "request"})


def _parts(tasks: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Runs of tasks with about so many instances together as are made at once."""
    upto = tasks["instances"].fill_null(0).cum_sum() // _ROWS_AT_ONCE
    for part in tasks.with_columns(upto.alias("part")).partition_by("part", maintain_order=True):
        yield part.drop("part")


class _Requests:
    """What an instance of each task asks for; 14 million tasks take about a gigabyte."""

    def __init__(self, files: tuple[Opened, ...], form: BatchForm) -> None:
        wanted = ["job", "task", "cpu", "memory"]
        parts = [rows.select(wanted) for file in files for rows, _ in frames(file, form.tasks)]
        empty = pl.DataFrame(
            schema={"job": pl.String, "task": pl.String, "cpu": pl.Float64, "memory": pl.Float64}
        )
        tasks = pl.concat([empty, *parts])
        tasks = tasks.with_columns(_key().alias("key"))
        self._tasks = tasks.sort("key", maintain_order=True)
        self._keys = self._tasks["key"].to_numpy()

    def of(self, instances: pl.DataFrame) -> pl.DataFrame:
        """Columns line, ask_cpu and ask_memory; NULL for a task that is not known."""
        keys = instances.select(_key().alias("key"))["key"].to_numpy()
        at = np.searchsorted(self._keys, keys)
        if not len(self._keys):
            asked = self._tasks.clear(instances.height)
        else:
            asked = self._tasks[np.minimum(at, len(self._keys) - 1)]
        same = (asked["job"] == instances["job"]) & (asked["task"] == instances["task"])
        return pl.DataFrame(
            {
                "line": instances["line"],
                "ask_cpu": asked["cpu"],
                "ask_memory": asked["memory"],
                "same": same,
            }
        ).select(
            "line",
            *(pl.when("same").then(name).alias(name) for name in ("ask_cpu", "ask_memory")),
        )


def _key() -> pl.Expr:
    """A number for job and task; two tasks with one number are told apart by their names."""
    return pl.struct("job", "task").hash(0)
