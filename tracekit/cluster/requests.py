"""The assumption ``requests``: applied to the containers of a trace, or to a workload."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from tracekit.analysis.callgraph.export import NEED_AT_FULL_USE
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.result_folder import MANIFEST, check_sound
from tracekit.base.opened import read_text
from tracekit.base.study import STUDY_FOLDER, read_study
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.declared import Choice, choice_of
from tracekit.cluster.provenance import CHOSEN, requests_rest_on
from tracekit.cluster.request_table import Fixed, fixed_of, listed
from tracekit.cluster.request_values import (
    ContainerRequests,
    RequestValues,
    inferred,
    of_nodes,
    overlaid,
    uniform,
)
from tracekit.cluster.resources import BASE
from tracekit.cluster.workload import UNKNOWN, Workload, nonzero
from tracekit.store.folder import Store

# Requests that ``tracekit requests`` chose, out of its result folder. The simulation counts a
# container at full use as so many cores and GB (``NEED_AT_FULL_USE``), however large it is; what
# it chose is a part of that, and the same part of the container's own size here. A container has
# the largest limit that it was ever given. One that was not in the simulation has the median of
# its service's, and where none of its service was, what it has otherwise. Where ``size`` went by
# recorded use, it recommends cores and bytes for each service, and a container requests what is
# recommended for its service; one of a service without any keeps what it has.

#: The study of ``size`` by recorded use, its frame, the policy that changes nothing there, and what
#: names the policy to follow.
REQUESTS_STUDY, SERVICES, NOW, SUBJECT = "requests_to_change", "services", "now", "subject"
_SCHEMA = "tracekit/size/"
_LIMITS = "limits.parquet"


def chosen(
    choice: Choice,
    store: Store,
    container_ids: Sequence[str],
    services: Sequence[str],
    full: FloatArray,
) -> RequestValues:
    """Return the requests and limits that ``tracekit requests`` recommends for these containers.

    Parameters
    ----------
    full : float64, shape (containers, 2)
        The millicores and bytes of each container that a use of 1.0 stands for.

    Raises
    ------
    TracekitError
        For a folder that is no study of requests or has no limits, a policy that is not in it,
        and several policies of which none is named.
    """
    assert choice.place is not None  # noqa: S101 - sized has a folder
    if STUDY_FOLDER.holds(choice.place):
        return _recommended(
            choice.place, choice.policy, container_ids, services, fixed_of(store, container_ids)
        )
    limits = _limits(choice.place, choice.policy)
    shares = limits.group_by("container").agg(
        pl.col("limit_cores", "limit_gb").max() / NEED_AT_FULL_USE
    )
    rows = pl.DataFrame({"container": list(container_ids), "service": list(services)})
    joined = rows.join(shares, on="container", how="left", maintain_order="left")
    columns = ("limit_cores", "limit_gb")
    own = int(joined["limit_cores"].is_not_null().sum())
    if not own:
        raise _sizes_none(choice.place)
    joined = joined.with_columns(
        pl.coalesce(name, pl.col(name).median().over("service")) for name in columns
    )
    share = joined.select(columns).to_numpy().astype(np.float64)
    amounts = share * full
    return RequestValues(
        resources=BASE,
        request=amounts,
        limit=amounts,
        whole=False,
        rests=CHOSEN,
        facts={
            "containers_sized": own,
            "containers_sized_like_their_service": int((~np.isnan(share[:, 0])).sum()) - own,
        },
    )


def _recommended(
    folder: Path,
    policy: str | None,
    container_ids: Sequence[str],
    services: Sequence[str],
    fixed: Fixed,
) -> RequestValues:
    """The requests that a study recommends, under the policy that it chose if none is named.

    What init containers and overhead add to a request is included.
    """
    study = read_study(folder)
    if study.name != REQUESTS_STUDY:
        raise _no_result(folder)
    name = policy or str(study.about[SUBJECT])
    rows = study.frames[SERVICES]
    _check_policy(name, rows["policy"].unique(maintain_order=True).to_list(), folder)
    recommended = rows.filter(policy=name).pivot("resource", index="service", values="recommended")
    each = pl.DataFrame({"service": list(services), "container": list(container_ids)})
    own = pl.when(pl.col("service") == UNKNOWN).then("container").otherwise("service")
    joined = each.select(service=own).join(
        recommended, on="service", how="left", maintain_order="left"
    )
    amounts = joined.select(pl.col("cpu") * MILLI_PER_CORE, "memory").to_numpy().astype(np.float64)
    sized = int((~np.isnan(amounts)).any(axis=1).sum())
    if not sized:
        raise _sizes_none(folder)
    return RequestValues(
        resources=BASE,
        request=fixed.reserved(amounts),
        limit=np.full(amounts.shape, np.nan),
        whole=False,
        rests=CHOSEN,
        facts={"containers_sized": sized},
    )


def _limits(folder: Path, policy: str | None) -> pl.DataFrame:
    """The limits of the one policy that is named."""
    try:
        schema = str(json.loads(read_text(folder / MANIFEST))["schema"])
    except (OSError, ValueError, KeyError, TypeError):
        schema = ""
    if not schema.startswith(_SCHEMA):
        raise _no_result(folder)
    if not (folder / _LIMITS).is_file():
        raise TracekitError(
            f"{folder} holds no {_LIMITS}", hint="it is of an earlier tracekit: size anew"
        )
    check_sound(folder)
    limits = pl.read_parquet(folder / _LIMITS)
    policies = limits["policy"].unique(maintain_order=True).to_list()
    if policy is None and len(policies) > 1:
        raise TracekitError(
            f"requests=sized: {folder} holds {len(policies)} policies: {', '.join(policies)}",
            hint=f"name one: requests=sized:{folder}:{policies[0]}",
        )
    _check_policy(policy or policies[0], policies, folder)
    return limits.filter(pl.col("policy") == (policy or policies[0]))


def _check_policy(policy: str, policies: Sequence[str], folder: Path) -> None:
    if policy not in policies:
        close = nearest(policy, policies)
        raise TracekitError(
            f"policy '{policy}' is not in {folder}; it has {', '.join(policies)}",
            hint=f"did you mean '{close}'?" if close else None,
        )


def _no_result(folder: Path) -> TracekitError:
    return TracekitError(
        f"requests=sized:{folder} is no result of tracekit requests",
        hint="tracekit requests STORE --out DIR, then requests=sized:DIR",
    )


def _sizes_none(folder: Path) -> TracekitError:
    return TracekitError(
        f"requests=sized: {folder} sizes none of these containers",
        hint="size the same store: tracekit requests STORE --out DIR",
    )


class WithRequests(Protocol):
    """The fields of a set of assumptions that say where requests come from."""

    @property
    def requests(self) -> str:
        """The choice of where requests come from, as text."""

    @property
    def request_cpu_cores(self) -> float:
        """CPU of a container under ``requests=uniform``."""

    @property
    def request_memory_bytes(self) -> int:
        """Memory of a container under ``requests=uniform``."""

    @property
    def limit_factor(self) -> float:
        """Limit over request."""


def request_of(assumptions: WithRequests) -> IntArray:
    """Return the request under ``requests=uniform``: millicores and bytes."""
    return np.array(
        [round(assumptions.request_cpu_cores * MILLI_PER_CORE), assumptions.request_memory_bytes],
        dtype=np.int64,
    )


def laid_over(
    choice: Choice,
    before: ContainerRequests,
    store: Store,
    *,
    container_ids: Sequence[str],
    services: Sequence[str],
    capacity: IntArray,
    limit_factor: float,
    of_use: bool,
) -> ContainerRequests:
    """Return the requests of containers, with those of the chosen source in place of their own.

    Parameters
    ----------
    before : ContainerRequests
        The requests before the choice is applied.
    container_ids, services : ids of containers and services, in the order of ``before``
    of_use : bool
        Whether recorded fractions of use are fractions of the chosen sizes.

    Raises
    ------
    TracekitError
        When the choice has no value for any container, or an impossible one.
    """
    values: RequestValues
    if choice.kind == "inferred":
        values = inferred(store, services, capacity, limit_factor, of_use=of_use)
    elif choice.kind == "sized":
        values = chosen(choice, store, container_ids, services, before.full)
    elif choice.kind == "file":
        values = listed(choice, container_ids, services, whole=of_use)
    else:
        return before
    return overlaid(before, values, limit_factor)


def with_requests(load: Workload, store: Store, assumptions: WithRequests) -> Workload:
    """Return a workload of recorded sizes and use with the requests that the assumptions choose.

    The use stays as recorded, whatever the requests are.

    Raises
    ------
    TracekitError
        When the choice has no value for any container, or an impossible one.
    """
    choice = choice_of(assumptions.requests, recorded=True)
    if choice.kind == "recorded":
        return load
    requests = _requests(load, choice, assumptions)
    requests = laid_over(
        choice,
        requests,
        store,
        container_ids=load.containers.ids,
        services=load.containers.services,
        capacity=load.nodes.capacity,
        limit_factor=assumptions.limit_factor,
        of_use=False,
    )
    requests = of_nodes(requests, load.resources)
    return dataclasses.replace(
        load,
        containers=dataclasses.replace(
            load.containers,
            request=requests.request,
            nonzero_request=nonzero(requests.request, requests.stated, requests.resources),
            limit=requests.limit,
        ),
        provenance=dataclasses.replace(load.provenance, doubt=requests.doubt).plus(
            quantities=requests_rest_on(requests.rests),
            facts=requests.facts,
            remarks=requests.remarks,
        ),
    )


def _requests(load: Workload, choice: Choice, assumptions: WithRequests) -> ContainerRequests:
    """The requests of a workload's containers before the choice."""
    request, limit = load.containers.request.copy(), load.containers.limit.copy()
    rests = dict.fromkeys(load.resources, "recorded")
    if choice.kind == "uniform":
        plain = uniform(load.containers.count, request_of(assumptions), assumptions.limit_factor)
        free = ~load.daemons
        request[free, : len(BASE)] = plain.request[free]
        limit[free, : len(BASE)] = plain.limit[free]
        rests |= plain.rests
    return ContainerRequests(
        resources=load.resources,
        request=request,
        limit=limit,
        stated=load.containers.nonzero_request == request,
        full=request[:, : len(BASE)].astype(np.float64),
        rests=rests,
    )
