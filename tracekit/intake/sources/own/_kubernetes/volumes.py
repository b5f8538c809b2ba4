"""The nodes that reach the volumes and devices of a pod, as requirements of its selector.

Source: kubernetes v1.34 pkg/scheduler/framework/plugins volumebinding (spec.nodeAffinity of a bound
volume), volumezone (labels of a volume, whose value may name several zones) and dynamicresources
(status.allocation.nodeSelector of a claim for devices).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.base.constants import ZONES

VOLUME, CLAIM, DEVICES = "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"
#: The separator of zones in a label of a volume.
_AND = "__"

#: Alternatives, each a list of requirements as ``matchExpressions`` has them.
Terms = Sequence[Sequence[Mapping[str, Any]]]


@dataclass(kw_only=True)
class Volumes:
    """The volumes and devices that kubectl printed, and the claim of each volume."""

    _devices: dict[str, Terms] = field(default_factory=dict)
    _terms: dict[str, Terms] = field(default_factory=dict)
    _bound: dict[str, str] = field(default_factory=dict)

    def note(self, value: Mapping[str, Any]) -> None:
        """Take a volume, a claim of a volume, or a claim of devices."""
        meta, spec = value["metadata"], value.get("spec") or {}
        if value.get("kind") == DEVICES:
            allocated = ((value.get("status") or {}).get("allocation") or {}).get("nodeSelector")
            name = f"{meta.get('namespace') or 'default'}/{meta['name']}"
            self._devices[name] = _selected(allocated or {}, [])
            return
        if value.get("kind") == CLAIM:
            name = f"{meta.get('namespace') or 'default'}/{meta['name']}"
            if spec.get("volumeName"):
                self._bound[name] = str(spec["volumeName"])
            return
        self._terms[str(meta["name"])] = _terms_of(meta.get("labels") or {}, spec)
        claim = spec.get("claimRef") or {}
        if claim.get("name"):
            self._bound[f"{claim.get('namespace') or 'default'}/{claim['name']}"] = meta["name"]

    def of(self, pod: Mapping[str, Any]) -> tuple[list[Terms], bool]:
        """The terms of each volume and device claim of a pod; and whether a volume is unknown.

        A volume that every node reaches has no terms. Devices have the terms of their allocation.
        """
        devices = [self._devices.get(one) for one in _device_claims(pod)]
        names = [self._bound.get(one, "") for one in _claims(pod)]
        volumes = [self._terms[name] for name in names if name in self._terms]
        return [one for one in (*volumes, *devices) if one], len(volumes) < len(names)


def reached(alternatives: Sequence[Sequence[Any]], volumes: Sequence[Terms]) -> list[list[Any]]:
    """The alternatives of a selector, each with a term of every volume."""
    combined = [list(one) for one in alternatives] or [[]]
    for terms in volumes:
        combined = [[*one, *term] for one in combined for term in terms]
    return combined


def _claims(pod: Mapping[str, Any]) -> list[str]:
    """The volume claims of a pod, ``namespace/name``."""
    meta, spec = pod["metadata"], pod["spec"]
    space = meta.get("namespace") or "default"
    claims = []
    for one in spec.get("volumes") or ():
        claim = (one.get("persistentVolumeClaim") or {}).get("claimName")
        if not claim and one.get("ephemeral"):
            claim = f"{meta['name']}-{one.get('name')}"
        if claim:
            claims.append(f"{space}/{claim}")
    return claims


def _device_claims(pod: Mapping[str, Any]) -> list[str]:
    """The device claims of a pod, ``namespace/name``; a template's claim is in the status."""
    space = pod["metadata"].get("namespace") or "default"
    stated = [
        *(pod["spec"].get("resourceClaims") or ()),
        *((pod.get("status") or {}).get("resourceClaimStatuses") or ()),
    ]
    return [f"{space}/{one['resourceClaimName']}" for one in stated if one.get("resourceClaimName")]


def _terms_of(labels: Mapping[str, str], spec: Mapping[str, Any]) -> Terms:
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    zones: list[Mapping[str, Any]] = []
    for key in ZONES:
        if key in labels and not zones:
            zones.append({"key": key, "operator": "In", "values": labels[key].split(_AND)})
    return _selected(required, zones)


def _selected(selector: Mapping[str, Any], zones: Sequence[Mapping[str, Any]]) -> Terms:
    """The terms of a selector of nodes, each with the requirements on zones."""
    stated = [
        [*zones, *(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        for term in selector.get("nodeSelectorTerms") or ()
    ]
    return stated or ([list(zones)] if zones else [])
