"""The call graphs of some whole traces, rebuilt: records in, calls with their parents out."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.analysis.callgraph import mend
from tracekit.analysis.callgraph.arrays import SEVERAL, agreed
from tracekit.analysis.callgraph.calls import Calls, as_documented, as_named, inserted, together
from tracekit.analysis.callgraph.declared import MODE, Mode
from tracekit.analysis.callgraph.ledger import Defect, Ledger
from tracekit.analysis.callgraph.places import Places, locate
from tracekit.analysis.callgraph.records import Records, arrange, as_recorded
from tracekit.analysis.callgraph.shifted import put_back
from tracekit.analysis.callgraph.tree import Tree, by_name, by_path
from tracekit.base.arrays import BoolArray, Int32Array, IntArray


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The calls of whole traces, as a forest with one or more trees for each trace."""

    mode: Mode
    records: Records
    places: Places
    calls: Calls
    tree: Tree
    ledger: Ledger

    @property
    def trace(self) -> IntArray:
        """The trace of each call, as a place in ``records.traces``."""
        return self.places.trace[self.calls.place]


def rebuild(rows: pl.DataFrame, *, mode: Mode = MODE, move: bool = True) -> Graph:
    """Rebuild the call graphs of whole traces.

    Parameters
    ----------
    rows : the columns of ``call_keyed`` and ``part``, in any order
    mode : ``naive`` takes rpc ids by their word: one call each, below the one its path names.
        ``repair`` mends names and parents by what the records tell about each other.
    move : see ``tree.by_name``
    """
    records = arrange(rows)
    places = locate(records)
    ledger = Ledger(len(records.traces))
    if mode == "repair":
        records, places = put_back(records, places, ledger)
    _note_records(records, places, ledger, mode)
    if mode == "naive":
        return _naive(records, places, ledger)
    names = mend.mend(records, places, ledger)
    calls = as_named(records, places, names)
    _note_calls(calls, places, ledger, mode)
    calls = together(calls, inserted(records, places, names))
    tree = by_name(calls, ~records.store[calls.kind], places, ledger, move=move)
    _note_settled(records, places, ledger, calls, tree)
    _note_incomplete(records, calls, places, tree, ledger)
    return Graph(mode=mode, records=records, places=places, calls=calls, tree=tree, ledger=ledger)


def _naive(records: Records, places: Places, ledger: Ledger) -> Graph:
    names = as_recorded(records)
    mend.note_missing(records, places, names, ledger)
    # what one rpc id stands for is told by mended names, although they are not used
    told = as_named(records, places, mend.mend(records, places, Ledger(len(records.traces))))
    _note_calls(told, places, ledger, "naive")
    for defect, values in _names_of_records(records):
        several = agreed(values, places.of_record, len(places)) == SEVERAL
        ledger.note(defect, "first taken", places.trace[several])
    calls = as_documented(records, places, names)
    tree = by_path(calls, places, ledger)
    _note_incomplete(records, calls, places, tree, ledger)
    return Graph(
        mode="naive", records=records, places=places, calls=calls, tree=tree, ledger=ledger
    )


def _note_records(records: Records, places: Places, ledger: Ledger, mode: Mode) -> None:
    every = np.arange(len(records.traces))
    ledger.note("duplicate_record", "merged", every, records.repeated)
    ledger.note("rpc_id_not_a_path", "left out", every, records.not_a_path)
    gaps = places.trace[~places.recorded]
    ledger.note("missing_call", "inserted" if mode == "repair" else "kept", gaps)
    entries = np.bincount(places.trace[places.entry], minlength=len(every))
    ledger.note("several_entries", "kept", every, np.maximum(entries - 1, 0))


def _note_calls(calls: Calls, places: Places, ledger: Ledger, mode: Mode) -> None:
    trace = places.trace[calls.place]
    ledger.note("missing_twin", "kept", trace, calls.missing_twins)
    number = np.bincount(calls.place, weights=calls.repeats, minlength=len(places))
    extra = np.maximum(number.astype(np.int64) - 1, 0)
    ledger.note(
        "reused_rpc_id", "kept apart" if mode == "repair" else "merged", places.trace, extra
    )


def _names_of_records(records: Records) -> tuple[tuple[Defect, Int32Array], ...]:
    return (
        ("several_upstreams", records.upstream),
        ("several_downstreams", records.downstream),
    )


def _note_settled(
    records: Records, places: Places, ledger: Ledger, calls: Calls, tree: Tree
) -> None:
    """Whether one name is left where the records of one rpc id gave several."""
    ends = (calls.upstream, calls.downstream)
    for (defect, recorded), left in zip(_names_of_records(records), ends, strict=True):
        several = agreed(recorded, places.of_record, len(places)) == SEVERAL
        still = _still_several(left, calls, tree, len(places))
        ledger.note(defect, "kept apart", places.trace[several & still])
        ledger.note(defect, "settled", places.trace[several & ~still])


def _note_incomplete(
    records: Records, calls: Calls, places: Places, tree: Tree, ledger: Ledger
) -> None:
    """The traces of whose calls or records some are in no graph."""
    lacks = records.not_a_path > 0
    lacks[places.trace[calls.place[~tree.kept]]] = True
    ledger.note("incomplete_graph", "left out", np.flatnonzero(lacks))


def _still_several(names: Int32Array, calls: Calls, tree: Tree, places: int) -> BoolArray:
    several: BoolArray = agreed(names, np.where(tree.kept, calls.place, -1), places) == SEVERAL
    return several
