"""Where a pod may run: its selector, its tolerations, whom it keeps apart from or together with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_HOSTNAME = "kubernetes.io/hostname"
_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_RACK = "/rack"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: The narrower domain first: of several rules of a pod the store holds one.
_DOMAINS = ("node", "rack", "zone")


def domain(topology_key: str) -> str | None:
    """What the store calls a topology; None for one that it does not know."""
    if topology_key == _HOSTNAME:
        return "node"
    if topology_key in _ZONES:
        return "zone"
    return "rack" if topology_key.endswith(_RACK) else None


def zone(labels: Mapping[str, str]) -> str | None:
    """The zone that a node's labels state."""
    return next((labels[key] for key in _ZONES if key in labels), None)


def rack(labels: Mapping[str, str]) -> str | None:
    """The rack, by any label whose name ends in ``/rack``."""
    return next((labels[key] for key in sorted(labels) if key.endswith(_RACK)), None)


def selector(spec: Mapping[str, Any]) -> str | None:
    """Alternatives of requirements on a node's labels, as JSON: nodeSelector and nodeAffinity."""
    own = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted((spec.get("nodeSelector") or {}).items())
    ]
    affinity = _required(spec, "nodeAffinity") or {}
    terms = [
        [
            *(_requirement(one, one.get("key")) for one in term.get("matchExpressions") or ()),
            *(_requirement(one, _HOSTNAME) for one in term.get("matchFields") or ()),
        ]
        for term in affinity.get("nodeSelectorTerms") or ()
    ]
    if not own and not terms:
        return None
    return json.dumps([[*own, *term] for term in terms] or [own])


def tolerations(spec: Mapping[str, Any]) -> str | None:
    """Tolerations as JSON, with Kubernetes' defaults written out; None without any."""
    found = [
        {
            "key": one.get("key", ""),
            "operator": one.get("operator", "Equal"),
            "value": one.get("value", ""),
            "effect": one.get("effect", ""),
        }
        for one in spec.get("tolerations") or ()
    ]
    return json.dumps(found) if found else None


def group(pod: Mapping[str, Any], kind: str) -> tuple[str, str] | None:
    """A group that the pod's required ``podAntiAffinity`` or ``podAffinity`` makes, and its domain.

    Only rules about the pod's own like make a group: their selector matches its own labels, in its
    own namespace. Of several the one of the narrowest domain holds.
    """
    found = sorted(_groups(pod, kind))
    return (found[0][1], _DOMAINS[found[0][0]]) if found else None


def not_held(pod: Mapping[str, Any]) -> str | None:
    """What the pod requires and no column of the store can hold, by the fields' names.

    These are rules about other pods, and about its own like beyond the one that ``group`` takes;
    constraints on its spread; and ports of the host.
    """
    spec = pod["spec"]
    found = [
        kind
        for kind in ("podAntiAffinity", "podAffinity")
        if len(_required(spec, kind) or ()) > (group(pod, kind) is not None)
    ]
    spread = spec.get("topologySpreadConstraints") or ()
    if any(one.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule" for one in spread):
        found.append("topologySpreadConstraints")
    ports = (port for one in spec.get("containers") or () for port in one.get("ports") or ())
    if any(port.get("hostPort") for port in ports):
        found.append("hostPort")
    return ", ".join(found) or None


def _groups(pod: Mapping[str, Any], kind: str) -> Iterator[tuple[int, str]]:
    meta = pod["metadata"]
    for term in _required(pod["spec"], kind) or ():
        wanted = domain(term.get("topologyKey", ""))
        own = meta.get("namespace", "default")
        elsewhere = term.get("namespaces") and own not in term["namespaces"]
        chosen = term.get("labelSelector")
        if wanted and not elsewhere and chosen and _matches(chosen, meta.get("labels") or {}):
            yield _DOMAINS.index(wanted), f"{own}/{_spelled(chosen)}"


def _required(spec: Mapping[str, Any], kind: str) -> Any:
    return ((spec.get("affinity") or {}).get(kind) or {}).get(_REQUIRED)


def _requirement(one: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    return {"key": key, "operator": one.get("operator"), "values": one.get("values") or []}


def _expressions(chosen: Mapping[str, Any]) -> list[tuple[str, str, Sequence[str]]]:
    exact = [(key, "In", [value]) for key, value in (chosen.get("matchLabels") or {}).items()]
    more = [
        (one["key"], one["operator"], one.get("values") or [])
        for one in chosen.get("matchExpressions") or ()
    ]
    return sorted([*exact, *more])


def _matches(chosen: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return all(
        {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }.get(how, False)
        for key, how, values in _expressions(chosen)
    )


def _spelled(chosen: Mapping[str, Any]) -> str:
    """A selector in one line: ``app=web,tier in (a,b)``."""
    parts = []
    for key, how, values in _expressions(chosen):
        if how == "In" and len(values) == 1:
            parts.append(f"{key}={values[0]}")
        else:
            parts.append(f"{key} {how}" + (f" ({','.join(values)})" if values else ""))
    return ",".join(parts)
