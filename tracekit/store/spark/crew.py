"""Executors of a Spark cluster as those who do the tasks of an ingest, or any other task."""

from __future__ import annotations

import pickle
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from tracekit.base.constants import GO_ON
from tracekit.base.crew.crew import LostWorkerError, OnProgress, Task
from tracekit.base.errors import TracekitError
from tracekit.store.spark.session import check_engine, is_spark, open_session

if TYPE_CHECKING:
    from pyspark import SparkContext

S = TypeVar("S")


class SparkCrew:
    """Does each task as a Spark job of one task; Spark does it again when an executor is lost.

    Files that a task reads or writes must lie where driver and executors find them under the same
    path, and tracekit must be installed on every executor.
    """

    def __init__(self, engine: str, size: int | None = None) -> None:
        self._context: SparkContext = open_session(engine).sparkContext
        self.size = size or max(1, self._context.defaultParallelism)
        self._threads = ThreadPoolExecutor(self.size)

    def submit(self, task: Task[S], on_progress: OnProgress) -> Future[S]:
        """Do the task as soon as an executor is free; its progress is told when it is done."""
        return self._threads.submit(self._do, task, on_progress)

    def _do(self, task: Task[S], on_progress: OnProgress) -> S:
        sent = pickle.dumps(task)
        try:
            (answer,) = self._context.parallelize([sent], 1).map(_run).collect()
        except Exception as error:
            raise LostWorkerError(
                f"Spark gave a task up: {_reason(error)}",
                hint=GO_ON,
            ) from error
        kind, value, told = pickle.loads(answer)  # noqa: S301 - from our own executors
        if kind == "error":
            raise value
        for progress in told:
            on_progress(*progress)
        result: S = value
        return result

    def close(self) -> None:
        """Stop at once, whatever is under way."""
        self._context.cancelAllJobs()
        self._threads.shutdown(cancel_futures=True)


def crew_of(engine: str | None, size: int | None = None) -> SparkCrew | None:
    """The executors of a Spark engine; None for work on this machine.

    Raises TracekitError for an engine that is not known or not to be had.
    """
    if is_spark(engine):
        return SparkCrew(str(engine), size)
    check_engine(engine)
    return None


def _run(sent: bytes) -> bytes:
    """On an executor: do the task; an expected error is an answer, not a failure to try again."""
    told: list[tuple[Any, ...]] = []
    task = pickle.loads(sent)  # noqa: S301 - from our own driver
    try:
        result = task.run(lambda *progress: told.append(progress))
    except TracekitError as error:
        return pickle.dumps(("error", error, []))
    return pickle.dumps(("result", result, told))


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lost = [line for line in lines if "ExecutorLost" in line or "Error:" in line]
    return (lost or lines or [type(error).__name__])[0][:200]
