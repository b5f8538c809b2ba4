"""Requests from sizes that usage alone shows, with their doubt.

A service whose size can be estimated has that size. Any other has the common size of all services,
moved into its own interval. A resource of which no common size can be estimated is left to the
assumptions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.inference.changes import Capacities, Sums, capacities
from tracekit.analysis.inference.estimate import Estimate, inferred_sizes
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.seeds import labelled
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.provenance import LEAST_PART, SizeDoubt, allowed
from tracekit.cluster.requests.overlaid import RequestValues
from tracekit.cluster.resources import BASE
from tracekit.store.folder import Store

_RESOURCES = ("cpu", "memory")
#: What one of a recorded unit is in that of the workload.
_UNITS = {"cores": float(MILLI_PER_CORE), "bytes": 1.0}
#: Spread of sizes where too few are estimated to see one: half to double covers most.
_USUAL_SPREAD = 0.5
_FEWEST_TOLD = 4


def inferred(
    store: Store, services: Sequence[str], capacity: IntArray, limit_factor: float, *, of_use: bool
) -> RequestValues:
    """The sizes of these services' containers, inferred from usage as ``tracekit analyze`` does.

    Parameters
    ----------
    services : the service of each container
    capacity : int64, shape (nodes, resources)
        If the store records no sizes of nodes, sizes are shares of the commonest of these.
    of_use : bool
        Whether fractions of use are of the inferred sizes.

    Raises
    ------
    TracekitError
        When no size can be estimated.
    """
    from tracekit.store.query.run import open_database  # noqa: PLC0415 - duckdb is slow to import

    with open_database(store, None) as database:
        found = inferred_sizes(database, lambda label: labelled(0, label))
        recorded = capacities(database)
        rows = database.frame("SELECT service_key, service FROM service_id")
    if not any(estimate.common_told for _, estimate in found.values()):
        raise TracekitError(
            "requests=inferred, but the use in this store tells no size of containers",
            hint="see service_sizes_fit of tracekit analyze; or take requests=uniform",
        )
    names = dict(rows.iter_rows())
    unique, group = np.unique(np.array(services, dtype=np.str_), return_inverse=True)
    groups = [str(name) for name in unique]
    each = [
        _one(found[name][1], _columns(found[name][0], names, groups))
        if name in found and found[name][1].common_told
        else _without_estimate(len(groups))
        for name in _RESOURCES
    ]
    whole = _whole(recorded, capacity)
    made = SizeDoubt(
        group=group.astype(np.int64),
        size=np.stack([one.size for one in each], axis=1) * whole,
        low=np.stack([one.low for one in each], axis=1) * whole,
        high=np.stack([one.high for one in each], axis=1) * whole,
        estimated=np.stack([one.estimated for one in each], axis=1),
        common=np.array([one.common for one in each]) * whole,
        common_low=np.array([one.common_low for one in each]) * whole,
        common_high=np.array([one.common_high for one in each]) * whole,
        spread=np.array([one.spread for one in each]),
        limit_factor=limit_factor,
        of_use=of_use,
    )
    return _of_groups(made)


def _of_groups(made: SizeDoubt) -> RequestValues:
    """The size of each container: that of its group."""
    amounts = made.size[made.group]
    estimated = made.estimated[made.group]
    facts = {
        f"containers_with_{name}_size_told": int(estimated[:, at].sum())
        for at, name in enumerate(_RESOURCES)
    }
    return RequestValues(
        resources=BASE,
        request=amounts,
        limit=np.full(amounts.shape, np.nan),
        whole=made.of_use,
        rests="inferred",
        facts=facts,
        doubt=made,
    )


def _whole(recorded: dict[str, Capacities], capacity: IntArray) -> FloatArray:
    """The size of which shares of a node are parts: millicores and bytes, shape (2,)."""
    found = []
    for at, name in enumerate(_RESOURCES):
        one = recorded.get(name)
        if one is not None and one.unit in _UNITS:
            found.append(one.commonest * _UNITS[one.unit])
        else:
            values, counts = np.unique(capacity[:, at], return_counts=True)
            found.append(float(values[np.argmax(counts)]))
    return np.array(found)


@dataclass(frozen=True)
class _One:
    """The sizes of one resource as shares of a node; arrays of shape (groups,)."""

    size: FloatArray
    low: FloatArray
    high: FloatArray
    estimated: BoolArray
    common: float
    common_low: float
    common_high: float
    spread: float


def _one(found: Estimate, column: IntArray) -> _One:
    """The sizes of groups; ``column`` is the position of each in the estimate, -1 for none."""
    known = column >= 0
    low, high = (np.where(known, values[column], np.nan) for values in (found.low, found.high))
    estimated = known & found.told[column]
    other = allowed(np.full(len(column), found.common), low, high)
    size = np.where(estimated, found.size[column], other)
    return _One(
        size=np.maximum(size, LEAST_PART * found.common),
        low=low,
        high=high,
        estimated=estimated,
        common=found.common,
        common_low=found.common_low,
        common_high=found.common_high,
        spread=_spread(found.size[found.told] / found.common),
    )


def _without_estimate(groups: int) -> _One:
    nothing = np.full(groups, np.nan)
    none = float("nan")
    return _One(nothing, nothing, nothing, np.zeros(groups, dtype=np.bool_), none, none, none, 0.0)


def _columns(sums: Sums, names: Mapping[int, str], groups: Sequence[str]) -> IntArray:
    """The position of each group in the estimate, -1 for none."""
    position = {names.get(int(key)): at for at, key in enumerate(sums.services)}
    return np.array([position.get(name, -1) for name in groups], dtype=np.int64)


def _spread(relative: FloatArray) -> float:
    """The standard deviation of the logarithms of the estimated sizes."""
    positive = relative[relative > LEAST_PART]
    if len(positive) < _FEWEST_TOLD:
        return _USUAL_SPREAD
    return float(np.log(positive).std())
