"""Which policies differ: paired over seeds and orders of arrival, with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.replay.measures import Measure, all_measures, compared, part_column
from tracekit.replay.runs.bootstrap import LEVEL, mean_interval
from tracekit.units import percent

#: More names than this are counted.
_NAMED = 4

_SCHEMA = {
    "policy_a": pl.String,
    "policy_b": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "separated": pl.Boolean,
    "all_placed": pl.Boolean,
}


def differences(
    repeats: pl.DataFrame, rng: np.random.Generator, *, level: float = LEVEL
) -> pl.DataFrame:
    """Every pair of policies by every measure: a's value less b's, over the repeats.

    Parameters
    ----------
    repeats : DataFrame
        One row per repeat and policy: ``repeat``, ``policy``, ``pending`` and measures.
    level : float
        Confidence level of each interval; pairs and measures are many, each is judged alone.

    Returns
    -------
    DataFrame
        policy_a, policy_b, measure, repeats, difference_mean, low, high; ``separated`` where the
        interval excludes 0; ``all_placed`` where neither policy ever left a container waiting, so
        that both carried the same load.
    """
    names = repeats["policy"].unique(maintain_order=True).to_list()
    measures = [name for name in compared() if name in repeats.columns]
    pairs = list(itertools.combinations(range(len(names)), 2))
    if not pairs or not measures:
        return pl.DataFrame(schema=_SCHEMA)
    cube = _cube(repeats, names, measures)
    first, second = np.array(pairs).T
    apart = cube[:, first] - cube[:, second]
    count = len(cube)
    interval = mean_interval(apart.reshape(count, -1), rng, level=level)
    placed = (_cube(repeats, names, ["pending"])[:, :, 0] == 0).all(axis=0)
    return pl.DataFrame(
        {
            "policy_a": np.repeat([names[at] for at in first], len(measures)).tolist(),
            "policy_b": np.repeat([names[at] for at in second], len(measures)).tolist(),
            "measure": measures * len(pairs),
            "repeats": [count] * (len(pairs) * len(measures)),
            "difference_mean": interval.mean,
            "low": interval.low,
            "high": interval.high,
            "separated": interval.separated(count),
            "all_placed": np.repeat(placed[first] & placed[second], len(measures)),
        },
        schema=_SCHEMA,
    )


def _cube(repeats: pl.DataFrame, names: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """Values, shape (repeats, policies, columns)."""
    order = {name: at for at, name in enumerate(names)}
    rows = repeats.with_columns(at=pl.col("policy").replace_strict(order)).sort("repeat", "at")
    values = rows.select(pl.col(name).cast(pl.Float64) for name in columns).to_numpy()
    return np.asarray(values, np.float64).reshape(-1, len(names), len(columns))


def with_intervals(
    summary: pl.DataFrame,
    repeats: pl.DataFrame,
    rng: np.random.Generator,
    *,
    level: float = LEVEL,
) -> pl.DataFrame:
    """The summary with columns ``<measure>_repeats``, ``_low`` and ``_high`` before the unit.

    They hold the mean over the repeats and the limits of its interval; NULL for policies that were
    not repeated, as the bound.
    """
    names = repeats["policy"].unique(maintain_order=True).to_list()
    measures = [name for name in compared() if name in repeats.columns]
    cube = _cube(repeats, names, measures)
    interval = mean_interval(cube.reshape(len(cube), -1), rng, level=level)
    shape = (len(names), len(measures))
    columns: dict[str, object] = {"policy": names}
    for part, values in (
        ("repeats", interval.mean),
        ("low", interval.low),
        ("high", interval.high),
    ):
        for at, measure in enumerate(measures):
            columns[part_column(measure, part)] = values.reshape(shape)[:, at]
    return summary.join(pl.DataFrame(columns), on="policy", how="left", maintain_order="left")


def sentences(repeats: pl.DataFrame, found: pl.DataFrame, *, ours: Sequence[str]) -> list[str]:
    """Per measure that is spoken of: the best policy, and those within chance of it.

    Of a measure of which neither end is better it is said who has the lowest.

    Parameters
    ----------
    repeats, found : DataFrame
        As ``differences`` takes and gives them.
    ours : sequence of str
        The policies to speak of; one that left containers waiting is named and not compared, nor
        is one that met a single order.
    """
    repeated = set(repeats["policy"])
    once = [name for name in ours if name not in repeated]
    ours = [name for name in ours if name in repeated]
    waiting = repeats.filter(pl.col("pending") > 0)["policy"].unique().to_list()
    rivals = [name for name in ours if name not in waiting]
    spoken = [one for name, one in all_measures().items() if one.spoken and name in repeats.columns]
    said = [_sentence(repeats, found, one, rivals) for one in spoken if len(rivals) > 1]
    left = [name for name in ours if name in waiting]
    if left:
        said.append(f"left containers waiting, so not compared: {', '.join(left)}")
    if once and said:
        said.append(f"met one order of arrival alone, so not compared: {_few(once)}")
    return said


def _few(names: Sequence[str]) -> str:
    """The names, or how many they are where a sentence cannot hold them."""
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} other policies"


def _sentence(
    repeats: pl.DataFrame, found: pl.DataFrame, measure: Measure, rivals: Sequence[str]
) -> str:
    mean = pl.col(measure.name).cast(pl.Float64).mean().fill_null(0.0)
    means = {name: repeats.filter(policy=name).select(mean).item() for name in rivals}
    pick = min if measure.first == "low" else max
    best = pick(rivals, key=lambda name: means[name])
    rows = found.filter(
        (pl.col("measure") == measure.name)
        & ((pl.col("policy_a") == best) | (pl.col("policy_b") == best))
        & ~pl.col("separated")
    )
    others = [a if b == best else b for a, b in rows.select("policy_a", "policy_b").rows()]
    alike = [name for name in rivals if name in others]
    count = repeats["repeat"].n_unique()
    value = percent(means[best]) if measure.share else f"{means[best]:.4g}"
    what = "lowest" if measure.first == "low" else "highest"
    if len(alike) == len(rivals) - 1:
        same = f"no policy differs beyond chance from {best} ({value})"
        return f"{measure.title}: {same}, {count} orders"
    tail = f"; within chance of it: {', '.join(alike)}" if alike else "; all others differ"
    return f"{measure.title}: {what} under {best} ({value}, {count} orders){tail}"
