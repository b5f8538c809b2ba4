"""Rebuild the call graphs of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.analysis.callgraph.declared import MODE, Mode
from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Engine, Option, Store

if TYPE_CHECKING:
    from tracekit.analysis.callgraph.run import CallGraphs


def callgraph(
    store: Store,
    out: Annotated[str | Path | None, Option("Write calls, traces, ledger there.")] = None,
    *,
    mode: Mode = MODE,
    move: Annotated[
        bool,
        Option("Leave out every call that contradicts its parent.", names="--no-move", off=True),
    ] = True,
    jobs: Annotated[int | None, Option("Processes; one per core.", minimum=1)] = None,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> CallGraphs:
    """Rebuild the call graphs of a store; see ``tracekit.analysis.callgraph.run.callgraph``."""
    from tracekit.analysis.callgraph import run
    from tracekit.store.folder import open_store
    from tracekit.store.spark import crew_of

    return run.callgraph(
        open_store(store),
        None if out is None else Path(out),
        mode=mode,
        move=move,
        jobs=jobs,
        crew=crew_of(engine),
        progress=progress,
    )
