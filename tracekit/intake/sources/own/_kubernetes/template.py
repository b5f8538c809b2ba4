"""The common properties of pods of one template, computed once for all of them."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tracekit.intake.sources.own._kubernetes import rules
from tracekit.intake.sources.own._kubernetes.requests import Sizes, sizes_of
from tracekit.intake.sources.own._kubernetes.shape import owner_of, pod_service

_CONTAINER = frozenset({"name", "image", "resources", "restartPolicy", "ports"})
_SIZED = frozenset({"name", "resources", "restartPolicy"})
#: Kinds of volumes that bind a pod to its node or to data, by their fields.
_VOLUMES = {"hostPath": "local", "emptyDir": "local", "persistentVolumeClaim": "claim"}
_BINDING = frozenset({*_VOLUMES, "ephemeral"})
#: Fields that no row holds, or that differ from pod to pod.
_LEFT_OUT = rules.IDLE_FIELDS | {"nodeName"}
_TEMPLATES = 1 << 14


class Template:
    """The fields of a pod's spec that the rows need, and the columns computed from them.

    Many pods have equal fields. ``template_of`` makes one instance for all of them.

    Parameters
    ----------
    text : bytes
        The fields as JSON.

    Raises
    ------
    TypeError, AttributeError, KeyError, ValueError
        For a field of another kind than Kubernetes gives it.
    """

    def __init__(self, text: bytes) -> None:
        spec: dict[str, Any] = msgspec.json.decode(text)
        self._sized = msgspec.json.encode(_sized(spec))
        bare = {"metadata": {}, "spec": spec}
        self.spec = spec
        self.selector = rules.selector(spec)
        self.tolerations = rules.tolerations(spec)
        self.host_ports = rules.host_ports(spec)
        self.priority = spec.get("priority")
        self.has_claims = bool(spec.get("resourceClaims")) or any(
            one.get("persistentVolumeClaim") or one.get("ephemeral")
            for one in spec.get("volumes") or ()
        )
        self._not_held = rules.all_not_held(bare, (), volumes_unknown=False)
        self._rules = rules.among(bare)
        self._by_labels = any(
            one.get("matchLabelKeys") for one in spec.get("topologySpreadConstraints") or ()
        )
        self._spread = rules.soft_spread(spec, {})
        self.eviction = self._for_eviction()

    def _for_eviction(self) -> dict[str, Any]:
        spec = self.spec
        affinity = (spec.get("affinity") or {}).get("nodeAffinity")
        kinds = {
            kind
            for volume in spec.get("volumes") or ()
            for name, kind in _VOLUMES.items()
            if volume.get(name) is not None
        }
        return {
            "images": sorted(str(one.get("image", "")) for one in spec.get("containers") or ()),
            "volumes": sorted(kinds),
            "selects": int("nodeSelector" in spec or affinity is not None),
            "requires": int(bool((affinity or {}).get(rules.REQUIRED))),
            "prefers": rules.preferred_nodes(spec),
        }

    def not_held(self, budgets: Sequence[rules.Budget], *, volumes_unknown: bool) -> list[str]:
        """Return the fields of a pod that the store does not hold; see ``rules.all_not_held``."""
        if not budgets and not volumes_unknown:
            return self._not_held
        bare = {"metadata": {}, "spec": self.spec}
        return rules.all_not_held(bare, budgets, volumes_unknown=volumes_unknown)

    def rules(self, meta: Mapping[str, Any], budgets: Sequence[rules.Budget]) -> str | None:
        """Return the required rules between a pod and other pods; see ``rules.among``."""
        if not budgets and not self._by_labels and not rules.eviction_ban(meta):
            return self._rules
        return rules.among({"metadata": meta, "spec": self.spec}, budgets)

    def spread(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the spread constraints with ``ScheduleAnyway``; see ``rules.soft_spread``."""
        return rules.soft_spread(self.spec, labels) if self._by_labels else self._spread

    def sizes(self, status: object) -> Sizes:
        """Return the sizes of a pod; raise QuantityError for a wrong quantity in the status."""
        return sizes_of(self._sized, status)


def template_of(spec: Mapping[str, Any]) -> Template:
    """Return the cached template of a pod's spec; raise the errors of ``Template``."""
    fields = {name: value for name, value in spec.items() if name not in _LEFT_OUT}
    for part in ("containers", "initContainers"):
        if fields.get(part):
            fields[part] = [
                {name: value for name, value in one.items() if name in _CONTAINER}
                for one in fields[part]
            ]
    if fields.get("volumes"):
        fields["volumes"] = [
            _volume(one) for one in fields["volumes"] if not _BINDING.isdisjoint(one.keys())
        ]
    return _template(msgspec.json.encode(fields))


_template = functools.lru_cache(maxsize=_TEMPLATES)(Template)


def _sized(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a spec that states sizes; many templates share it."""
    sized: dict[str, Any] = {name: spec[name] for name in ("overhead", "resources") if name in spec}
    for part in ("containers", "initContainers"):
        if spec.get(part):
            sized[part] = [
                {name: value for name, value in one.items() if name in _SIZED} for one in spec[part]
            ]
    return sized


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    """A volume without its name, which differs from pod to pod.

    An ephemeral volume keeps its name, as its claim is named by it.
    """
    fields = {name: value for name, value in volume.items() if name in _VOLUMES}
    if volume.get("ephemeral"):
        fields |= {"ephemeral": True, "name": volume.get("name")}
    return fields


def sorted_json(value: object) -> str:
    """Encode an object as JSON with sorted members, so that equal objects have one text."""
    return _sorted(msgspec.json.encode(value))


@functools.lru_cache(maxsize=_TEMPLATES)
def _sorted(text: bytes) -> str:
    return json.dumps(msgspec.json.decode(text), sort_keys=True)


# The facts of a pod that a descheduler reads beside labels, rules, selector and tolerations.
#
# Source: descheduler @7d2b28bf pkg/framework/plugins and pkg/utils/pod.go.

#: The mark of each annotation.
_MARKS = {
    "descheduler.alpha.kubernetes.io/evict": "evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction": "keep",
    "kubernetes.io/config.mirror": "mirror",
}
_SOURCE, _API = "kubernetes.io/config.source", "api"
#: Statuses of containers, by the kind of container.
_STATUSES = {
    "containers": "containerStatuses",
    "init": "initContainerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}


#: The annotations that rows are made of.
_NOTES = frozenset({*_MARKS, _SOURCE, *rules.EVICTION_BANS, *rules.GROUP_ANNOTATIONS})


def shared_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that the rows of a pod need and that pods of one owner have in common."""
    shared = {name: meta.get(name) for name in ("namespace", "labels", "ownerReferences")}
    if notes := meta.get("annotations"):
        shared["annotations"] = {name: one for name, one in notes.items() if name in _NOTES}
    return shared


class Family:
    """The columns that pods with equal template, owner, labels and annotations have in common.

    Parameters
    ----------
    meta : mapping
        The metadata of one pod, as ``shared_meta`` returns it.
    budgets : sequence of Budget
        The PodDisruptionBudgets of the pods.

    Attributes
    ----------
    service : str
        The service; empty where it follows from the name of each pod.

    Raises
    ------
    TypeError, AttributeError, KeyError, ValueError
        For a field of another kind than Kubernetes gives it.
    """

    def __init__(
        self, meta: Mapping[str, Any], of: Template, budgets: Sequence[rules.Budget]
    ) -> None:
        kind, owner = owner_of(meta)
        labels = meta.get("labels") or {}
        self.budgets = budgets
        self.daemon = kind in ("DaemonSet", "Node")
        self.service = pod_service(meta, None) if owner and kind != "Node" else ""
        self.gang = rules.gang(meta, of.spec)
        self.namespace = meta.get("namespace") or "default"
        self.labels = sorted_json(labels) if labels else None
        self.rules = of.rules(meta, budgets)
        self.not_held = of.not_held(budgets, volumes_unknown=False)
        self._evictions: dict[bytes, str] = {}
        self._marks = _marks(meta, of.spec)
        owners = [(one.get("kind"), one.get("name")) for one in meta.get("ownerReferences") or ()]
        self._eviction = {**of.eviction, "owners": owners, "spread": of.spread(labels)}

    def eviction(self, pod: Mapping[str, Any], *, ended: bool) -> str:
        """Return what a descheduler reads of a pod, as a JSON object without empty members.

        The status of an ended pod is left out: it says nothing about the time before the end.
        """
        status = {} if ended else pod.get("status") or {}
        terminating = not ended and bool(pod["metadata"].get("deletionTimestamp"))
        last = [status.get("qosClass"), status.get("phase"), status.get("reason")]
        containers = _of_containers(status)
        key = msgspec.json.encode([last, containers, terminating])
        if key not in self._evictions:
            marks = sorted([*self._marks, "terminating"]) if terminating else self._marks
            qos, phase, reason = last
            stated = {"qos": qos, "phase": phase, "reason": reason, "marks": marks}
            every = {**self._eviction, **stated, **containers}
            self._evictions[key] = sorted_json({name: one for name, one in every.items() if one})
        return self._evictions[key]


def _marks(meta: Mapping[str, Any], spec: Mapping[str, Any]) -> list[str]:
    notes = meta.get("annotations") or {}
    marks = [mark for name, mark in _MARKS.items() if name in notes]
    if notes.get(_SOURCE, _API) != _API:
        marks.append("static")
    if spec.get("resourceClaims"):
        marks.append("resource_claims")
    return sorted(marks)


def _of_containers(status: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Restarts of each kind of container, and the reasons of waiting or ended containers."""
    facts: dict[str, dict[str, Any]] = {}
    for part, name in _STATUSES.items():
        restarts, reasons = 0, set()
        for one in status.get(name) or ():
            count = one.get("restartCount")
            restarts += count if isinstance(count, int) else 0
            for state, why in (one.get("state") or {}).items():
                if state in ("waiting", "terminated") and why and why.get("reason"):
                    reasons.add((state, why["reason"]))
        if restarts:
            facts.setdefault("restarts", {})[part] = restarts
        for state, reason in sorted(reasons):
            facts.setdefault(state, {}).setdefault(part, []).append(reason)
    return facts
