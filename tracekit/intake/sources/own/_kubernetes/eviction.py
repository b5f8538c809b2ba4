"""What a descheduler reads of a pod beside its labels, rules, selector and tolerations.

Source: descheduler @7d2b28bf pkg/framework/plugins and pkg/utils/pod.go.
"""

from collections.abc import Mapping
from typing import Any

from tracekit.intake.sources.own._kubernetes.template import Template, sorted_json

#: What an annotation says, by its name; of the last only where its value is another than ``api``.
_MARKS = {
    "descheduler.alpha.kubernetes.io/evict": "evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction": "keep",
    "kubernetes.io/config.mirror": "mirror",
}
_SOURCE, _API = "kubernetes.io/config.source", "api"
#: Statuses of containers, by what they are of.
_STATUSES = {
    "containers": "containerStatuses",
    "init": "initContainerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}


def said_of(pod: Mapping[str, Any], of: Template, *, ended: bool) -> str:
    """A JSON object of what the pod states of these; what it does not state is left out.

    Of a pod that has ended its last state is left out: it says nothing of the time before.
    """
    meta = pod["metadata"]
    status = {} if ended else pod.get("status") or {}
    found = {
        **of.eviction,
        "owners": [(one.get("kind"), one.get("name")) for one in meta.get("ownerReferences") or ()],
        "marks": _marks(meta, of.spec, ended=ended),
        "spread": of.spread(meta.get("labels") or {}),
        "qos": status.get("qosClass"),
        "phase": status.get("phase"),
        "reason": status.get("reason"),
        **_of_containers(status),
    }
    return sorted_json({name: value for name, value in found.items() if value})


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


def _of_containers(status: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Restarts of each kind of container, and why some wait or have ended, where there are any."""
    found: dict[str, dict[str, Any]] = {"restarts": {}, "waiting": {}, "terminated": {}}
    for part, name in _STATUSES.items():
        restarts, reasons = 0, set()
        for one in status.get(name) or ():
            count, states = one.get("restartCount"), one.get("state") or {}
            restarts += count if isinstance(count, int) else 0
            reasons |= {
                (state, said["reason"])
                for state in ("waiting", "terminated")
                if (said := states.get(state)) and said.get("reason")
            }
        if restarts:
            found["restarts"][part] = restarts
        for state, reason in sorted(reasons):
            found[state].setdefault(part, []).append(reason)
    return found
