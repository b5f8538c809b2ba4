"""Fit what a container's neighbours cost it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracekit.fit.folder import FIT_FOLDER, write_fit
from tracekit.fit.run import Fit, Options, fit_store, models_of
from tracekit.progress import SILENT, Progress
from tracekit.store import open_store


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
    if out is not None:
        FIT_FOLDER.check_free(Path(out))
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
