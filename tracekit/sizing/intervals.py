"""Means over seeds with intervals, and how the agent differs from each other policy."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import stdtrit

from tracekit.analysis.metrics import LEVEL
from tracekit.base.arrays import FloatArray
from tracekit.sizing.measures import MEASURES

AGENT = "ddqn"


def interval(values: FloatArray) -> tuple[float, float | None, float | None]:
    """Mean and its 95 % interval by Student's t over seeds; no interval from one seed."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None, None
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, (1 + LEVEL) / 2)) * error
    return mean, mean - half, mean + half


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """policy, measure, mean, low, high, seeds; policies in the order they came in."""
    rows = []
    for (policy,), frame in table.group_by("policy", maintain_order=True):
        for measure in MEASURES:
            values = frame[measure].to_numpy()
            rows.append((policy, measure, *interval(values), len(values)))
    return _frame(rows, ["policy", "measure", "mean", "low", "high", "seeds"])


def differences(table: pl.DataFrame) -> pl.DataFrame:
    """Agent minus other policy, seed by seed: agent, policy, measure, mean, low, high, seeds."""
    rows = []
    frames = {str(key[0]): frame for key, frame in table.group_by("policy", maintain_order=True)}
    for agent in (name for name in frames if is_agent(name)):
        for other in (name for name in frames if name != agent):
            for measure in MEASURES:
                gap = (frames[agent][measure] - frames[other][measure]).to_numpy()
                rows.append((agent, other, measure, *interval(gap), len(gap)))
    return _frame(rows, ["agent", "policy", "measure", "mean", "low", "high", "seeds"])


def is_agent(policy: str) -> bool:
    """Whether a policy's text spells the learning agent."""
    return policy.partition("[")[0] == AGENT


def _frame(rows: Sequence[tuple[object, ...]], names: list[str]) -> pl.DataFrame:
    kinds = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "seeds": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")
