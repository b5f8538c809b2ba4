"""Where the persistent volumes and devices of pods are: what their claims add to a selector.

Source: kubernetes v1.34 pkg/scheduler/framework/plugins volumebinding (spec.nodeAffinity of a bound
volume), volumezone (labels of a volume, whose value may name several zones) and dynamicresources
(status.allocation.nodeSelector of a claim for devices).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.base.constants import ZONES

VOLUME, CLAIM, DEVICES = "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"
#: What sets zones apart in a label of a volume.
_AND = "__"

#: Alternatives, each a list of requirements as ``matchExpressions`` has them.
Terms = Sequence[Sequence[Mapping[str, Any]]]


@dataclass(kw_only=True)
class Volumes:
    """The volumes and devices that kubectl printed, and which claim each volume is bound to."""

    _devices: dict[str, Terms] = field(default_factory=dict)
    _terms: dict[str, Terms] = field(default_factory=dict)
    _bound: dict[str, str] = field(default_factory=dict)

    def note(self, value: Mapping[str, Any]) -> None:
        """A volume, or a claim of one or of devices."""
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
        """Where each volume of a pod can be reached; and whether that is not known of some.

        A volume that every node reaches has no terms. The devices of the pod's claims are where
        they were allocated; nothing else is known of them.
        """
        devices = [self._devices.get(one) for one in _device_claims(pod)]
        names = [self._bound.get(one, "") for one in _claims(pod)]
        known = [self._terms[name] for name in names if name in self._terms]
        return [one for one in (*known, *devices) if one], len(known) < len(names)


def reached(alternatives: Sequence[Sequence[Any]], volumes: Sequence[Terms]) -> list[list[Any]]:
    """Alternatives of a selector that hold where all volumes can be reached, too."""
    found = [list(one) for one in alternatives] or [[]]
    for terms in volumes:
        found = [[*one, *term] for one in found for term in terms]
    return found


def _claims(pod: Mapping[str, Any]) -> list[str]:
    """The claims that a pod names, ``namespace/name``."""
    meta, spec = pod["metadata"], pod["spec"]
    space = meta.get("namespace") or "default"
    found = []
    for one in spec.get("volumes") or ():
        claim = (one.get("persistentVolumeClaim") or {}).get("claimName")
        if not claim and one.get("ephemeral"):
            claim = f"{meta['name']}-{one.get('name')}"
        if claim:
            found.append(f"{space}/{claim}")
    return found


def _device_claims(pod: Mapping[str, Any]) -> list[str]:
    """The claims of devices of a pod, ``namespace/name``; a template's claim is in the status."""
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
    """The terms of a selector of nodes, each with requirements on zones."""
    stated = [
        [*zones, *(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        for term in selector.get("nodeSelectorTerms") or ()
    ]
    return stated or ([list(zones)] if zones else [])
