"""The replay from start to end: workload, policies, run, run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay.assumptions import parse_assumptions
from tracekit.replay.parquet_workload import workload_from_parquet
from tracekit.replay.run import Run, choose_policies, replay
from tracekit.replay.run_folder import check_replaceable, write_run
from tracekit.replay.seeds import stream
from tracekit.replay.trace_workload import workload_from_store
from tracekit.replay.workload import Workload


def run_replay(
    store: Path | str | None,
    policies: Sequence[str],
    *,
    out: Path | str,
    seed: int = 0,
    assume: Sequence[str] = (),
    workload: Path | str | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay a store's trace, or a workload folder, and write the run folder ``out``.

    Raises
    ------
    TracekitError
        When neither or both are given, a name or value is not known, or ``out`` is something else
        than a run folder.
    """
    check_replaceable(Path(out))
    load = load_workload(store, workload, assume=assume, seed=seed)
    run = replay(load, choose_policies(policies, load), seed=seed, progress=progress)
    write_run(run, Path(out))
    return run


def load_workload(
    store: Path | str | None, workload: Path | str | None, *, assume: Sequence[str], seed: int
) -> Workload:
    """The workload of a store under assumptions, or of a folder of Parquet files."""
    if workload is not None:
        if assume:
            raise TracekitError(
                "a workload folder states its own sizes; --assume is for a store's trace",
                hint="leave out --assume",
            )
        return workload_from_parquet(Path(workload))
    if store is None:
        raise TracekitError(
            "nothing to replay: neither a store nor a workload folder is given",
            hint="tracekit replay STORE --out RUN, or --workload DIR",
        )
    from tracekit.store import open_store  # noqa: PLC0415 - duckdb is slow to import

    assumptions = parse_assumptions(assume)
    return workload_from_store(open_store(store), assumptions, stream(seed, "workload"))
