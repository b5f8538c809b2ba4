"""What in an object of the cluster has not the kind that Kubernetes gives it, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Fields that are read, by where they stand; ``*`` is each item of a list.
_KINDS: dict[str, type] = {
    "metadata": dict,
    "metadata.labels": dict,
    "metadata.annotations": dict,
    "metadata.ownerReferences": list,
    "metadata.ownerReferences.*": dict,
    "spec": dict,
    "spec.taints": list,
    "spec.taints.*": dict,
    "spec.overhead": dict,
    "spec.nodeSelector": dict,
    "spec.affinity": dict,
    "spec.tolerations": list,
    "spec.tolerations.*": dict,
    "spec.topologySpreadConstraints": list,
    "spec.topologySpreadConstraints.*": dict,
    **{
        f"spec.{name}{rest}": kind
        for name in ("containers", "initContainers")
        for rest, kind in {
            "": list,
            ".*": dict,
            ".*.resources": dict,
            ".*.resources.requests": dict,
            ".*.resources.limits": dict,
            ".*.ports": list,
            ".*.ports.*": dict,
        }.items()
    },
    "status": dict,
    "status.capacity": dict,
    "status.allocatable": dict,
    "status.containerStatuses": list,
    "status.containerStatuses.*": dict,
    "status.conditions": list,
    "status.conditions.*": dict,
}
_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}


def misshapen(thing: Any) -> str:
    """The first field of another kind, as ``spec.containers is a text, expected a list``."""
    for path, kind in _KINDS.items():
        for value in _found(thing, path.split(".")):
            if value is not None and not isinstance(value, kind):
                return f"{path} is {_WORDS.get(type(value), 'a number')}, expected {_WORDS[kind]}"
    return "a field is missing or of another kind"


def _found(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path; none where something on the way is absent or of another kind."""
    if not path:
        yield value
    elif path[0] == "*" and isinstance(value, list):
        for item in value:
            yield from _found(item, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _found(value[path[0]], path[1:])
