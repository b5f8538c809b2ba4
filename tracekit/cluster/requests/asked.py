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
class Asked:
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
class RequestsTold:
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
) -> Asked:
    """One request for all containers; fractions of use are of it."""
    requests = np.tile(request, (containers, 1))
    return Asked(
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


def overlaid(asked: Asked, told: RequestsTold, limit_factor: float) -> Asked:
    """The requests with the values of an assumption in place; requests without a value stay.

    A container with a new request and no new limit gets the limit that ``limit_factor`` gives.
    Resources that ``asked`` does not have follow after its own.
    """
    resources = (
        *asked.resources,
        *(name for name in told.resources if name not in asked.resources),
    )
    wide = _widened(asked, resources)
    at = [resources.index(name) for name in told.resources]
    request, limit = wide.request.copy(), wide.limit.copy()
    full, stated = wide.full.copy(), wide.stated.copy()
    rests = dict(wide.rests)
    for source, target in enumerate(at):
        amount, most = told.request[:, source], told.limit[:, source]
        known = ~np.isnan(amount)
        whole = np.maximum(rounded_up(np.where(known, amount, 0)), 0).astype(np.int64)
        capped = np.where(np.isnan(most), raised(whole, limit_factor), np.nan_to_num(np.ceil(most)))
        request[known, target], stated[known, target] = whole[known], True
        limit[known, target] = capped[known]
        if told.whole and target < len(BASE):
            full[known, target] = np.where(np.isnan(most), amount, most)[known]
        if known.any():
            rests[resources[target]] = told.rests
    return dataclasses.replace(
        wide,
        request=request,
        limit=limit,
        stated=stated,
        full=full,
        rests=rests,
        facts={**asked.facts, **told.facts},
        doubt=told.doubt,
        remarks=(*asked.remarks, *told.remarks),
    )


def of_nodes(asked: Asked, resources: tuple[str, ...]) -> Asked:
    """The requests of resources that nodes have; other resources are left out, and a fact says so.

    Parameters
    ----------
    resources : tuple of str
        The resources of nodes: the first ones of ``asked``.
    """
    absent = asked.resources[len(resources) :]
    if not absent:
        return asked
    own = slice(0, len(resources))
    return dataclasses.replace(
        asked,
        resources=resources,
        request=asked.request[:, own],
        limit=asked.limit[:, own],
        stated=asked.stated[:, own],
        rests={name: how for name, how in asked.rests.items() if name not in absent},
        remarks=(*asked.remarks, remark("requests_of_no_node", resources=", ".join(absent))),
    )


def _widened(asked: Asked, resources: tuple[str, ...]) -> Asked:
    more = len(resources) - len(asked.resources)
    if not more:
        return asked
    none = np.zeros((len(asked.request), more), dtype=np.int64)
    return dataclasses.replace(
        asked,
        resources=resources,
        request=np.hstack([asked.request, none]),
        limit=np.hstack([asked.limit, none]),
        stated=np.hstack([asked.stated, none.astype(np.bool_)]),
    )
