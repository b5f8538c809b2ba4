"""Fit what a container's neighbours cost it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.base.progress import SILENT, Progress
from tracekit.interference.fit.how import Loss, Nonneg, Ridge
from tracekit.interference.fit.options import Load, Options, Resolved
from tracekit.interference.vcpu.declared import (
    SOCKETS,
    THREADS_PER_CORE,
    Aggregation,
    Sockets,
    ThreadsPerCore,
)
from tracekit.verbs._options import Engine, Frames, Option, Seed, Store

if TYPE_CHECKING:
    from tracekit.interference.fit.run import Fit


def fit(
    store: Store,
    out: Frames = None,
    *,
    binding: Annotated[
        str | Path | None,
        Option("Rows of instance_id, node_ip, cpu_list, cpu_util (CSV, Parquet)."),
    ] = None,
    topology: Annotated[
        str | Path | None,
        Option("Rows of node_ip, cpu_num_total, socket_num; or 'lscpu -p' output."),
    ] = None,
    sockets: Sockets = SOCKETS,
    threads_per_core: Annotated[ThreadsPerCore, Option(names="--threads")] = THREADS_PER_CORE,
    agg: Aggregation = Options.agg,
    nonneg: Nonneg = Options.nonneg,
    loss: Loss = Options.loss,
    ridge: Ridge = Options.ridge,
    load: Load = Options.load,
    resolved: Resolved = Options.resolved,
    shrink: Annotated[
        bool,
        Option(
            "Each service keeps its own k2, however little its rows tell.",
            names="--own-k2",
            off=True,
        ),
    ] = Options.shrink,
    compare: Annotated[
        str | None,
        Option("Models to compare; or a file PATH.py of your own.", metavar="all|NAME,..."),
    ] = None,
    seed: Seed = 0,
    engine: Engine = None,
    progress: Progress = SILENT,
    **further: Any,
) -> Fit:
    """Fit what neighbours cost; see ``tracekit.interference.fit.run.fit_store``.

    Parameters
    ----------
    compare : str, optional
        Names of models with commas between, or ``all``.
    **further
        Other fields of ``tracekit.interference.fit.options.Options``: ``window_ms``, ``level``.
    """
    from tracekit.base.files.places import place
    from tracekit.interference.fit.folder import FIT_FOLDER, write_fit
    from tracekit.interference.fit.run import fit_store, models_of
    from tracekit.store.folder import open_store

    if out is not None:
        FIT_FOLDER.check_free(Path(out))
    options = Options(
        compare=models_of(compare),
        agg=agg,
        nonneg=nonneg,
        loss=loss,
        ridge=ridge,
        load=load,
        resolved=resolved,
        shrink=shrink,
        **further,
    )
    found = fit_store(
        open_store(store),
        binding=None if binding is None else place(binding),
        topology=None if topology is None else place(topology),
        sockets=sockets,
        threads_per_core=threads_per_core,
        options=options,
        seed=seed,
        engine=engine,
        progress=progress,
    )
    if out is not None:
        write_fit(found, Path(out))
    return found
