"""Fit what a container's neighbours cost it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tracekit.progress import SILENT, Progress
from tracekit.verbs._options import Engine, Frames, Option, Seed, Store

if TYPE_CHECKING:
    from tracekit.fit.run import Fit


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
    sockets: Annotated[int, Option("Sockets of a host, without --topology.", minimum=1)] = 2,
    threads_per_core: Annotated[
        int, Option("vCPUs of a core, without --topology.", minimum=1, names="--threads")
    ] = 2,
    agg: Annotated[Literal["mean", "occupancy", "sum"], Option("How neighbours add up.")] = "mean",
    nonneg: Annotated[bool, Option("No negative coefficient.")] = False,
    loss: Annotated[Literal["squared", "huber"], Option("huber: outliers pull less.")] = "squared",
    ridge: Annotated[float, Option("Penalty on coefficients, in rows.", minimum=0)] = 0.0,
    load: Annotated[bool, Option("Call rate as a further regressor.")] = False,
    resolved: Annotated[bool, Option("A row per time instead of averages.")] = False,
    shrink: Annotated[
        bool,
        Option(
            "Each service keeps its own k2, however little its rows tell.",
            names="--own-k2",
            off=True,
        ),
    ] = True,
    compare: Annotated[
        str | None,
        Option("Models to compare; or a file PATH.py of your own.", metavar="all|NAME,..."),
    ] = None,
    seed: Seed = 0,
    engine: Engine = None,
    progress: Progress = SILENT,
    **further: Any,
) -> Fit:
    """Fit what neighbours cost; see ``tracekit.fit.run.fit_store``.

    Parameters
    ----------
    compare : str, optional
        Names of models with commas between, or ``all``.
    **further
        Other fields of ``tracekit.fit.run.Options``: ``window_ms``, ``level``.
    """
    from tracekit.fit.folder import FIT_FOLDER, write_fit
    from tracekit.fit.run import Options, fit_store, models_of
    from tracekit.store import open_store

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
        binding=None if binding is None else Path(binding),
        topology=None if topology is None else Path(topology),
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
