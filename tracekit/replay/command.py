"""The replay from start to end: workload, policies, run, run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay.assumptions import parse_assumptions
from tracekit.replay.repeat import repeat_replay
from tracekit.replay.run import Run, choose_policies, replay
from tracekit.replay.run_folder import check_replaceable, write_run
from tracekit.replay.seeds import stream
from tracekit.replay.trace_workload import workload_from_store
from tracekit.replay.workload import Workload
from tracekit.replay.workloads import load_workload as load_other_workload


def run_replay(
    store: Path | str | None,
    policies: Sequence[str],
    *,
    out: Path | str,
    seed: int = 0,
    assume: Sequence[str] = (),
    workload: Path | str | None = None,
    repeats: int = 1,
    progress: Progress = SILENT,
) -> Run:
    """Replay a store's trace, or another workload, and write the run folder ``out``.

    Parameters
    ----------
    workload : path or str, optional
        What ``tracekit.replay.workloads.load_workload`` understands.
    repeats : int
        How many orders of arrival; more than one give the run intervals and differences.

    Raises
    ------
    TracekitError
        When neither or both are given, a name or value is not known, or ``out`` is something else
        than a run folder.
    """
    check_replaceable(Path(out))
    load = load_workload(store, workload, assume=assume, seed=seed)
    check_feasible(load)
    chosen = choose_policies(policies, load)
    run = (
        replay(load, chosen, seed=seed, progress=progress)
        if repeats == 1
        else repeat_replay(load, chosen, seed=seed, repeats=repeats, progress=progress)
    )
    write_run(run, Path(out), store=None if store is None else Path(store))
    return run


def load_workload(
    store: Path | str | None, workload: Path | str | None, *, assume: Sequence[str], seed: int
) -> Workload:
    """The workload of a store, or of another source, under assumptions."""
    if (workload is None) == (store is None):
        given = (
            "neither a store nor a workload is" if store is None else "a store and a workload are"
        )
        raise TracekitError(
            f"{given} given, expected one of them",
            hint="tracekit replay STORE --out RUN, or --workload WORKLOAD --out RUN",
        )
    rng = stream(seed, "workload")
    if workload is not None:
        return load_other_workload(str(workload), rng, assume=assume)
    from tracekit.store import open_store  # noqa: PLC0415 - duckdb is slow to import

    return workload_from_store(open_store(str(store)), parse_assumptions(assume), rng)


def check_feasible(load: Workload) -> None:
    """Raise TracekitError when no container fits on any node, even an empty one.

    Some that fit on none are no error: they wait to the end, and are counted.
    """
    large = load.too_large()
    if len(large) == load.containers:
        raise TracekitError(
            f"no container of workload '{load.name}' fits on any node: {too_large(load)}",
            hint="check the units: millicores and bytes",
        )


def too_large(load: Workload) -> str | None:
    """A clause about containers that fit on no node, None where there are none."""
    large = load.too_large()
    if not len(large):
        return None
    asked = load.request[large[0]]
    column = int(np.argmax(asked / np.maximum(load.capacity.max(axis=0), 1)))
    name = load.resources[column]
    return (
        f"'{load.container_ids[large[0]]}' requests {asked[column]:,} {name},"
        f" the largest node has {load.capacity[:, column].max():,}"
    )
