"""Runs every analysis that a store has the tables for."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from pathlib import Path

from tracekit._version import VERSION
from tracekit.analysis.work import Analysis, Work
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.progress import SILENT, Progress
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database


def side_by_side(
    steps: Mapping[str, Callable[[], None]], after: Mapping[str, Collection[str]], lanes: int
) -> Iterator[str]:
    """Do every step once, each after those it builds on; yields its name when it is done.

    With one lane the steps are done one by one, in this thread and in the order given. What a step
    raises is raised here, once the steps that are under way have ended; no other is begun.

    Parameters
    ----------
    steps : what to do, by name, in an order in which they could be done one by one
    after : for each step the names of those it builds on; names of no step do not count
    """
    if lanes == 1:
        for name, step in steps.items():
            step()
            yield name
        return
    builds_on = {name: set(after[name]) & steps.keys() for name in steps}
    weight = _built_on(builds_on)
    waiting = TopologicalSorter(builds_on)
    waiting.prepare()
    ready: list[str] = []
    with ThreadPoolExecutor(lanes) as threads:
        under_way: dict[Future[None], str] = {}
        try:
            while waiting.is_active():
                # what most others wait for goes first; among equals the order given decides
                ready = sorted([*ready, *waiting.get_ready()], key=lambda n: -weight[n])
                while ready and len(under_way) < lanes:
                    name = ready.pop(0)
                    under_way[threads.submit(steps[name])] = name
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    done.result()
                    name = under_way.pop(done)
                    waiting.done(name)
                    yield name
        finally:
            threads.shutdown(cancel_futures=True)


def _built_on(builds_on: Mapping[str, Collection[str]]) -> dict[str, int]:
    """For each step how many others build on it, at one remove or more."""
    built = {name: set(under) for name, under in builds_on.items()}
    for name in TopologicalSorter(builds_on).static_order():
        for under in builds_on[name]:
            built[name] |= built[under]
    return {name: sum(name in under for under in built.values()) for name in builds_on}


ANALYSIS_FOLDER = ResultFolder(what="folder of analyses", schema="tracekit/analysis/1")


def analyze(
    store: Store,
    out: Path | None = None,
    *,
    seed: int = 0,
    engine: str | None = None,
    without: Collection[str] = (),
    progress: Progress = SILENT,
) -> Analysis:
    """Run every query that needs no choice, and every result computed from their rows.

    Two are under way at a time where there are two cores. With ``out``, all are also written as
    ``out/<name>.parquet``, whole or not at all. The same seed gives the same intervals.

    Parameters
    ----------
    engine : what ``tracekit.store.query.run.open_database`` understands
    without : queries and results to leave out, with all that builds on them
    """
    if out is not None:
        ANALYSIS_FOLDER.check_free(out)
    with open_database(store, engine) as database:
        analysis = Analysis()
        work = Work(store, database, analysis, seed)
        steps = work.without(without)
        with progress.task("analyze", len(steps), "results") as task:
            try:
                for name in side_by_side(steps, work.after(), database.lanes):
                    task.advance(1, name)
            except BaseException:
                database.interrupt()
                raise
    in_order = {name: analysis.frames[name] for name in steps if name in analysis.frames}
    found = Analysis(in_order, {n: analysis.missing[n] for n in steps if n in analysis.missing})
    if out is not None:
        _write(found, out, store, seed)
    return found


def _write(found: Analysis, out: Path, store: Store, seed: int) -> None:
    document = {
        "tool_version": VERSION,
        "store": store.path.name,
        "seed": seed,
        "missing": found.missing,
    }
    with ANALYSIS_FOLDER.writing(out, document) as made:
        for name, frame in found.frames.items():
            path = made / f"{name}.parquet"
            path.parent.mkdir(exist_ok=True)
            frame.write_parquet(path)
