"""What is reserved for a pod whose containers ask for another amount.

The scheduler reserves the larger of what containers ask for and of what init containers need, and
the overhead on top. Source: k8s.io/component-helpers resource/helpers.go, v1.33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray
from tracekit.replay.workload.resources import BASE
from tracekit.replay.workload.sized.amounts import in_columns
from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.store import Store
from tracekit.store.views import read

_PARTS = ("init", "overhead")


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """The part of requests that other requests of a pod's containers do not change.

    Parameters
    ----------
    init, overhead : float64, shape (containers, 2)
        CPU and memory, in the unit of the requests beside; 0 for none.
    """

    init: FloatArray
    overhead: FloatArray

    def reserved(self, request: FloatArray) -> FloatArray:
        """What is reserved where containers ask for ``request``; NaN stays NaN."""
        return np.asarray(np.maximum(request, self.init) + self.overhead)

    def of_containers(self, reserved: FloatArray) -> FloatArray:
        """What containers ask for at most, where so much is reserved; NaN stays NaN."""
        return np.asarray(np.maximum(reserved - self.overhead, 0.0))

    def times(self, unit: FloatArray) -> Fixed:
        """The same in other units."""
        return Fixed(init=self.init * unit, overhead=self.overhead * unit)


def nothing_fixed(containers: int) -> Fixed:
    """Of containers whose requests may change altogether."""
    shape = containers, len(BASE)
    return Fixed(init=np.zeros(shape), overhead=np.zeros(shape))


def fixed_of(store: Store, container_ids: Sequence[str]) -> Fixed:
    """What a store records of these containers, in millicores and bytes."""
    rows = read(store, "fixed_request").sort("container", "resource", "time_ms")
    rows = rows.unique(["container", "resource"], keep="first", maintain_order=True)
    rows = in_columns(rows, SizedAssumptions(), _PARTS)
    row = pl.DataFrame({"container": list(container_ids)}).with_row_index("row")
    column = pl.DataFrame({"column": BASE}).with_row_index("of")
    rows = rows.join(row, on="container").join(column, on="column")
    found = nothing_fixed(len(container_ids))
    at = rows["row"].to_numpy(), rows["of"].to_numpy()
    found.init[at] = rows["init"].fill_null(0.0).to_numpy()
    found.overhead[at] = rows["overhead"].fill_null(0.0).to_numpy()
    return found
