"""Which policies differ over several orders of arrival, as frames of a run."""

import itertools
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.intervals import decisive, differences_of, interval_of
from tracekit.replay.chance.student import FEWEST, Compared
from tracekit.replay.measures import part_column
from tracekit.replay.runs.results import Results

_SCHEMA = {
    "policy_a": pl.String,
    "policy_b": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_corrected": pl.Float64,
    "separated": pl.Boolean,
    "family": pl.String,
    "all_placed": pl.Boolean,
}


def differences(results: Results) -> pl.DataFrame:
    """Every pair of the policies that met every order, by every measure: a's value less b's.

    Returns
    -------
    DataFrame
        policy_a, policy_b, measure, repeats, difference_mean; low, high: its interval at the level
        that the family of all comparisons leaves it; p of it alone and p_corrected after Holm;
        ``separated`` where it is beyond chance; family: whether it is one of the comparisons that
        a decision asks for, to which most of what may go wrong is left, or one of the ``others``,
        so that p_corrected of the one and of the other do not rank alike; ``all_placed`` where
        neither policy ever left a container waiting, so that both carried the same load.
    """
    most = results.most_orders
    names = [name for name in results.policies if results.orders(name) == most]
    first = {name: group[0] for group in results.groups for name in group}
    waited = {
        name: results.has_value(name, "pending") and bool(results.of(name, "pending").any())
        for name in names
    }
    columns: dict[str, list[Any]] = {name: [] for name in _SCHEMA}
    for one, other in itertools.combinations(names, 2):
        columns["measure"] += results.measures
        for name, value in (
            ("policy_a", one),
            ("policy_b", other),
            ("repeats", most),
            ("all_placed", not (waited[one] or waited[other])),
        ):
            columns[name] += [value] * len(results.measures)
        part = _part(results, first[one], first[other])
        columns["family"] += _families(results, first[one], first[other])
        columns["difference_mean"] += part.mean.tolist()
        for name in ("low", "high", "p", "p_corrected", "separated"):
            columns[name] += getattr(part, name).tolist()
    if most < FEWEST:
        columns["low"] = columns["high"] = [None] * len(columns["low"])
    made = pl.DataFrame(columns, schema=_SCHEMA, strict=False)
    return made.with_columns(pl.col("low", "high", "p", "p_corrected").fill_nan(None))


def _families(results: Results, one: str, other: str) -> list[str | None]:
    """The family of a pair by measure; none where the two place alike."""
    if one == other:
        return [None] * len(results.measures)
    pairs, _ = differences_of(results)
    pair = (one, other) if (one, other) in pairs else (other, one)
    return ["decision" if ours else "others" for ours in decisive(results, [pair]).tolist()]


def _part(results: Results, one: str, other: str) -> Compared:
    """The difference of two policies by each measure; no rows where they place alike."""
    many = len(results.measures)
    if one == other:
        none, unknown = np.zeros(many), np.full(many, np.nan)
        return Compared(
            mean=none,
            low=none,
            high=none,
            p=unknown,
            p_corrected=unknown,
            separated=np.zeros(many, dtype=np.bool_),
        )
    pairs, tested = differences_of(results)
    turned = (one, other) not in pairs
    at = pairs[(other, one) if turned else (one, other)] * many
    return tested.part(slice(at, at + many), turned=turned)


def with_intervals(results: Results) -> pl.DataFrame:
    """The summary with ``<measure>_repeats``, ``_low`` and ``_high``, each before its unit.

    They hold the mean over the repeats and the limits of its interval, which are those of
    ``Standing``; NULL for policies that were not repeated, as the bound.
    """
    names = [name for name in results.policies if results.orders(name) > 1]
    intervals = {name: interval_of(results, name) for name in names}
    columns: dict[str, list[object]] = {"policy": list(names)}
    for part in ("repeats", "low", "high"):
        field = "mean" if part == "repeats" else part
        for at, measure in enumerate(results.measures):
            values = [float(getattr(intervals[name], field)[at]) for name in names]
            columns[part_column(measure, part)] = [None if np.isnan(v) else v for v in values]
    kinds = {name: pl.String if name == "policy" else pl.Float64 for name in columns}
    made = pl.DataFrame(columns, schema=kinds)
    return results.summary.join(made, on="policy", how="left", maintain_order="left")
