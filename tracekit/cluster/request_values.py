"""Requests of containers as arrays, laid over a workload's: given ones, and inferred ones.

A service whose size can be estimated from usage has that size. Any other has the common size of all
services, moved into its own interval. A resource of which no common size can be estimated is left
to the assumptions.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracekit.analysis.changes import Capacities, Sums, capacities
from tracekit.analysis.estimate import Estimate, inferred_sizes
from tracekit.base.arrays import BoolArray, FloatArray, IntArray, labelled
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.provenance import LEAST_PART, SizeDoubt, allowed
from tracekit.cluster.resources import BASE, rounded_up
from tracekit.store.folder import Store


@dataclass(frozen=True, kw_only=True)
class ContainerRequests:
    """The requests and limits of containers, with their origin; one row for each container.

    Parameters
    ----------
    resources : tuple of str
    request, limit : int64, shape (containers, resources)
        A limit of 0 means no limit.
    stated : bool, shape (containers, resources)
        Whether the request is known.
    full : float64, shape (containers, 2)
        The millicores and bytes that a use of 1.0 stands for.
    rests : mapping
        The origin of each resource's requests: recorded, inferred, chosen or assumed.
    facts : mapping
        Counts about how the requests were made.
    remarks : tuple of Fact
        Facts about the origin of the requests.
    doubt : SizeDoubt, optional
        How far inferred sizes may be off; None where no size is inferred.
    """

    resources: tuple[str, ...]
    request: IntArray
    limit: IntArray
    stated: BoolArray
    full: FloatArray
    rests: Mapping[str, str]
    facts: Mapping[str, int] = field(default_factory=dict)
    doubt: SizeDoubt | None = None
    remarks: tuple[Fact, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RequestValues:
    """The requests and limits that an assumption gives to containers; NaN where it gives none.

    Parameters
    ----------
    request, limit : float64, shape (containers, resources)
    whole : bool
        Whether recorded fractions of use are fractions of these values: of the limit if there is
        one, else of the request.
    rests : str
        The origin of the values.
    """

    resources: tuple[str, ...]
    request: FloatArray
    limit: FloatArray
    whole: bool
    rests: str
    facts: Mapping[str, int] = field(default_factory=dict)
    doubt: SizeDoubt | None = None
    remarks: tuple[Fact, ...] = ()


def uniform(
    containers: int, request: IntArray, limit_factor: float, resources: Sequence[str] = BASE
) -> ContainerRequests:
    """Return the same request for all containers. A use of 1.0 stands for this request."""
    requests = np.tile(request, (containers, 1))
    return ContainerRequests(
        resources=tuple(resources),
        request=requests,
        limit=raised(requests, limit_factor),
        stated=np.ones(requests.shape, dtype=np.bool_),
        full=requests.astype(np.float64),
        rests=dict.fromkeys(resources, "assumed"),
    )


def raised(request: IntArray, limit_factor: float) -> IntArray:
    """Return limits for requests that have none: ``request * limit_factor``, rounded up."""
    return np.asarray(np.ceil(request * limit_factor).astype(np.int64))


def overlaid(
    before: ContainerRequests, values: RequestValues, limit_factor: float
) -> ContainerRequests:
    """Return the requests, replaced by the values of an assumption where it has them.

    A container with a new request and no new limit gets the limit that ``limit_factor`` gives.
    Resources that ``before`` lacks follow after its resources.
    """
    resources = (
        *before.resources,
        *(name for name in values.resources if name not in before.resources),
    )
    wide = _widened(before, resources)
    at = [resources.index(name) for name in values.resources]
    request, limit = wide.request.copy(), wide.limit.copy()
    full, stated = wide.full.copy(), wide.stated.copy()
    rests = dict(wide.rests)
    for source, target in enumerate(at):
        amount, most = values.request[:, source], values.limit[:, source]
        has_value = ~np.isnan(amount)
        whole = np.maximum(rounded_up(np.where(has_value, amount, 0)), 0).astype(np.int64)
        capped = np.where(np.isnan(most), raised(whole, limit_factor), np.nan_to_num(np.ceil(most)))
        request[has_value, target], stated[has_value, target] = whole[has_value], True
        limit[has_value, target] = capped[has_value]
        if values.whole and target < len(BASE):
            full[has_value, target] = np.where(np.isnan(most), amount, most)[has_value]
        if has_value.any():
            rests[resources[target]] = values.rests
    return dataclasses.replace(
        wide,
        request=request,
        limit=limit,
        stated=stated,
        full=full,
        rests=rests,
        facts={**before.facts, **values.facts},
        doubt=values.doubt,
        remarks=(*before.remarks, *values.remarks),
    )


def of_nodes(before: ContainerRequests, resources: tuple[str, ...]) -> ContainerRequests:
    """Return the requests of those resources that nodes have.

    Other resources are left out, and a fact says so.

    Parameters
    ----------
    resources : tuple of str
        The resources that nodes have; those of ``before`` begin with them.
    """
    absent = before.resources[len(resources) :]
    if not absent:
        return before
    own = slice(0, len(resources))
    return dataclasses.replace(
        before,
        resources=resources,
        request=before.request[:, own],
        limit=before.limit[:, own],
        stated=before.stated[:, own],
        rests={name: how for name, how in before.rests.items() if name not in absent},
        remarks=(*before.remarks, remark("requests_of_no_node", resources=", ".join(absent))),
    )


def _widened(before: ContainerRequests, resources: tuple[str, ...]) -> ContainerRequests:
    more = len(resources) - len(before.resources)
    if not more:
        return before
    none = np.zeros((len(before.request), more), dtype=np.int64)
    return dataclasses.replace(
        before,
        resources=resources,
        request=np.hstack([before.request, none]),
        limit=np.hstack([before.limit, none]),
        stated=np.hstack([before.stated, none.astype(np.bool_)]),
    )


_RESOURCES = ("cpu", "memory")
#: What one of a recorded unit is in that of the workload.
_UNITS = {"cores": float(MILLI_PER_CORE), "bytes": 1.0}
#: Spread of sizes where too few are estimated to see one: half to double covers most.
_USUAL_SPREAD = 0.5
_FEWEST_ESTIMATED = 4


def inferred(
    store: Store, services: Sequence[str], capacity: IntArray, limit_factor: float, *, of_use: bool
) -> RequestValues:
    """Return the sizes of these services' containers, inferred as ``tracekit analyze`` does.

    Parameters
    ----------
    services : the service of each container
    capacity : int64, shape (nodes, resources)
        If the store records no sizes of nodes, sizes are shares of the commonest of these
        capacities.
    of_use : bool
        Whether recorded fractions of use are fractions of the inferred sizes.

    Raises
    ------
    TracekitError
        When no size can be estimated.
    """
    from tracekit.store.query.run import open_database  # noqa: PLC0415 - duckdb is slow to import

    with open_database(store, None) as database:
        estimates = inferred_sizes(database, lambda label: labelled(0, label))
        recorded = capacities(database)
        rows = database.frame("SELECT service_key, service FROM service_id")
    if not any(estimate.common_determined for _, estimate in estimates.values()):
        raise TracekitError(
            "requests=inferred, but the use in this store tells no size of containers",
            hint="see service_sizes_fit of tracekit analyze; or take requests=uniform",
        )
    names = dict(rows.iter_rows())
    unique, group = np.unique(np.array(services, dtype=np.str_), return_inverse=True)
    groups = [str(name) for name in unique]
    each = [
        _one(estimates[name][1], _columns(estimates[name][0], names, groups))
        if name in estimates and estimates[name][1].common_determined
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
    sizes = []
    for at, name in enumerate(_RESOURCES):
        one = recorded.get(name)
        if one is not None and one.unit in _UNITS:
            sizes.append(one.commonest * _UNITS[one.unit])
        else:
            values, counts = np.unique(capacity[:, at], return_counts=True)
            sizes.append(float(values[np.argmax(counts)]))
    return np.array(sizes)


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


def _one(estimate: Estimate, column: IntArray) -> _One:
    """The sizes of groups; ``column`` is the position of each in the estimate, -1 for none."""
    has_own = column >= 0
    low, high = (
        np.where(has_own, values[column], np.nan) for values in (estimate.low, estimate.high)
    )
    estimated = has_own & estimate.determined[column]
    other = allowed(np.full(len(column), estimate.common), low, high)
    size = np.where(estimated, estimate.size[column], other)
    return _One(
        size=np.maximum(size, LEAST_PART * estimate.common),
        low=low,
        high=high,
        estimated=estimated,
        common=estimate.common,
        common_low=estimate.common_low,
        common_high=estimate.common_high,
        spread=_spread(estimate.size[estimate.determined] / estimate.common),
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
    if len(positive) < _FEWEST_ESTIMATED:
        return _USUAL_SPREAD
    return float(np.log(positive).std())
