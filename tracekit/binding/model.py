"""The cost of neighbours to each service: coefficients of a fit, by the service's position."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.parquet import read_frame
from tracekit.base.opened import NoFileError
from tracekit.interference.fit.folder import FIT_FOLDER
from tracekit.interference.fit.verdict import USABLE
from tracekit.interference.vcpu.declared import AGGREGATION, Aggregation


@dataclass(frozen=True, kw_only=True)
class InterferenceModel:
    """Profiles and coefficients.

    Parameters
    ----------
    cpu : float64, shape (services,)
        CPU_svc: mean CPU of a service's containers, fraction of their own vCPUs.
    k1, k2 : float64, shape (services,)
    agg : {'mean', 'occupancy', 'sum'}
        How the fit put neighbours together.
    mode : {'bound', 'proxy', 'given'}
        What the fit knew; of a proxy k1 is 0.
    unknown : int
        Services that the fit does not know: they have the pooled profile and coefficients.
    verdict, reason : str
        Of all services together, where the fit is not to be trusted; empty where a part is usable.
    """

    cpu: FloatArray
    k1: FloatArray
    k2: FloatArray
    agg: Aggregation = AGGREGATION
    mode: str = "given"
    unknown: int = 0
    verdict: str = ""
    reason: str = ""


def model_of_fit(folder: Path, services: Sequence[str]) -> InterferenceModel:
    """The model that ``tracekit fit --out`` left in a folder, for these services.

    Raises
    ------
    TracekitError
        When the folder holds no fit, or one without any coefficient.
    """
    try:
        manifest = FIT_FOLDER.sound(folder)
        known = read_frame(folder / "coefficients.parquet")
        pooled = read_frame(folder / "pooled.parquet").row(0, named=True)
    except NoFileError:
        raise
    except (OSError, ValueError, pl.exceptions.PolarsError):
        raise TracekitError(
            f"{folder} holds no fit", hint=f"make one: tracekit fit STORE --out {folder.name}"
        ) from None
    model = model_of_frames(
        known, pooled, services, agg=manifest["options"]["agg"], mode=manifest["mode"]
    )
    if USABLE in manifest["verdicts"] or pooled["verdict"] == USABLE:
        return model
    return replace(model, verdict=pooled["verdict"], reason=pooled["reason"])


def model_of_frames(
    coefficients: pl.DataFrame,
    pooled: dict[str, object],
    services: Sequence[str],
    *,
    agg: Aggregation = AGGREGATION,
    mode: str = "bound",
) -> InterferenceModel:
    """The model of a fit's frames: ``service, cpu_mean, k1, k2``, and the pooled row."""
    if all(pooled.get(name) is None for name in ("k1", "k2")) and not (
        coefficients["k2"].is_not_null().any() or coefficients["k1"].is_not_null().any()
    ):
        raise TracekitError(
            "the fit identified no coefficient, so it says nothing of where to place",
            hint="fit with --binding and --topology, or with more containers",
        )
    wanted = pl.DataFrame({"service": list(services)}, schema={"service": pl.String})
    columns = ["service", "cpu_mean", "k1", "k2"]
    found = wanted.join(
        coefficients.select(columns), on="service", how="left", maintain_order="left"
    )
    mean = float(coefficients["cpu_mean"].mean() or 0.0)  # type: ignore[arg-type]
    usual = {"cpu_mean": mean, "k1": pooled.get("k1") or 0.0, "k2": pooled.get("k2") or 0.0}
    arrays = {name: found[name].fill_null(usual[name]).to_numpy() for name in columns[1:]}
    return InterferenceModel(
        cpu=arrays["cpu_mean"].astype(np.float64),
        k1=arrays["k1"].astype(np.float64),
        k2=arrays["k2"].astype(np.float64),
        agg=agg,
        mode=mode,
        unknown=int(found["cpu_mean"].null_count()),
    )


def model_of_truth(file: Path, services: Sequence[str]) -> InterferenceModel:
    """The planted model, from the ``truth/binding.parquet`` that ``tracekit synth`` writes.

    Raises
    ------
    TracekitError
        When the file is none, or speaks of other services.
    """
    names = ["service_id", "cpu_profile", "k1", "k2"]
    try:
        table = read_frame(file).select(names).unique("service_id")
    except (OSError, pl.exceptions.PolarsError):
        raise TracekitError(
            f"{file} holds no planted interference",
            hint="give truth/binding.parquet of a made-up trace",
        ) from None
    table = table.rename({"service_id": "service", "cpu_profile": "cpu_mean"})
    if not set(table["service"]) & set(services):
        raise TracekitError(f"{file} speaks of other services than the workload")
    means = table.select(pl.col("k1", "k2").mean()).row(0, named=True)
    return model_of_frames(table, means, services, mode="given")
