"""What a descheduler reads of a pod beside its labels, rules, selector and tolerations.

Source: descheduler @7d2b28bf pkg/framework/plugins and pkg/utils/pod.go.
"""

import json
from collections.abc import Mapping
from typing import Any

from tracekit.sources.own._kubernetes.rules import preferred_nodes, soft_spread

#: What an annotation says, by its name; of the last only where its value is another than ``api``.
_MARKS = {
    "descheduler.alpha.kubernetes.io/evict": "evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction": "keep",
    "kubernetes.io/config.mirror": "mirror",
}
_SOURCE, _API = "kubernetes.io/config.source", "api"
#: Volumes that bind a pod to its node or to data, by their fields.
_VOLUMES = {"hostPath": "local", "emptyDir": "local", "persistentVolumeClaim": "claim"}
#: Statuses of containers, by what they are of.
_STATUSES = {
    "containers": "containerStatuses",
    "init": "initContainerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}


def said_of(pod: Mapping[str, Any], *, ended: bool) -> str:
    """A JSON object of what the pod states of these; what it does not state is left out.

    Of a pod that has ended its last state is left out: it says nothing of the time before.
    """
    meta, spec = pod["metadata"], pod["spec"]
    status = {} if ended else pod.get("status") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity")
    found = {
        "owners": [[one.get("kind"), one.get("name")] for one in meta.get("ownerReferences") or ()],
        "images": sorted(str(one.get("image", "")) for one in spec.get("containers") or ()),
        "volumes": _volumes(spec),
        "marks": _marks(meta, spec, ended=ended),
        "selects": int("nodeSelector" in spec or affinity is not None),
        "requires": int(
            bool((affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution"))
        ),
        "prefers": preferred_nodes(spec),
        "spread": soft_spread(spec, meta.get("labels") or {}),
        "qos": status.get("qosClass"),
        "phase": status.get("phase"),
        "reason": status.get("reason"),
        "restarts": _by_part(status, _restarts),
        "waiting": _by_part(status, lambda some: _reasons(some, "waiting")),
        "terminated": _by_part(status, lambda some: _reasons(some, "terminated")),
    }
    return json.dumps({name: value for name, value in found.items() if value}, sort_keys=True)


def _volumes(spec: Mapping[str, Any]) -> list[str]:
    there = {
        kind
        for volume in spec.get("volumes") or ()
        for name, kind in _VOLUMES.items()
        if volume.get(name) is not None
    }
    return sorted(there)


def _marks(meta: Mapping[str, Any], spec: Mapping[str, Any], *, ended: bool) -> list[str]:
    notes = meta.get("annotations") or {}
    found = [mark for name, mark in _MARKS.items() if name in notes]
    if notes.get(_SOURCE, _API) != _API:
        found.append("static")
    if meta.get("deletionTimestamp") and not ended:
        found.append("terminating")
    if spec.get("resourceClaims"):
        found.append("resource_claims")
    return sorted(found)


def _by_part(status: Mapping[str, Any], read: Any) -> dict[str, Any]:
    """What is read of the statuses of each kind of container, where it is anything."""
    found = {part: read(status.get(name) or ()) for part, name in _STATUSES.items()}
    return {part: value for part, value in found.items() if value}


def _restarts(statuses: Any) -> int:
    counts = (one.get("restartCount") for one in statuses)
    return sum(one for one in counts if isinstance(one, int))


def _reasons(statuses: Any, state: str) -> list[str]:
    found = {((one.get("state") or {}).get(state) or {}).get("reason") for one in statuses}
    return sorted(one for one in found if one)
