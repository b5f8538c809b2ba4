"""What a pod as a whole asks for, out of its containers."""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

#: What a quantity's suffix stands for: a power of ten, or one of two.
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,4})|(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE]))?"
)
#: Where a status says what containers have.
_STATUSES = ("containerStatuses", "initContainerStatuses")
#: The condition of a pod that waits to be resized, and why it may do so for good.
_PENDING, _INFEASIBLE = "PodResizePending", "Infeasible"
#: Resources that the store calls otherwise than Kubernetes; kube-state-metrics writes ``_``.
_NAMES = {
    "ephemeral-storage": "disk",
    "ephemeral_storage": "disk",
    "nvidia.com/gpu": "gpu",
    "nvidia_com_gpu": "gpu",
}
_UNITS = {"cpu": "cores", "memory": "bytes", "disk": "bytes"}


class QuantityError(ValueError):
    """Not a quantity."""


def resource(name: str) -> str:
    """The store's name of a resource; extended ones keep theirs."""
    return _NAMES.get(name, name)


#: Kubernetes states no larger quantity.
_LARGEST = 2.0**63


def unit(name: str) -> str:
    """The unit of a resource, by the store's name of it."""
    return _UNITS.get(name, "bytes" if name.startswith("hugepages") else "count")


@functools.lru_cache(maxsize=1 << 16)
def amount(quantity: str) -> float:
    """A quantity in cores, bytes or pieces; raises QuantityError for another text.

    The suffixes are those of Kubernetes: n, u, m, k, M, G, T, P, E, and Ki to Ei; the largest
    quantity is Kubernetes' own, 2**63.
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
    """Request and limit of a pod for each resource, by Kubernetes' names.

    The scheduler's rule: sidecars (init containers that restart always) are added to the
    containers; any other init container counts with the sidecars started before it; the larger of
    both holds. A limit without a request is the request, too. A pod has a limit where all of its
    containers have one. What the pod itself states, in ``spec.resources``, holds instead. The
    overhead comes on top of either. Of a container that is resized in place the larger holds of
    what is asked for and of what its status says it has; the latter where the node cannot give
    more. Source: k8s.io/component-helpers resource/helpers.go, v1.33.

    Raises QuantityError for a quantity that is none.
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
    """Of one resource what init containers need, the overhead, and what containers ask for."""

    init: float | None
    overhead: float | None
    own_request: float | None
    own_limit: float | None


def fixed(spec: Mapping[str, Any], status: object = None) -> dict[str, Fixed]:
    """What init containers need and the overhead of a pod, for each resource, by Kubernetes' names.

    The request is the larger of the containers' and of the former, and the latter on top. What the
    pod itself states, in ``spec.resources``, holds whatever its init containers need. Resources of
    which there is neither are not among them.

    Raises QuantityError for a quantity that is none.
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
    """Limits that hold: those of the pod, else where each container and sidecar has one."""
    sidecars = (one for one in spec.get("initContainers") or () if is_sidecar(one))
    every = [*(spec.get("containers") or ()), *sidecars]
    known = {name: one for name, one in added.items() if all(name in _limits(c) for c in every)}
    return known | _amounts((spec.get("resources") or {}).get("limits"))


class Sizes(NamedTuple):
    """What a pod asks for, in columns of ``container_resource`` and of ``fixed_request``.

    ``wrong`` is the first amount that it cannot have, as ``wrong_amount`` tells it.
    """

    asked: tuple[Mapping[str, Any], ...] = ()
    fixed: tuple[Mapping[str, Any], ...] = ()
    wrong: tuple[str, str] | None = None


def sizes_of(spec: bytes, status: object = None) -> Sizes:
    """All of it; pods that state the same, as those of one controller do, are worked out once.

    Parameters
    ----------
    spec : bytes
        The spec of a pod as JSON.

    Raises QuantityError for a quantity of the status that is none.
    """
    return _sizes(spec, msgspec.json.encode(_resized_status(status)))


def _resized_status(status: object) -> dict[str, Any]:
    """What a status says of sizes; empty where it says nothing."""
    if not isinstance(status, Mapping):
        return {}
    kept = ("name", "resources", "allocatedResources")
    found: dict[str, Any] = {
        part: [{key: one[key] for key in kept if key in one} for one in some]
        for part in _STATUSES
        if (some := status.get(part)) and any("resources" in one for one in some)
    }
    if not found:
        return {}
    pending = [one for one in status.get("conditions") or () if one.get("type") == _PENDING]
    return {**found, "conditions": pending}


@functools.lru_cache(maxsize=1 << 14)
def _sizes(stated: bytes, resized: bytes) -> Sizes:
    spec, status = msgspec.json.decode(stated), msgspec.json.decode(resized)
    wrong = wrong_amount(spec)
    if wrong is not None:
        return Sizes(wrong=wrong)
    asked = [
        {
            "resource": resource(name),
            "request": request,
            "limit": limit,
            "unit": unit(resource(name)),
        }
        for name, (request, limit) in effective(spec, status).items()
    ]
    kept = [
        {"resource": resource(name), **one._asdict(), "unit": unit(resource(name))}
        for name, one in fixed(spec, status).items()
    ]
    return Sizes(tuple(asked), tuple(kept))


def _with_status(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec with the sizes of containers that are resized in place."""
    known = {
        one.get("name"): one
        for part in _STATUSES
        for one in status.get(part) or ()
        if isinstance(one, Mapping) and isinstance(one.get("resources"), Mapping)
    }
    if not known:
        return spec
    conditions = [one for one in status.get("conditions") or () if isinstance(one, Mapping)]
    pending = [one for one in conditions if one.get("type") == _PENDING]
    infeasible = bool(pending) and pending[0].get("reason") == _INFEASIBLE
    sized = dict(spec)
    for part in ("containers", "initContainers"):
        sized[part] = [
            _resized(one, known[one.get("name")], infeasible=infeasible)
            if one.get("name") in known and (part == "containers" or is_sidecar(one))
            else one
            for one in spec.get(part) or ()
        ]
    return sized


def _resized(
    container: Mapping[str, Any], has: Mapping[str, Any], *, infeasible: bool
) -> Mapping[str, Any]:
    """A container that asks for what counts of what it states and has."""
    now = has["resources"]
    requests = _larger(_amounts(now.get("requests")), _amounts(has.get("allocatedResources")))
    limits = _amounts(now.get("limits"))
    if not infeasible:
        requests = _larger(_requests(container), requests)
        limits = _larger(_limits(container), limits)
    return {**container, "resources": {"requests": requests, "limits": limits}}


def wrong_amount(spec: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first amount that a pod states and cannot have, below 0 or no quantity; or None.

    ``request`` or ``limit``, and what is wrong with it.
    """
    stated = [("overhead", "request", spec.get("overhead"))]
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ()), spec]
    for one in every:
        resources = one.get("resources") or {}
        who = "the pod" if one is spec else f"container {one.get('name')}"
        stated += [(who, part, resources.get(f"{part}s")) for part in ("request", "limit")]
    for who, part, given in stated:
        for name, value in (given or {}).items():
            try:
                found = amount(str(value))
            except QuantityError as error:
                return part, f"of {name} of {who} {error}"
            if found < 0:
                return part, f"of {name} of {who} is {found:g}, expected 0 or more"
    return None


def _whole(spec: Mapping[str, Any], stated: Any) -> Amounts:
    """The larger of what runs at last and of what any init container needs on the way."""
    return _larger(*_stages(spec, stated))


def _stages(spec: Mapping[str, Any], stated: Any) -> tuple[Amounts, Amounts]:
    """What runs at last, sidecars too, and what any init container needs on the way."""
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
    """Whether an init container goes on running beside the containers."""
    return init_container.get("restartPolicy") == "Always"


def _requests(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _limits(container: Mapping[str, Any]) -> Amounts:
    return _amounts((container.get("resources") or {}).get("limits"))


def _amounts(stated: Mapping[str, Any] | None) -> Amounts:
    found = {}
    for name, value in (stated or {}).items():
        try:
            found[name] = amount(str(value))
        except QuantityError as error:
            raise QuantityError(f"of {name} {error}") from None
    return found


def _added(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in _names(one, other)}


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return {
        name: max(value for value in (one.get(name), other.get(name)) if value is not None)
        for name in _names(one, other)
    }


def _names(*some: Amounts) -> Sequence[str]:
    return list(dict.fromkeys(name for one in some for name in one))
