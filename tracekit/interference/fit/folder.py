"""The folder of a fit: what ``tracekit fit --out`` writes and a replay or a report reads."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl

from tracekit._version import VERSION
from tracekit.base.files.result_folder import ResultFolder
from tracekit.interference.fit.run import Fit

SCHEMA = "tracekit/fit/1"
FIT_FOLDER = ResultFolder(what="fit", schema=SCHEMA)
FRAMES = ("coefficients", "pooled", "rows", "compared", "rejects", "bindings")


def document(fit: Fit) -> dict[str, Any]:
    """A fit in one JSON document, but for its rows."""
    services = fit.fitted.services
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "mode": fit.mode,
        "seed": fit.seed,
        "options": dataclasses.asdict(fit.options),
        "rows": fit.rows.height,
        "rejected": fit.rejects.height,
        "left_out": fit.left_out,
        "remarks": [one.document() for one in fit.remarks],
        "verdicts": dict(sorted(services["verdict"].value_counts().iter_rows())),
        "bases": dict(sorted(services["basis"].value_counts().iter_rows())),
        "pooled": fit.fitted.pooled.row(0, named=True),
        "totals": list(fit.totals),
        "compared": fit.compared.to_dicts(),
    }


def frames(fit: Fit) -> dict[str, pl.DataFrame]:
    """The frames of a fit, by the names of their files; ``mode`` stands in every row."""
    found = {
        "coefficients": fit.fitted.services,
        "pooled": fit.fitted.pooled,
        "rows": fit.rows,
        "compared": fit.compared,
        "rejects": fit.rejects,
        "bindings": fit.bindings,
    }
    return {
        name: frame.with_columns(pl.lit(fit.mode).alias("mode")) for name, frame in found.items()
    }


def write_fit(fit: Fit, out: Path) -> None:
    """Write a fit; the same fit gives the same bytes.

    Raises
    ------
    TracekitError
        When ``out`` holds anything but a fit.
    """
    FIT_FOLDER.write(out, document(fit), frames(fit))
