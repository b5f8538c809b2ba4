"""How sure the zone of each node is."""

import numpy as np
import polars as pl
from scipy.special import stdtrit

from tracekit.analysis.metrics.correlation_error import correlation_error
from tracekit.analysis.metrics.effective_samples import effective_samples
from tracekit.analysis.metrics.zone_doubt import zone_doubt
from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._blocks import blocks


def zones_confidence(inputs: Inputs) -> pl.DataFrame:
    """One row per node: its zone, and the probability that it is another one.

    Columns: node, zone, pearson_r, r_low, r_high (95 % interval of the true correlation),
    other_zone_probability (0..1), blocks, samples, cpu_effective_samples,
    memory_effective_samples (for the means), r_effective_samples (for the correlation). NULL
    where the correlation is undefined or there are fewer than four blocks of time.
    """
    cut = inputs.once(blocks)
    error = correlation_error(
        cut.samples,
        (cut.cpu_mean, cut.memory_mean),
        (cut.cpu_var, cut.memory_var),
        cut.cpu_memory_cov,
    )
    measured = pl.DataFrame(
        {
            "node": cut.node,
            "error": error,
            "blocks": (cut.samples > 0).sum(axis=1),
            "cpu_effective_samples": effective_samples(cut.cpu_mean, cut.cpu_var, cut.samples),
            "memory_effective_samples": effective_samples(
                cut.memory_mean, cut.memory_var, cut.samples
            ),
        }
    )
    profile = inputs.frames["usage/node_profile"].select("node", "zone", "pearson_r", "samples")
    return _with_doubt(profile.join(measured, on="node", how="left", maintain_order="left"))


def _with_doubt(frame: pl.DataFrame) -> pl.DataFrame:
    r = frame["pearson_r"].cast(pl.Float64).to_numpy()
    error = frame["error"].to_numpy()
    freedom = np.maximum(frame["blocks"].to_numpy() - 1, 1)
    z, reach = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), stdtrit(freedom, 0.975) * error
    positive = np.where(error > 0, error, np.nan)
    effective = np.minimum(3 + positive**-2, frame["samples"].to_numpy())
    columns = {
        "r_low": np.tanh(z - reach),
        "r_high": np.tanh(z + reach),
        "other_zone_probability": zone_doubt(r, error, freedom),
        "r_effective_samples": effective,
    }
    made = [pl.Series(name, np.where(np.isnan(r), np.nan, v)) for name, v in columns.items()]
    order = ["node", "zone", "pearson_r", "r_low", "r_high", "other_zone_probability", "blocks"]
    rest = ["cpu_effective_samples", "memory_effective_samples", "r_effective_samples"]
    whole = frame.with_columns(made).select(*order, "samples", *rest)
    floats = pl.selectors.float()
    return whole.with_columns(floats.fill_nan(None).round(9))


RESULT = Result(
    title="How sure the correlation zone of each node is",
    queries=("usage/node_profile", "usage/node_blocks"),
    function=zones_confidence,
)
