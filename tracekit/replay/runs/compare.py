"""Which policies differ: paired over seeds and orders of arrival, with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.replay.runs.bootstrap import LEVEL, mean_interval
from tracekit.units import percent


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A summary column that policies are compared by.

    Parameters
    ----------
    words : str
        What it is called in a sentence.
    share : bool
        Whether it is a fraction, shown in percent.
    lower_is_better : bool
    """

    words: str
    share: bool = False
    lower_is_better: bool = True


#: Columns of the summary that are compared, where a run has them.
MEASURES = {
    "imbalance_mean": Measure(words="imbalance Z"),
    "cpu_max_fraction": Measure(words="highest CPU use", share=True),
    "memory_max_fraction": Measure(words="highest memory use", share=True),
    "cpu_spread_mean_fraction": Measure(words="spread of CPU use", share=True),
    "memory_spread_mean_fraction": Measure(words="spread of memory use", share=True),
    "debris_mean_fraction": Measure(words="debris", share=True),
    "utilization_difference_mean_fraction": Measure(words="CPU less memory use", share=True),
    "overloaded_node_steps": Measure(words="overloaded node-steps"),
    "cpu_overload_mean_fraction": Measure(words="CPU overload", share=True),
    "memory_overload_mean_fraction": Measure(words="memory overload", share=True),
    "qos_share": Measure(words="QoS share", share=True, lower_is_better=False),
    "nodes_used_max": Measure(words="nodes used"),
    "pending": Measure(words="containers left waiting"),
    "moves": Measure(words="moves"),
}

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
    measures = [name for name in MEASURES if name in repeats.columns]
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
    measures = [name for name in MEASURES if name in repeats.columns]
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
            columns[interval_column(measure, part)] = values.reshape(shape)[:, at]
    return summary.join(pl.DataFrame(columns), on="policy", how="left", maintain_order="left")


def interval_column(measure: str, part: str) -> str:
    """The summary column of a part of a measure's interval: ``cpu_max_low_fraction``."""
    for unit in ("_fraction", "_share"):
        if measure.endswith(unit):
            return f"{measure.removesuffix(unit)}_{part}{unit}"
    return f"{measure}_{part}"


def sentences(
    repeats: pl.DataFrame, found: pl.DataFrame, measures: Sequence[str], *, ours: Sequence[str]
) -> list[str]:
    """Per measure, which policy is best and which of the others cannot be told apart from it.

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
    compared = [name for name in ours if name not in waiting]
    known = [name for name in measures if name in repeats.columns]
    said = [_sentence(repeats, found, name, compared) for name in known if len(compared) > 1]
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
    repeats: pl.DataFrame, found: pl.DataFrame, measure: str, compared: Sequence[str]
) -> str:
    means = {
        name: float(repeats.filter(pl.col("policy") == name)[measure].cast(pl.Float64).mean() or 0)  # type: ignore[arg-type]
        for name in compared
    }
    about = MEASURES[measure]
    pick = min if about.lower_is_better else max
    best = pick(compared, key=lambda name: means[name])
    rows = found.filter(
        (pl.col("measure") == measure)
        & ((pl.col("policy_a") == best) | (pl.col("policy_b") == best))
        & ~pl.col("separated")
    )
    others = [a if b == best else b for a, b in rows.select("policy_a", "policy_b").rows()]
    alike = [name for name in compared if name in others]
    count = repeats["repeat"].n_unique()
    value = percent(means[best]) if about.share else f"{means[best]:.4g}"
    what = "lowest" if about.lower_is_better else "highest"
    if len(alike) == len(compared) - 1:
        return f"{about.words}: no policy can be told apart from {best} ({value}), {count} orders"
    tail = f"; not told apart from it: {', '.join(alike)}" if alike else ", apart from all others"
    return f"{about.words}: {what} under {best} ({value}, {count} orders){tail}"
