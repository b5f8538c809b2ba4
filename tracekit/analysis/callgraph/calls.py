"""Calls: made of the records of each place (an rpc id of a trace)."""

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.callgraph.places import Places
from tracekit.analysis.callgraph.records import UNKNOWN, Names, Records, agreed, at_or, most
from tracekit.base.arrays import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The calls of some traces, one element a call; arrays of shape (calls,).

    Calls are sorted by place (an rpc id of one trace), and at one place by type.

    Parameters
    ----------
    place : int64
        The position of the call's rpc id in ``Places``.
    upstream, downstream, interface : int32
        Keys of the calling service, the called service and the interface; ``UNKNOWN`` if missing.
    repeats : int64
        The number of calls with these names under this rpc id.
    missing_twins : int64
        The number of missing records; both ends should record each of the calls.
    duration_ms : float64
        The time that the calling end waited, or, if not recorded, that the called end worked; the
        longest of repeats.
    by_caller, by_callee : bool
        Whether each end recorded the call; both are False for an inserted call.
    """

    place: IntArray
    kind: Int32Array
    upstream: Int32Array
    downstream: Int32Array
    interface: Int32Array
    repeats: IntArray
    missing_twins: IntArray
    time_ms: IntArray
    duration_ms: FloatArray
    by_caller: BoolArray
    by_callee: BoolArray

    def __len__(self) -> int:
        return len(self.place)


def as_documented(records: Records, places: Places, names: Names) -> Calls:
    """Return one call for each rpc id, as the documentation of the Alibaba trace defines a call.

    Each name of a call is the first known one among its records, in the order of ``Records``.
    """
    place = places.of_record
    starts = np.flatnonzero(np.diff(place, prepend=-1) != 0)
    ends = _ends(records, np.arange(len(place)), starts)
    group = np.repeat(np.arange(len(starts)), ends.records)
    each = (names.upstream, names.downstream, names.interface)
    upstream, downstream, interface = (_first_known(values, group, len(starts)) for values in each)
    return Calls(
        place=place[starts],
        kind=records.kind[starts],
        upstream=upstream,
        downstream=downstream,
        interface=interface,
        repeats=np.ones(len(starts), dtype=np.int64),
        missing_twins=np.zeros(len(starts), dtype=np.int64),
        time_ms=ends.time_ms,
        duration_ms=ends.duration_ms,
        by_caller=ends.called < ends.records,
        by_callee=ends.called > 0,
    )


def as_named(records: Records, places: Places, names: Names) -> Calls:
    """Return one call for each rpc id, type, caller, callee and interface, with its repeats.

    Both ends record a call over the network, but some records do not show which end wrote them. Let
    z records have the same names, c of them certainly by callers and d by callees. They count as
    ``max(c, d, ceil(z / 2))`` calls over the network. Any other call is recorded by its caller
    only, so each record counts as one call.
    """
    place = places.of_record
    order = _by_names(records, place, names)
    named = (names.upstream, names.downstream, names.interface)
    kind, *shown = (values[order] for values in (records.kind, *named))
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = np.diff(place) != 0
    for values in (kind, *shown):
        fresh[1:] |= values[1:] != values[:-1]
    starts = np.flatnonzero(fresh)
    ends = _ends(records, order, starts)
    kind = kind[starts]
    upstream, downstream, interface = (values[starts] for values in shown)
    calls = np.maximum(np.maximum(ends.calling, ends.called), (ends.records + 1) // 2)
    return Calls(
        place=place[starts],
        kind=kind,
        upstream=upstream,
        downstream=downstream,
        interface=interface,
        repeats=np.where(records.remote[kind], calls, ends.records),
        missing_twins=np.where(records.twice[kind], 2 * calls - ends.records, 0),
        time_ms=ends.time_ms,
        duration_ms=ends.duration_ms,
        by_caller=ends.called < ends.records,
        by_callee=ends.called > 0,
    )


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """The sums of the records of each call."""

    records: IntArray
    calling: IntArray
    called: IntArray
    time_ms: IntArray
    duration_ms: FloatArray


def _ends(records: Records, order: IntArray, starts: IntArray) -> _Ends:
    """Sums over runs of records in the given order; each run begins at one of ``starts``."""
    if not len(starts):
        none = np.zeros(0, dtype=np.int64)
        return _Ends(
            records=none,
            calling=none,
            called=none,
            time_ms=none,
            duration_ms=none.astype(np.float64),
        )
    side, duration = records.side[order], records.duration_ms[order]
    waited: FloatArray = np.fmax.reduceat(np.where(side > 0, duration, np.nan), starts)
    longest = np.fmax.reduceat(duration, starts)
    return _Ends(
        records=np.diff(starts, append=len(order)),
        calling=np.add.reduceat((side > 0).astype(np.int64), starts),
        called=np.add.reduceat((side < 0).astype(np.int64), starts),
        time_ms=np.minimum.reduceat(records.time_ms[order], starts),
        duration_ms=np.where(np.isnan(waited), longest, waited),
    )


def _by_names(records: Records, place: IntArray, names: Names) -> IntArray:
    """The order of records by place, type and names; they are already ordered by place and type."""
    same = (place[1:] == place[:-1]) & (records.kind[1:] == records.kind[:-1])
    shared = np.zeros(len(place), dtype=np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    which = np.flatnonzero(shared)
    keys = (names.interface, names.downstream, names.upstream, records.kind, place)
    order = np.arange(len(place))
    order[which] = which[np.lexsort([values[which] for values in keys])]
    return order


def _first_known(values: Int32Array, group: IntArray, groups: int) -> Int32Array:
    """The first known value of each group; UNKNOWN where it has none."""
    with_id = np.flatnonzero(values >= 0)[::-1]
    first = np.full(groups, UNKNOWN, dtype=np.int32)
    first[group[with_id]] = values[with_id]
    return first


def inserted(records: Records, places: Places, names: Names) -> Calls:
    """Return a call for each rpc id that has no record but lies between two that have one.

    Its upstream is the service that the call above it reaches. Its downstream is the service that
    most calls below it name as their caller. A name is ``UNKNOWN`` where the records of those calls
    disagree.
    """
    store = records.store[records.kind]
    below = most(names.upstream, places.parent[places.of_record], len(places))
    above = agreed(names.downstream, np.where(store, -1, places.of_record), len(places))
    # where a gap lies below a gap, the calls beside the lower one name the service of the upper
    above = np.where(places.recorded, above, below).astype(np.int32)
    gaps = np.flatnonzero(~places.recorded)
    unknown = np.full(len(gaps), UNKNOWN, dtype=np.int32)
    return Calls(
        place=gaps,
        kind=np.full(len(gaps), len(records.types), dtype=np.int32),
        upstream=np.maximum(at_or(above, places.parent[gaps], UNKNOWN), UNKNOWN),
        downstream=np.maximum(below[gaps], UNKNOWN),
        interface=unknown,
        repeats=np.ones(len(gaps), dtype=np.int64),
        missing_twins=np.zeros(len(gaps), dtype=np.int64),
        time_ms=_earliest_below(records, places)[gaps],
        duration_ms=np.full(len(gaps), np.nan),
        by_caller=np.zeros(len(gaps), dtype=np.bool_),
        by_callee=np.zeros(len(gaps), dtype=np.bool_),
    )


def together(one: Calls, other: Calls) -> Calls:
    """Return the calls of both arguments, ordered by place."""
    fields = {name: np.concatenate([value, vars(other)[name]]) for name, value in vars(one).items()}
    order = np.argsort(fields["place"], kind="stable")
    return Calls(**{name: value[order] for name, value in fields.items()})


def _earliest_below(records: Records, places: Places) -> IntArray:
    """The earliest time at or below each place, shape (places,)."""
    earliest = np.full(len(places), np.iinfo(np.int64).max)
    np.minimum.at(earliest, places.of_record, records.time_ms)
    for level in range(int(places.depth.max(initial=0)), 0, -1):
        deep = np.flatnonzero((places.depth == level) & (places.parent >= 0))
        np.minimum.at(earliest, places.parent[deep], earliest[deep])
    return earliest
