"""The ledger: what contradicts or lacks in the records of traces, and what was done about it."""

from typing import Literal, get_args

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray

Defect = Literal[
    "duplicate_record",
    "rpc_id_not_a_path",
    "shifted_rpc_id",
    "missing_upstream",
    "missing_downstream",
    "several_upstreams",
    "several_downstreams",
    "swapped_ends",
    "outvoted_upstream",
    "outvoted_downstream",
    "reused_rpc_id",
    "missing_twin",
    "missing_call",
    "contradicts_parent",
    "ambiguous_parent",
    "orphan",
    "several_entries",
    "incomplete_graph",
]
Action = Literal[
    "kept",
    "left out",
    "merged",
    "kept apart",
    "inserted",
    "put in a gap",
    "moved up",
    "moved beside",
    "first taken",
    "settled",
    "named by twin",
    "named by parent",
    "named by calls below",
    "named by siblings",
    "turned round",
    "outside the trace",
]

#: What one of each defect is: a record, an rpc id, a call, a trace's entry or a trace.
UNITS: dict[Defect, str] = {
    "duplicate_record": "records",
    "rpc_id_not_a_path": "records",
    "shifted_rpc_id": "records",
    "missing_upstream": "records",
    "missing_downstream": "records",
    "several_upstreams": "rpc ids",
    "several_downstreams": "rpc ids",
    "swapped_ends": "records",
    "outvoted_upstream": "records",
    "outvoted_downstream": "records",
    "reused_rpc_id": "calls",
    "missing_twin": "records",
    "missing_call": "rpc ids",
    "contradicts_parent": "calls",
    "ambiguous_parent": "calls",
    "orphan": "calls",
    "several_entries": "entries",
    "incomplete_graph": "traces",
}
_DEFECTS = pl.Enum(get_args(Defect))
_ACTIONS = pl.Enum(get_args(Action))
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "trace": pl.Int64,
    "defect": _DEFECTS,
    "action": _ACTIONS,
    "count": pl.Int64,
}


class Ledger:
    """Counts of defects per trace and action.

    Parameters
    ----------
    traces : int
        Number of traces that places in ``note`` refer to.
    """

    def __init__(self, traces: int) -> None:
        self._traces = traces
        self._counts: dict[tuple[Defect, Action], IntArray] = {}

    def note(
        self, defect: Defect, action: Action, trace: IntArray, weight: IntArray | None = None
    ) -> None:
        """Count a defect once (or ``weight`` times) for each of the given traces."""
        if len(trace):
            counted = np.bincount(trace, weights=weight, minlength=self._traces).astype(np.int64)
            before = self._counts.get((defect, action))
            self._counts[defect, action] = counted if before is None else before + counted

    def of(self, defect: Defect) -> IntArray:
        """How often each trace has a defect, whatever was done about it; int64, shape (traces,)."""
        total = np.zeros(self._traces, dtype=np.int64)
        for (name, _), counts in self._counts.items():
            if name == defect:
                total += counts
        return total

    def frame(self) -> pl.DataFrame:
        """Columns trace (place in the traces), defect, action, count; sorted, no zeros."""
        frames = [
            pl.DataFrame({"trace": np.flatnonzero(counts), "count": counts[counts > 0]}).select(
                "trace",
                pl.lit(defect, dtype=_DEFECTS).alias("defect"),
                pl.lit(action, dtype=_ACTIONS).alias("action"),
                "count",
            )
            for (defect, action), counts in self._counts.items()
        ]
        return pl.concat([pl.DataFrame(schema=SCHEMA), *frames]).sort("trace", "defect", "action")
