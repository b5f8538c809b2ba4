"""Nodes and pods of Kubernetes for the scoring code, with amounts in whole numbers."""

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.resources import CPU, MEMORY
from tracekit.intake.sources.own._kubernetes.requests import QuantityError, amount
from tracekit.intake.sources.own._kubernetes.shape import MISSHAPEN, pod_service
from tracekit.policy.view.pods import Amounts, Pod
from tracekit.policy.view.recorded import decode_pod

Document = Mapping[str, Any]

_COLUMNS = {"cpu": CPU, "memory": MEMORY}
#: The decimals of a quantity before it is rounded up.
_DECIMALS = 6
#: The phases of pods that use nothing any more.
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A node's name, its capacity, and its allocatable amounts, by resource."""

    name: str
    capacity: Amounts
    allocatable: Amounts


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The requests and limits of a pod, shared by pods with equal resources in their specs.

    Parameters
    ----------
    document : mapping
        The pod's containers, in the JSON form that ``tracekit score`` reads.
    request, nonzero, limit : Amounts
        Of the whole pod; ``nonzero`` has kube-scheduler's defaults for missing requests.
    """

    document: Document
    pod: Pod
    request: Amounts
    nonzero: Amounts
    limit: Amounts


@dataclass(frozen=True, kw_only=True, slots=True)
class LivePod:
    """A pod that has not ended. It is on ``node`` ('' for none) since ``placed_ms``."""

    uid: str
    name: str
    service: str
    node: str
    placed_ms: int
    sizes: Sizes

    def document(self) -> dict[str, Any]:
        """Return the pod in the JSON form that ``tracekit score`` reads."""
        return {
            "name": self.name,
            "service": self.service,
            "placed_ms": self.placed_ms,
            **self.sizes.document,
        }


def node_of(value: Document) -> Node:
    """Read a Node object. Raise TracekitError if its name is missing or a quantity is wrong."""
    with_status: Any = value.get("status") or {}
    try:
        allocatable = with_status.get("allocatable") or with_status.get("capacity") or {}
        return Node(
            name=_name(value),
            capacity=_amounts(with_status.get("capacity") or allocatable),
            allocatable=_amounts(allocatable),
        )
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise _no_object("Node", error) from None


def pod_of(value: Document) -> LivePod | None:
    """Read a Pod object. Return None for a pod that has ended.

    Raises TracekitError for a pod without a name or with a wrong quantity.
    """
    try:
        name, meta, spec = _name(value), value["metadata"], value.get("spec") or {}
        status = value.get("status") or {}
        if status.get("phase") in _ENDED:
            return None
        node = spec.get("nodeName") or ""
        full = f"{meta.get('namespace') or 'default'}/{name}"
        return LivePod(
            uid=str(meta.get("uid") or full),
            name=full,
            service=pod_service(meta, node or None),
            node=str(node),
            placed_ms=_placed_ms(meta, status),
            sizes=sizes_of(json.dumps(_parts(spec))),
        )
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise _no_object("Pod", error) from None


def _name(value: Document) -> str:
    name = value["metadata"].get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("metadata.name is no text")
    return name


def _no_object(kind: str, error: Exception) -> TracekitError:
    reason = str(error) if isinstance(error, QuantityError) else MISSHAPEN
    return TracekitError(f"a {kind} cannot be read: {reason}")


def _parts(spec: Document) -> dict[str, Any]:
    """The parts of a spec that state requests and limits."""

    def part(one: Document) -> list[Any]:
        resources = one.get("resources") or {}
        return [resources.get("requests"), resources.get("limits"), one.get("restartPolicy")]

    return {
        "containers": [part(one) for one in spec.get("containers") or ()],
        "init": [part(one) for one in spec.get("initContainers") or ()],
        "overhead": spec.get("overhead"),
        "pod": part(spec)[:2],
    }


@functools.lru_cache(maxsize=1 << 14)
def sizes_of(parts: str) -> Sizes:
    """Return the sizes of a pod from its resources as JSON; equal texts give the same object.

    Requests and limits of the pod as a whole replace those of its containers.
    """
    given = json.loads(parts)
    document: dict[str, Any] = {
        "containers": [_container(*one) for one in given["containers"]],
        "init_containers": [_container(*one) for one in given["init"]],
        "overhead": _amounts(given["overhead"] or {}),
    }
    whole = _container(*given["pod"])
    if whole["requests"] or whole["limits"]:
        pod = decode_pod({**document, "overhead": {}})
        stated = {name: {**getattr(pod, name[:-1])(), **whole[name]} for name in whole}
        document |= {"containers": [stated], "init_containers": []}
    pod = decode_pod(document)
    return Sizes(
        document=document,
        pod=pod,
        request=pod.request(),
        nonzero=pod.nonzero_request(),
        limit=pod.limit(),
    )


def _container(requests: Any, limits: Any, restart: Any = None) -> dict[str, Any]:
    """A container of a recorded case; a limit without a request is the request, too."""
    limit = _amounts(limits or {})
    made: dict[str, Any] = {"requests": {**limit, **_amounts(requests or {})}, "limits": limit}
    return {**made, "restartable": True} if restart == "Always" else made


def _amounts(stated: Mapping[str, Any]) -> dict[str, int]:
    """Amounts by column; fractions are rounded up, as kube-scheduler does."""
    amounts = {}
    for name, text in stated.items():
        value = amount(str(text)) * (MILLI_PER_CORE if name == "cpu" else 1)
        if not 0 <= value < 2**62:
            raise QuantityError(f"of {name} is '{str(text)[:60]}', expected 0 or more")
        amounts[_COLUMNS.get(name, name)] = math.ceil(round(value, _DECIMALS))
    return amounts


def _placed_ms(meta: Document, status: Document) -> int:
    """When the pod got its node in ms; else its creation time; else 0."""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "True":
            return _ms(one.get("lastTransitionTime"))
    return _ms(meta.get("creationTimestamp"))


def _ms(text: Any) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000) if text else 0
