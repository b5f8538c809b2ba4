"""The training curve: what each epoch came to, and how it moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import polars as pl

from tracekit.sizing.agent.train import Epoch

#: Epochs of the moving mean and band.
WINDOW = 50


def training_frame(logs: Mapping[tuple[str, int], Sequence[Epoch]]) -> pl.DataFrame:
    """One row per policy, seed and epoch, with moving means with a band of one deviation.

    The window holds the last 50 epochs of the same phase, fewer at its beginning.
    """
    rows = [
        {"policy": policy, "seed": seed, **asdict(epoch)}
        for (policy, seed), log in logs.items()
        for epoch in log
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("loss").fill_nan(None))
    over = ["policy", "seed", "phase"]
    bands = []
    for name in ("reward", "overflow_share"):
        mean = pl.col(name).rolling_mean(WINDOW, min_samples=1).over(over)
        spread = pl.col(name).rolling_std(WINDOW, min_samples=1).fill_nan(0).fill_null(0).over(over)
        bands += [
            mean.alias(f"{name}_mean"),
            (mean - spread).alias(f"{name}_low"),
            (mean + spread).alias(f"{name}_high"),
        ]
    return frame.with_columns(*bands)
