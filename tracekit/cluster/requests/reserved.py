"""What a pod reserves if its containers' requests are changed.

The scheduler reserves the larger of the containers' requests and of what init containers need, and
adds the overhead. Source: k8s.io/component-helpers resource/helpers.go, v1.33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.cluster.assembly.amounts import in_columns
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.resources import BASE
from tracekit.store.folder import Store
from tracekit.store.views import read

_PARTS = ("init", "overhead", "own_request", "own_limit")


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """The part of a pod's request that does not change with its containers' requests.

    Parameters
    ----------
    known : bool, shape (containers, 2)
        Whether the pod has such a part, of CPU and of memory.
    init, overhead : float64, shape (containers, 2)
        In the unit of the requests beside; 0 for none.
    own_request, own_limit : float64, shape (containers, 2)
        The sum of the requests, and of the limits, of the pod's containers where ``known``; NaN
        for none.
    """

    known: BoolArray
    init: FloatArray
    overhead: FloatArray
    own_request: FloatArray
    own_limit: FloatArray

    def reserved(self, request: FloatArray) -> FloatArray:
        """The amount that is reserved if containers request ``request``; NaN stays NaN."""
        return np.asarray(np.maximum(request, self.init) + self.overhead)

    def times(self, unit: FloatArray) -> Fixed:
        """The same amounts in other units."""
        return Fixed(known=self.known, **{name: getattr(self, name) * unit for name in _PARTS})


def nothing_fixed(containers: int) -> Fixed:
    """For containers whose whole request may change."""
    shape = containers, len(BASE)
    return Fixed(
        known=np.zeros(shape, dtype=np.bool_),
        **dict.fromkeys(("init", "overhead"), np.zeros(shape)),
        **dict.fromkeys(("own_request", "own_limit"), np.full(shape, np.nan)),
    )


def fixed_of(store: Store, container_ids: Sequence[str]) -> Fixed:
    """The fixed parts that a store records for these containers, in millicores and bytes."""
    rows = read(store, "fixed_request").sort("container", "resource", "time_ms")
    rows = rows.unique(["container", "resource"], keep="first", maintain_order=True)
    rows = in_columns(rows, SizedAssumptions(), _PARTS)
    row = pl.DataFrame({"container": list(container_ids)}).with_row_index("row")
    column = pl.DataFrame({"column": BASE}).with_row_index("of")
    rows = rows.join(row, on="container").join(column, on="column")
    rows = rows.with_columns(pl.col("init", "overhead").fill_null(0.0))
    at = rows["row"].to_numpy(), rows["of"].to_numpy()
    none = nothing_fixed(len(container_ids))
    known = none.known.copy()
    known[at] = True
    parts = {name: getattr(none, name).copy() for name in _PARTS}
    for name, values in parts.items():
        values[at] = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return Fixed(known=known, **parts)
