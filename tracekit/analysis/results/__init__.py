"""Results that are computed from the rows of queries, several in a file.

Intervals are bootstrapped over nodes; ``Blocks`` are the rows of ``usage/node_blocks`` as arrays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import polars as pl

from tracekit.analysis.metrics.correlation import bootstrap_interval, resampling_matrix
from tracekit.base import registry
from tracekit.base.arrays import FloatArray, labelled
from tracekit.base.units import MS_PER_HOUR
from tracekit.store.query.run import AnyDatabase

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The argument of the function of a ``Result``: the database, and rows of queries by name.

    Each result draws random numbers under labels of its own, so no result changes another.
    """

    database: AnyDatabase
    frames: dict[str, pl.DataFrame]
    seed: int = 0
    _done: dict[Any, Any] = field(default_factory=dict)
    _one_at_a_time: RLock = field(default_factory=RLock)

    def rng(self, label: str) -> np.random.Generator:
        """Return a random generator that depends on the seed and this label only."""
        return labelled(self.seed, label)

    def once(self, function: Callable[[Inputs], T]) -> T:
        """Return ``function(self)``, computed at the first call and kept for all results."""
        with self._one_at_a_time:
            if function not in self._done:
                self._done[function] = function(self)
        value: T = self._done[function]
        return value


@dataclass(frozen=True, kw_only=True)
class Result:
    """A computed table of the analysis; its name is that of its function.

    Parameters
    ----------
    title : str
        The question that the rows answer.
    queries : tuple of str
        The queries whose rows the function needs.
    tables : tuple of str
        Base tables that the function reads.
    function : callable
        Inputs in, frame out; its docstring names the columns.
    """

    title: str
    queries: tuple[str, ...]
    tables: tuple[str, ...] = ()
    function: Callable[[Inputs], pl.DataFrame]


_RESULTS: dict[str, Result] = {}
Computed = Callable[[Inputs], pl.DataFrame]


def result(
    title: str, queries: tuple[str, ...], tables: tuple[str, ...] = ()
) -> Callable[[Computed], Computed]:
    """Return a decorator that registers a function of ``Inputs`` as a ``Result``."""

    def noted(function: Computed) -> Computed:
        made = Result(title=title, queries=queries, tables=tables, function=function)
        _RESULTS[function.__name__] = made
        return function

    return noted


def all_results() -> dict[str, Result]:
    """Return every computed result, by name."""
    for name in registry.module_names(sys.modules[__name__]):
        importlib.import_module(f"{__name__}.{name}")
    return dict(sorted(_RESULTS.items()))


_VALUES = ("samples", "cpu_mean", "memory_mean", "cpu_var", "memory_var", "cpu_memory_cov")


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """The rows of ``usage/node_blocks`` as arrays of shape (nodes, blocks).

    A value is the mean, variance or covariance of a node's use in a block of time. In a block
    without samples, ``samples`` is 0 and these values are NaN. ``node`` has the node of each row,
    and ``time_h`` the start of each block in hours, shape (blocks,).
    """

    node: pl.Series
    time_h: FloatArray
    samples: FloatArray
    cpu_mean: FloatArray
    memory_mean: FloatArray
    cpu_var: FloatArray
    memory_var: FloatArray
    cpu_memory_cov: FloatArray


def blocks(inputs: Inputs) -> Blocks:
    """Return the rows of the query ``usage/node_blocks`` as ``Blocks``."""
    frame = inputs.frames["usage/node_blocks"]
    row = frame["node"].rle_id().to_numpy() if frame.height else np.zeros(0, dtype=np.int64)
    starts, column = np.unique(frame["block_start_ms"].to_numpy(), return_inverse=True)
    nodes = frame["node"].unique(maintain_order=True)
    arrays = {}
    for name in _VALUES:
        array = np.full((len(nodes), len(starts)), np.nan)
        array[row, column] = frame[name].to_numpy()
        arrays[name] = array
    arrays["samples"] = np.nan_to_num(arrays["samples"])
    return Blocks(node=nodes, time_h=starts / MS_PER_HOUR, **arrays)


REPLICATES = 1000


def means_with_intervals(inputs: Inputs, parts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return one row for each mean: its measure, value, 95 % interval and standard error.

    Parameters
    ----------
    parts : DataFrame
        A row for each node and measure: ``keys``, ``measure``, ``node``, ``total`` and
        ``weight``; the mean is the sum of totals / the sum of weights.
    keys : sequence of str
        Columns that name the group of a mean.

    Returns
    -------
    DataFrame
        ``keys``, measure, mean, low, high, standard_error, nodes.
    """
    names = [*keys, "measure"]
    means = (
        parts.group_by(names)
        .agg(
            (pl.col("total").sum() / pl.col("weight").sum()).alias("mean"),
            (pl.col("weight") > 0).sum().cast(pl.Int64).alias("nodes"),
        )
        .sort(names)
    )
    low, high, error = bootstrap_interval(
        *_by_node(inputs, parts, means, names), inputs.once(_drawn)
    )
    limits = (pl.Series("low", low), pl.Series("high", high), pl.Series("standard_error", error))
    joined = means.with_columns(limits)
    return joined.select(*names, "mean", "low", "high", "standard_error", "nodes").with_columns(
        pl.selectors.float().fill_nan(None).round(9)
    )


def _by_node(
    inputs: Inputs, parts: pl.DataFrame, means: pl.DataFrame, names: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Totals and weights, shape (nodes, means)."""
    nodes = inputs.once(_nodes)
    placed = parts.join(nodes.with_row_index("row"), on="node").join(
        means.select(names).with_row_index("column"), on=names
    )
    at = placed["row"].to_numpy(), placed["column"].to_numpy()
    arrays = np.zeros((2, nodes.height, means.height))
    arrays[0][at] = placed["total"].fill_null(0).to_numpy()
    arrays[1][at] = placed["weight"].fill_null(0).to_numpy()
    return arrays[0], arrays[1]


def _nodes(inputs: Inputs) -> pl.DataFrame:
    """Every node with recorded use or containers."""
    listed = [
        inputs.frames[name].select("node")
        for name in ("usage/node_profile", "usage/node_containers")
        if name in inputs.frames
    ]
    return pl.concat(listed).unique().sort("node")


def _drawn(inputs: Inputs) -> FloatArray:
    """One resampling matrix for every table."""
    return resampling_matrix(inputs.rng("nodes"), inputs.once(_nodes).height, REPLICATES)
