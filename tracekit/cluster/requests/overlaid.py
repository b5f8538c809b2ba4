"""Requests of containers as arrays, and an assumption's values laid over them."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.facts import Fact, remark
from tracekit.cluster.provenance import SizeDoubt
from tracekit.cluster.resources import BASE, rounded_up


@dataclass(frozen=True, kw_only=True)
class ContainerRequests:
    """The requests of containers, in the order of the caller.

    Parameters
    ----------
    resources : tuple of str
    request, limit : int64, shape (containers, resources)
        A limit of 0 is none.
    stated : bool, shape (containers, resources)
        Whether the request is known.
    full : float64, shape (containers, 2)
        The millicores and bytes that a use of 1.0 stands for.
    rests : mapping
        Where each resource's requests come from: recorded, inferred or assumed.
    facts : mapping
        Counts worth knowing.
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
    """The values of an assumption for containers, in the same order; NaN where it has none.

    Parameters
    ----------
    request, limit : float64, shape (containers, resources)
    whole : bool
        Whether fractions of use are of these values: of the limit, else of the request.
    rests : str
        Where the values come from.
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
    """One request for all containers; fractions of use are of it."""
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
    """Limits for requests whose limit is not stated."""
    return np.asarray(np.ceil(request * limit_factor).astype(np.int64))


def overlaid(
    before: ContainerRequests, values: RequestValues, limit_factor: float
) -> ContainerRequests:
    """The requests with the values of an assumption in place; requests without a value stay.

    A container with a new request and no new limit gets the limit that ``limit_factor`` gives.
    Resources that ``before`` does not have follow after its own.
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
        known = ~np.isnan(amount)
        whole = np.maximum(rounded_up(np.where(known, amount, 0)), 0).astype(np.int64)
        capped = np.where(np.isnan(most), raised(whole, limit_factor), np.nan_to_num(np.ceil(most)))
        request[known, target], stated[known, target] = whole[known], True
        limit[known, target] = capped[known]
        if values.whole and target < len(BASE):
            full[known, target] = np.where(np.isnan(most), amount, most)[known]
        if known.any():
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
    """The requests of resources that nodes have; other resources are left out, and a fact says so.

    Parameters
    ----------
    resources : tuple of str
        The resources of nodes: the first ones of ``before``.
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
