"""Results in a report beyond queries: analytics and call graphs, by name.

They are read from the folders that ``tracekit run`` writes beside the store. A missing result is
computed when a page first reads it; call graphs only for stores where that is quick.
"""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from tracekit.analysis.callgraph.run import callgraph
from tracekit.analysis.results import all_results
from tracekit.analysis.run import analyze
from tracekit.base.facts import Fact
from tracekit.base.files.places import is_remote
from tracekit.base.files.result_folder import check_sound, read_frame
from tracekit.binding.run import FRAMES as BIND_FRAMES
from tracekit.interference.binding import NothingToFitError
from tracekit.interference.run import FRAMES as FIT_FRAMES
from tracekit.interference.run import fit_store
from tracekit.interference.run import frames as fit_frames
from tracekit.report.sentences import against, change, change_interval, value
from tracekit.store.folder import NAME as MANIFEST
from tracekit.store.folder import Store

ANALYSIS, CALLGRAPH, FIT, BIND = "analysis", "callgraph", "fit", "bind"
#: The queries of this subject are about calls.
CALLS = "calls"
#: Folders that ``tracekit run`` makes, by what is in them.
FOLDERS = {ANALYSIS: "analysis", CALLGRAPH: "calls", FIT: "fit", BIND: "bound"}
#: The most calls whose graphs are computed for a page; this takes about ten seconds.
MOST_CALLS = 5_000_000
_FRAMES = ("edges", "services", "shapes", "ledger")


class Computed:
    """The results of one store, each read or computed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._frames: dict[str, Mapping[str, pl.DataFrame]] = {}
        self._places: dict[str, Path] = {}

    def frame(self, name: str) -> pl.DataFrame:
        """Return a frame such as ``analysis/<result>`` or ``fit/<frame>``; no columns if absent."""
        kind, _, what = name.partition("/")
        if kind not in self._frames:
            makers = {ANALYSIS: self._analysis, CALLGRAPH: self._callgraph}
            makers |= {FIT: self._fit, BIND: self._bind}
            self._frames[kind] = makers[kind]() if kind in makers else {}  # else an absent study
        return self._frames[kind].get(what, pl.DataFrame())

    def query(self, name: str) -> pl.DataFrame | None:
        """Return a query's rows from the analysis results; None where they lack them.

        A file of results counts only if the store has not been written since. Queries on calls are
        never run as SQL, which could take more memory than the machine has.
        """
        file = self._beside(ANALYSIS) / f"{name}.parquet"
        written = (self._store.path / MANIFEST).stat().st_mtime
        if file.is_file() and file.stat().st_mtime >= written:
            return read_frame(file)
        if ANALYSIS in self._frames or name.startswith(f"{CALLS}/"):
            result = self.frame(f"{ANALYSIS}/{name}")
            return result if result.columns else None
        return None

    def _beside(self, kind: str) -> Path:
        """The folder of the results of a kind; TracekitError where one of its files is damaged."""
        if kind not in self._places:
            self._places[kind] = self._store.path.resolve().parent / FOLDERS[kind]
            check_sound(self._places[kind])
        return self._places[kind]

    def _analysis(self) -> Mapping[str, pl.DataFrame]:
        paths = {name: self._beside(ANALYSIS) / f"{name}.parquet" for name in all_results()}
        stored = {name: read_frame(path) for name, path in paths.items() if path.is_file()}
        return stored or analyze(self._store).frames

    def _fit(self) -> Mapping[str, pl.DataFrame]:
        """The frames of a fit; without one, of a proxy where containers have use."""
        frames = self._read(FIT, FIT_FRAMES)
        if not frames and any(
            entry.rows for entry in self._store.manifest.parts("container_usage")
        ):
            with contextlib.suppress(NothingToFitError):
                frames = fit_frames(fit_store(self._store))
        return frames

    def _bind(self) -> Mapping[str, pl.DataFrame]:
        """The frames of a replay down to the vCPU; empty without one."""
        return self._read(BIND, BIND_FRAMES)

    def _read(self, kind: str, names: Iterable[str]) -> Mapping[str, pl.DataFrame]:
        paths = {name: self._beside(kind) / f"{name}.parquet" for name in names}
        return {name: read_frame(path) for name, path in paths.items() if path.is_file()}

    def _callgraph(self) -> Mapping[str, pl.DataFrame]:
        paths = {name: self._beside(CALLGRAPH) / f"{name}.parquet" for name in _FRAMES}
        frames = {name: read_frame(path) for name, path in paths.items() if path.is_file()}
        calls = sum(entry.rows for entry in self._store.manifest.parts("call"))
        if not frames and 0 < calls <= MOST_CALLS:
            graphs = callgraph(self._store)
            frames = {name: getattr(graphs, name) for name in _FRAMES}
        if "ledger" in frames and "trace" in frames["ledger"].columns:
            frames["ledger"] = total_ledger(frames["ledger"])
        return frames


def folders_of(store: Path | None) -> dict[str, Path]:
    """Return the folders of results that lie beside a store, by kind."""
    # a store on an object store has no results beside it
    if store is None or is_remote(store):
        return {}
    beside = {kind: store.parent / name for kind, name in FOLDERS.items()}
    return {kind: folder for kind, folder in beside.items() if folder.is_dir()}


def total_ledger(by_trace: pl.DataFrame) -> pl.DataFrame:
    """Return the defects of all traces, by defect and action, from a ledger of each trace."""
    return (
        by_trace.group_by("defect", "action")
        .agg(pl.col("count").sum(), pl.len().cast(pl.Int64).alias("traces"))
        .sort("count", "defect", "action", descending=[True, False, False])
    )


# Rows of a comparison of two runs, for all printers.

#: The heads of the columns of ``cells``.
HEADS = ("policy", "measure", "base", "new", "change", "95 %", "verdict")


def verdict_of(fact: Fact) -> str:
    """Return the words for the verdict on a change, or for its reason where one is given."""
    return (fact.because or fact.verdict).replace("_", " ")


def cells(fact: Fact) -> list[str]:
    """Return the cells of a change: policy, measure, both values, change, interval, verdict."""
    return [
        fact.subject,
        fact.measure,
        against(fact),
        value(fact),
        change(fact),
        change_interval(fact) or "-",
        verdict_of(fact),
    ]
