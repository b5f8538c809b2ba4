"""What a report shows beyond queries: the analytics' results and the call graphs, by name.

Both are read from the folders that ``tracekit run`` leaves beside the store; what is not there is
computed when a page first asks for it, call graphs only of stores where that is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tracekit.analysis import analyze
from tracekit.analysis.results import all_results
from tracekit.callgraph.run import callgraph
from tracekit.store.folder import Store

ANALYSIS, CALLGRAPH = "analysis", "callgraph"
#: Folders that ``tracekit run`` makes, by what is in them.
FOLDERS = {ANALYSIS: "analysis", CALLGRAPH: "calls"}
#: About ten seconds of work.
MOST_CALLS = 5_000_000
_FRAMES = ("edges", "services", "shapes", "ledger")


class Computed:
    """The results of one store, each read or computed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._frames: dict[str, Mapping[str, pl.DataFrame]] = {}

    def frame(self, name: str) -> pl.DataFrame:
        """``analysis/<result>`` or ``callgraph/<frame>``; a frame without columns if absent."""
        kind, _, what = name.partition("/")
        if kind not in self._frames:
            self._frames[kind] = self._analysis() if kind == ANALYSIS else self._callgraph()
        return self._frames[kind].get(what, pl.DataFrame())

    def _beside(self, kind: str) -> Path:
        return self._store.path.resolve().parent / FOLDERS[kind]

    def _analysis(self) -> Mapping[str, pl.DataFrame]:
        found = {name: self._beside(ANALYSIS) / f"{name}.parquet" for name in all_results()}
        there = {name: pl.read_parquet(path) for name, path in found.items() if path.is_file()}
        return there or analyze(self._store).frames

    def _callgraph(self) -> Mapping[str, pl.DataFrame]:
        found = {name: self._beside(CALLGRAPH) / f"{name}.parquet" for name in _FRAMES}
        there = {name: pl.read_parquet(path) for name, path in found.items() if path.is_file()}
        calls = sum(entry.rows for entry in self._store.manifest.parts("call"))
        if not there and 0 < calls <= MOST_CALLS:
            graphs = callgraph(self._store)
            there = {name: getattr(graphs, name) for name in _FRAMES}
        if "ledger" in there and "trace" in there["ledger"].columns:
            there["ledger"] = total_ledger(there["ledger"])
        return there


def total_ledger(by_trace: pl.DataFrame) -> pl.DataFrame:
    """The ledger of all traces from the ledger of each."""
    return (
        by_trace.group_by("defect", "action")
        .agg(pl.col("count").sum(), pl.len().cast(pl.Int64).alias("traces"))
        .sort("count", "defect", "action", descending=[True, False, False])
    )
