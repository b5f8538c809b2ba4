"""tracekit: cluster-trace analytics and scheduling research.

The library's front door: the same verbs as the command line, returning polars frames::

    import tracekit

    tracekit.ingest("traces/", "mystore")
    tracekit.query("mystore", "usage/zone_summary")
    tracekit.replay("mystore", ["first_fit", "least_allocated"], out="run")
    tracekit.report("run", out="report.html")

Nothing heavy is imported until a verb is called, so that ``tracekit --help`` answers at once.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from tracekit.analysis import Analysis
    from tracekit.callgraph.run import CallGraphs
    from tracekit.fetch import FetchSummary, Retries
    from tracekit.fit.run import Fit
    from tracekit.pipeline import RunSummary
    from tracekit.progress import Progress
    from tracekit.query.plan import Plan
    from tracekit.replay.optimize.function_study import FunctionStudy
    from tracekit.replay.placement_study import PlacementStudy
    from tracekit.replay.run import Run
    from tracekit.replay.solver_study import SolverStudy
    from tracekit.report import ReportSummary
    from tracekit.store import IngestSummary
    from tracekit.study import Study
    from tracekit.synth import SynthSummary

from tracekit.progress import SILENT

__all__ = [
    "analyze",
    "callgraph",
    "check",
    "compare",
    "fetch",
    "fit",
    "info",
    "ingest",
    "listing",
    "optimize_bench",
    "placement_bench",
    "plan",
    "query",
    "replay",
    "report",
    "run",
    "synth",
    "vary",
]


class _FrontDoor(types.ModuleType):
    """Keeps a verb a verb: importing the package of the same name must not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, types.ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor


def fetch(
    release: str,
    out: str | Path,
    *,
    tables: Sequence[str] = (),
    parts: str | None = None,
    base_url: str | None = None,
    jobs: int = 4,
    timeout_s: float = 60.0,
    retries: Retries | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> FetchSummary:
    """Download the archives of a trace release; see ``tracekit.fetch.run.fetch``."""
    from tracekit.fetch.run import fetch as download

    return download(
        release,
        out,
        tables=tables,
        parts=parts,
        base_url=base_url,
        jobs=jobs,
        timeout_s=timeout_s,
        retries=retries,
        seed=seed,
        progress=progress,
    )


def ingest(
    source: str | Path,
    store: str | Path,
    *,
    release: str = "auto",
    jobs: int | None = None,
    memory_limit_bytes: int = 2**30,
    max_rejects_fraction: float | None = None,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> IngestSummary:
    """Take trace files into a store; see ``tracekit.store.write.ingest``.

    With a Spark ``engine`` the files are read and sorted by its executors, one file a task.
    """
    from tracekit import store as stores
    from tracekit.spark import crew_of

    return stores.ingest(
        source,
        store,
        release=release,
        jobs=jobs,
        memory_limit_bytes=memory_limit_bytes,
        max_rejects_fraction=max_rejects_fraction,
        crew=crew_of(engine, jobs),
        progress=progress,
    )


def info(store: str | Path) -> dict[str, Any]:
    """What is in a store; see ``tracekit.query.describe.describe``."""
    from tracekit.query.describe import describe
    from tracekit.store import open_store

    return describe(open_store(store))


def check(store: str | Path) -> dict[str, Any]:
    """The data-quality ledger: ``{"tables": {name: {rows_read, ...}}, "ledger": [...]}``."""
    from tracekit.query import run
    from tracekit.store import open_store

    ledger = run(open_store(store), "quality/ledger").to_dicts()
    tables = {
        name: {key: table[key] for key in ("rows_read", "rows", "rejected", "duplicates_dropped")}
        for name, table in info(store)["tables"].items()
    }
    return {"tables": tables, "ledger": ledger}


def query(
    store: str | Path,
    name: str,
    params: Mapping[str, str | float | bool] | None = None,
    *,
    engine: str | None = None,
) -> pl.DataFrame:
    """The rows of one query on a store; see ``tracekit.query.run``."""
    from tracekit.query import run
    from tracekit.store import open_store

    return run(open_store(store), name, params, engine=engine)


def analyze(
    store: str | Path,
    out: str | Path | None = None,
    *,
    seed: int = 0,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> Analysis:
    """All analytics of a store, by name; see ``tracekit.analysis.run.analyze``."""
    from tracekit import analysis
    from tracekit.store import open_store

    return analysis.analyze(
        open_store(store),
        None if out is None else Path(out),
        seed=seed,
        engine=engine,
        progress=progress,
    )


def callgraph(
    store: str | Path,
    out: str | Path | None = None,
    *,
    mode: str = "repair",
    move: bool = True,
    jobs: int | None = None,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> CallGraphs:
    """Rebuild the call graphs of a store; see ``tracekit.callgraph.run.callgraph``."""
    from tracekit.callgraph.run import callgraph as rebuild
    from tracekit.spark import crew_of
    from tracekit.store import open_store

    return rebuild(
        open_store(store),
        None if out is None else Path(out),
        mode=mode,
        move=move,
        jobs=jobs,
        crew=crew_of(engine),
        progress=progress,
    )


def fit(
    store: str | Path,
    out: str | Path | None = None,
    *,
    binding: str | Path | None = None,
    topology: str | Path | None = None,
    compare: str | None = None,
    seed: int = 0,
    engine: str | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> Fit:
    """Fit what neighbours cost; see ``tracekit.fit.run.fit_store``.

    Parameters
    ----------
    compare : str, optional
        Names of models with commas between, or ``all``.
    **options
        Fields of ``tracekit.fit.run.Options``: ``agg``, ``nonneg``, ``load`` and so on.
    """
    from tracekit.fit.folder import write_fit
    from tracekit.fit.run import Options, fit_store, models_of
    from tracekit.store import open_store

    found = fit_store(
        open_store(store),
        binding=None if binding is None else Path(binding),
        topology=None if topology is None else Path(topology),
        options=Options(compare=models_of(compare), **options),
        seed=seed,
        engine=engine,
        progress=progress,
    )
    if out is not None:
        write_fit(found, Path(out))
    return found


def plan(store: str | Path, *, engine: str | None = None) -> Plan:
    """What one pass over a store would take, here and on an engine; see ``tracekit.query.plan``."""
    from tracekit.query.plan import plan as look
    from tracekit.store import open_store

    return look(open_store(store), engine)


def synth(
    out: str | Path,
    *,
    preset: str = "small",
    seed: int = 0,
    jobs: int = 1,
    tables: Sequence[str] = (),
    parts: Container[int] | None = None,
    progress: Progress = SILENT,
) -> SynthSummary:
    """Write a made-up trace with its planted truth; see ``tracekit.synth.write``."""
    from tracekit.synth import write

    return write(
        Path(out),
        preset=preset,
        seed=seed,
        jobs=jobs,
        tables=tables,
        parts=parts,
        progress=progress,
    )


def replay(
    store: str | Path | None,
    policies: Sequence[str] = ("all",),
    *,
    out: str | Path,
    seed: int = 0,
    assume: Sequence[str] = (),
    workload: str | Path | None = None,
    rebalance: Sequence[str] = (),
    gangs: bool = False,
    repeats: int = 1,
    jobs: int = 1,
    engine: str | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay a trace under policies and write the run folder; see ``tracekit.replay.command``."""
    from tracekit.replay.command import run_replay

    return run_replay(
        store,
        policies,
        out=out,
        seed=seed,
        assume=assume,
        workload=workload,
        rebalance=rebalance,
        gangs=gangs,
        repeats=repeats,
        jobs=jobs,
        engine=engine,
        progress=progress,
    )


def compare(
    base: str | Path,
    new: str | Path,
    *,
    fail_if: Sequence[str] = (),
    out: str | Path | None = None,
) -> Study:
    """What changed from one run to another; see ``tracekit.replay.run_compare``."""
    from tracekit.replay.run_compare import compare_runs

    return compare_runs(
        Path(base), Path(new), fail_if=fail_if, out=None if out is None else Path(out)
    )


def optimize_bench(
    out: str | Path | None = None,
    *,
    study: FunctionStudy | None = None,
    searches: Sequence[str] = (),
    functions: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = SILENT,
) -> Study:
    """Population searches on test functions; see ``tracekit.replay.optimize.function_study``."""
    from tracekit.replay.bench import bench_functions

    return bench_functions(
        None if out is None else Path(out),
        study=study,
        searches=searches,
        functions=functions,
        jobs=jobs,
        progress=progress,
    )


def placement_bench(
    out: str | Path | None = None,
    *,
    study: PlacementStudy | None = None,
    solvers: SolverStudy | None = None,
    policies: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = SILENT,
) -> Study:
    """The placement experiment of the TBESK paper; see ``tracekit.replay.placement_study``."""
    from tracekit.replay.bench import bench_placement

    return bench_placement(
        None if out is None else Path(out),
        study=study,
        solvers=solvers,
        policies=policies,
        jobs=jobs,
        progress=progress,
    )


def report(
    source: str | Path,
    out: str | Path,
    *,
    studies: Sequence[str | Path] = (),
    progress: Progress = SILENT,
) -> ReportSummary:
    """Write the report of a store, a run or a study folder; see ``tracekit.report.render``."""
    from tracekit.report import render

    return render(
        Path(source), Path(out), studies=[Path(one) for one in studies], progress=progress
    )


def run(
    source: str | Path,
    out: str | Path,
    *,
    policies: Sequence[str] = ("all",),
    seed: int = 0,
    memory_limit_bytes: int = 2**30,
    progress: Progress = SILENT,
) -> RunSummary:
    """Everything, from trace files to a report; see ``tracekit.pipeline.run``."""
    from tracekit import pipeline

    return pipeline.run(
        source,
        out,
        policies=policies,
        seed=seed,
        memory_limit_bytes=memory_limit_bytes,
        progress=progress,
    )


def vary(
    store: str | Path,
    *,
    policies: Sequence[str] = (),
    changes: Sequence[str] = (),
    measure: str = "imbalance_mean",
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Policies under changed assumptions; see ``tracekit.replay.vary``."""
    from tracekit.replay.vary import vary_assumptions

    return vary_assumptions(
        Path(store),
        policies=policies,
        changes=changes,
        measure=measure,
        seed=seed,
        jobs=jobs,
        out=None if out is None else Path(out),
        progress=progress,
    )


def listing(kind: str) -> Sequence[Mapping[str, Any]]:
    """What there is of a kind: sources, tables, queries, metrics, figures, policies, reports."""
    from tracekit import catalogue

    return catalogue.listing(kind)
