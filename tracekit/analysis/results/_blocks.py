"""The blocks of ``usage/node_blocks`` as arrays, a row for each node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.analysis.results import Inputs
from tracekit.arrays import FloatArray
from tracekit.units import MS_PER_HOUR

_VALUES = ("samples", "cpu_mean", "memory_mean", "cpu_var", "memory_var", "cpu_memory_cov")


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Moments of each node in each block of time; arrays of shape (nodes, blocks).

    Without samples in a block, ``samples`` is 0 and the moments are NaN. Nodes are in the order
    of ``node``; ``time_h`` is when each block starts, in hours, shape (blocks,).
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
    """The blocks of all nodes."""
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
