"""Requests and limits of a whole pod, from its containers."""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

#: The power of ten, or of two, of each suffix of a quantity.
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,4})|(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE]))?"
)
#: Where a status states the resources of containers.
_STATUSES = ("containerStatuses", "initContainerStatuses")
#: The condition of a pod that waits to be resized, and the reason for a wait without end.
_PENDING, _INFEASIBLE = "PodResizePending", "Infeasible"
#: Resources with another name in the store; kube-state-metrics writes ``_``.
_NAMES = {
    "ephemeral-storage": "disk",
    "ephemeral_storage": "disk",
    "nvidia.com/gpu": "gpu",
    "nvidia_com_gpu": "gpu",
}
_UNITS = {"cpu": "cores", "memory": "bytes", "disk": "bytes"}


class QuantityError(ValueError):
    """The error that a text is no quantity of Kubernetes."""


def resource(name: str) -> str:
    """Return the store's name of a resource, as ``gpu`` for ``nvidia.com/gpu``; most names stay."""
    return _NAMES.get(name, name)


#: The largest quantity of Kubernetes.
_LARGEST = 2.0**63


def unit(name: str) -> str:
    """Return the store's unit of a resource: ``cores``, ``bytes`` or ``count``."""
    return _UNITS.get(name, "bytes" if name.startswith("hugepages") else "count")


@functools.lru_cache(maxsize=1 << 16)
def amount(quantity: str) -> float:
    """Parse a quantity of Kubernetes: ``100m`` gives 0.1, ``2Gi`` gives 2 * 2**30.

    Raises QuantityError for another text, and for a quantity beyond 2**63.
    """
    text = quantity.strip()
    value = math.inf
    if read := _QUANTITY.fullmatch(text):
        exponent = int(read["exponent"] or 0) + _POWERS.get(read["decimal"] or "", 0)
        # a decimal text is rounded once, so that 0.3m is the float nearest to 0.0003
        value = float(f"{read['number']}e{exponent}") * 2.0 ** _BINARY.get(read["binary"] or "", 0)
    if not abs(value) <= _LARGEST:
        raise QuantityError(f"is '{text[:60]}', expected a quantity such as 100m or 2Gi")
    return value


Amounts = dict[str, float]


def effective(
    spec: Mapping[str, Any], status: object = None
) -> dict[str, tuple[float | None, float | None]]:
    """Return request and limit of a pod for each resource, by the names of Kubernetes.

    The rules are those of the scheduler (k8s.io/component-helpers resource/helpers.go, v1.33):

    - The sum of containers and sidecars counts, or the largest init container if that is larger.
      An init container counts with the sidecars that start before it.
    - A limit without a request is also the request.
    - A pod has a limit where all of its containers have one.
    - ``spec.resources`` of the pod holds instead of the sums.
    - The overhead is added to request and limit.
    - A container that is resized in place has the larger of its spec and its status, or only its
      status where the node cannot give more.

    Raises QuantityError for a wrong quantity.
    """
    spec = _with_status(spec, status if isinstance(status, Mapping) else {})
    requests = _whole(spec, _requests)
    limits = _limits_of(spec, _whole(spec, _limits))
    own = spec.get("resources") or {}
    requests |= _amounts(own.get("limits")) | _amounts(own.get("requests"))
    for name, extra in _amounts(spec.get("overhead")).items():
        requests[name] = requests.get(name, 0.0) + extra
        if name in limits:
            limits[name] += extra
    return {name: (requests.get(name), limits.get(name)) for name in {**requests, **limits}}


class Fixed(NamedTuple):
    """The parts of a pod's request for one resource that a replay with other sizes must not change.

    ``init`` is the peak of the init containers. ``own_request`` and ``own_limit`` are the sums of
    the containers and sidecars, without ``init`` and ``overhead``.
    """

    init: float | None
    overhead: float | None
    own_request: float | None
    own_limit: float | None


def fixed(spec: Mapping[str, Any], status: object = None) -> dict[str, Fixed]:
    """Return the fixed parts of a pod's request, by resource, where it has a peak or an overhead.

    The request of the pod is the larger of the containers' sum and the peak of the init containers,
    plus the overhead. A resource in ``spec.resources`` has no peak.

    Raises QuantityError for a wrong quantity.
    """
    spec = _with_status(spec, status if isinstance(status, Mapping) else {})
    own = spec.get("resources") or {}
    stated = _amounts(own.get("limits")) | _amounts(own.get("requests"))
    running, peak = _stages(spec, _requests)
    init = {name: value for name, value in peak.items() if value and name not in stated}
    overhead = {name: value for name, value in _amounts(spec.get("overhead")).items() if value}
    requests, limits = running | stated, _limits_of(spec, _stages(spec, _limits)[0])
    return {
        name: Fixed(init.get(name), overhead.get(name), requests.get(name), limits.get(name))
        for name in {**init, **overhead}
    }


def _limits_of(spec: Mapping[str, Any], added: Amounts) -> Amounts:
    """The limits of a pod: its own, else the sums where each container and sidecar has one."""
    sidecars = (one for one in spec.get("initContainers") or () if is_sidecar(one))
    every = [*(spec.get("containers") or ()), *sidecars]
    complete = {name: one for name, one in added.items() if all(name in _limits(c) for c in every)}
    return complete | _amounts((spec.get("resources") or {}).get("limits"))


class Sizes(NamedTuple):
    """The sizes of a pod, as rows of the tables ``container_resource`` and ``fixed_request``.

    ``wrong`` is the first impossible amount, as ``wrong_amount`` returns it.
    """

    resources: tuple[Mapping[str, Any], ...] = ()
    fixed: tuple[Mapping[str, Any], ...] = ()
    wrong: tuple[str, str] | None = None


def sizes_of(spec: bytes, status: object = None) -> Sizes:
    """Return the sizes of a pod; they are cached by spec and status.

    Parameters
    ----------
    spec : bytes
        The spec of a pod as JSON.

    Raises
    ------
    QuantityError
        For a wrong quantity in the status.
    """
    return _sizes(spec, msgspec.json.encode(_resized_status(status)))


def _resized_status(status: object) -> dict[str, Any]:
    """The part of a status that states sizes; empty without one."""
    if not isinstance(status, Mapping):
        return {}
    fields = ("name", "resources", "allocatedResources")
    sized: dict[str, Any] = {
        part: [{key: one[key] for key in fields if key in one} for one in some]
        for part in _STATUSES
        if (some := status.get(part)) and any("resources" in one for one in some)
    }
    if not sized:
        return {}
    pending = [one for one in status.get("conditions") or () if one.get("type") == _PENDING]
    return {**sized, "conditions": pending}


@functools.lru_cache(maxsize=1 << 14)
def _sizes(stated: bytes, resized: bytes) -> Sizes:
    spec, status = msgspec.json.decode(stated), msgspec.json.decode(resized)
    wrong = wrong_amount(spec)
    if wrong is not None:
        return Sizes(wrong=wrong)
    sizes = [
        {
            "resource": resource(name),
            "request": request,
            "limit": limit,
            "unit": unit(resource(name)),
        }
        for name, (request, limit) in effective(spec, status).items()
    ]
    parts = [
        {"resource": resource(name), **one._asdict(), "unit": unit(resource(name))}
        for name, one in fixed(spec, status).items()
    ]
    return Sizes(tuple(sizes), tuple(parts))


def _with_status(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec with the sizes of containers that are resized in place."""
    resized = {
        one.get("name"): one
        for part in _STATUSES
        for one in status.get(part) or ()
        if isinstance(one, Mapping) and isinstance(one.get("resources"), Mapping)
    }
    if not resized:
        return spec
    conditions = [one for one in status.get("conditions") or () if isinstance(one, Mapping)]
    pending = [one for one in conditions if one.get("type") == _PENDING]
    infeasible = bool(pending) and pending[0].get("reason") == _INFEASIBLE
    sized = dict(spec)
    for part in ("containers", "initContainers"):
        sized[part] = [
            _resized(one, resized[one.get("name")], infeasible=infeasible)
            if one.get("name") in resized and (part == "containers" or is_sidecar(one))
            else one
            for one in spec.get(part) or ()
        ]
    return sized


def _resized(
    container: Mapping[str, Any], has: Mapping[str, Any], *, infeasible: bool
) -> Mapping[str, Any]:
    """The container with the requests and limits that count while it is resized."""
    now = has["resources"]
    requests = _larger(_amounts(now.get("requests")), _amounts(has.get("allocatedResources")))
    limits = _amounts(now.get("limits"))
    if not infeasible:
        requests = _larger(_requests(container), requests)
        limits = _larger(_limits(container), limits)
    return {**container, "resources": {"requests": requests, "limits": limits}}


def wrong_amount(spec: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first amount of a pod that is negative or no quantity; None if all are right.

    The result is ``request`` or ``limit``, and the fault in words.
    """
    stated = [("overhead", "request", spec.get("overhead"))]
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ()), spec]
    for one in every:
        resources = one.get("resources") or {}
        owner = "the pod" if one is spec else f"container {one.get('name')}"
        stated += [(owner, part, resources.get(f"{part}s")) for part in ("request", "limit")]
    for owner, part, given in stated:
        for name, value in (given or {}).items():
            try:
                size = amount(str(value))
            except QuantityError as error:
                return part, f"of {name} of {owner} {error}"
            if size < 0:
                return part, f"of {name} of {owner} is {size:g}, expected 0 or more"
    return None


def _whole(spec: Mapping[str, Any], stated: Any) -> Amounts:
    """The larger of the running containers' sum and of the init containers' peak."""
    return _larger(*_stages(spec, stated))


def _stages(spec: Mapping[str, Any], stated: Any) -> tuple[Amounts, Amounts]:
    """The sum of containers and sidecars, and the peak of the init containers."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for one in spec.get("initContainers") or ():
        if is_sidecar(one):
            sidecars = _added(sidecars, stated(one))
        else:
            peak = _larger(peak, _added(sidecars, stated(one)))
    running = sidecars
    for one in spec.get("containers") or ():
        running = _added(running, stated(one))
    return running, peak


def is_sidecar(init_container: Mapping[str, Any]) -> bool:
    """Return whether an init container is a sidecar (``restartPolicy: Always``)."""
    return init_container.get("restartPolicy") == "Always"


def _requests(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _limits(container: Mapping[str, Any]) -> Amounts:
    return _amounts((container.get("resources") or {}).get("limits"))


def _amounts(stated: Mapping[str, Any] | None) -> Amounts:
    amounts = {}
    for name, value in (stated or {}).items():
        try:
            amounts[name] = amount(str(value))
        except QuantityError as error:
            raise QuantityError(f"of {name} {error}") from None
    return amounts


def _added(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in _names(one, other)}


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return {
        name: max(value for value in (one.get(name), other.get(name)) if value is not None)
        for name in _names(one, other)
    }


def _names(*some: Amounts) -> Sequence[str]:
    return list(dict.fromkeys(name for one in some for name in one))
