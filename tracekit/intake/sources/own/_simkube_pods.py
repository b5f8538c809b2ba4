"""Pods out of the workload objects that SimKube records: replicas, restarts, lives.

A trace holds Deployments and the like at the times when they changed. Where it holds the lives of
an object's pods, those count. Else an object has as many pods as it asks for replicas: a larger
number adds pods, a smaller one ends the youngest, another template ends all and begins as many.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tracekit.intake.sources.own._json_items import Cut
from tracekit.intake.sources.own._kubernetes.objects import Thing

#: Where a kind keeps the template of its pods; the trace's configuration may say so, too.
_TEMPLATES = {
    "Deployment": ("/spec/template",),
    "StatefulSet": ("/spec/template",),
    "ReplicaSet": ("/spec/template",),
    "Job": ("/spec/template",),
    "CronJob": ("/spec/jobTemplate/spec/template",),
    "Pod": ("",),
}
#: Kinds whose pods nothing but recorded lives tells of, and why.
_UNTOLD = {
    "DaemonSet": "has a pod on each node, and a trace has no nodes",
    "CronJob": "runs when its schedule says, and the trace has no lives of its pods",
}


@dataclass(kw_only=True)
class _Owner:
    """An object, the changes of its specification, and its pods that are there."""

    kind: str
    name: str
    changes: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    template: str = ""
    there: list[Thing] = field(default_factory=list)
    made: int = 0
    told: bool = False
    taken: set[str]


class Pods:
    """The pods of a trace, made out while its events are read in order.

    Parameters
    ----------
    paths : mapping of str to sequence of str
        For each tracked kind (``apps/v1.Deployment``) where its pods' templates are.
    lives : mapping of (str, str) to list of (int, int or None)
        For a kind and an object (``ns/name``), starts and ends in s of its pods.
    """

    def __init__(
        self,
        paths: Mapping[str, Sequence[str]],
        lives: Mapping[tuple[str, str], list[tuple[int, int | None]]],
    ) -> None:
        self._paths = paths
        self._lives = lives
        self._owners: dict[tuple[str, str], _Owner] = {}
        #: The names of all pods: objects of two kinds may have one name.
        self._taken: set[str] = set()

    def apply(self, number: int, at_s: int, value: Any) -> Iterator[Thing | Cut]:
        """An object is now like this; yields pods that have ended, and what is wrong."""
        key = _key(value)
        if key is None:
            yield _cut(number, value, "is no object of Kubernetes: it has no kind or no name")
            return
        found = _Owner(kind=str(value["kind"]), name=key[1], taken=self._taken)
        owner = self._owners.setdefault(key, found)
        owner.changes.append((at_s, number, value))
        if key in self._lives:
            return
        templates = self._templates(key[0], value)
        if not templates or owner.kind in _UNTOLD:
            if not owner.told:
                owner.told = True
                why = _UNTOLD.get(owner.kind, "has no template of pods that the trace names")
                yield _cut(number, value, why)
            return
        try:
            wanted = _replicas(value) * len(templates)
        except ValueError as error:
            yield _cut(number, value, str(error))
            return
        written = json.dumps(templates, sort_keys=True)
        keep = min(wanted, len(owner.there)) if written == owner.template else 0
        owner.template = written
        yield from self._ended(owner, at_s, keep)
        for at in range(len(owner.there), wanted):
            template = templates[at % len(templates)]
            owner.there.append(_pod(owner, template, number, at_s))

    def delete(self, number: int, at_s: int, value: Any) -> Iterator[Thing | Cut]:
        """An object is gone; yields its pods that were there."""
        key = _key(value)
        if key is None:
            yield _cut(number, value, "is no object of Kubernetes: it has no kind or no name")
        elif key in self._owners:
            yield from self._ended(self._owners[key], at_s, 0)
            self._owners[key].template = ""

    def rest(self) -> Iterator[Thing | Cut]:
        """The pods that are there at the end, and those whose lives the trace holds."""
        for owner in self._owners.values():
            yield from owner.there
        for key, lives in self._lives.items():
            if key not in self._owners:
                yield Cut(number=0, reason="has lives of pods, and no event", text=" ".join(key))
                continue
            for start_s, end_s in sorted(lives, key=lambda life: life[0]):
                yield self._lived(self._owners[key], key, start_s, end_s)

    def _lived(
        self, owner: _Owner, key: tuple[str, str], start_s: int, end_s: int | None
    ) -> Thing | Cut:
        """A pod of a recorded life, as its object was when it started."""
        before = [one for one in owner.changes if one[0] <= start_s]
        _, number, value = before[-1] if before else owner.changes[0]
        templates = self._templates(key[0], value)
        if not templates:
            return _cut(number, value, "has no template of pods that the trace names")
        pod = _pod(owner, templates[0], number, start_s)
        return pod if end_s is None else _gone(pod, end_s)

    def _templates(self, kind: str, value: Mapping[str, Any]) -> list[dict[str, Any]]:
        usual = _TEMPLATES.get(str(value.get("kind")), ())
        paths: Sequence[str] = self._paths.get(kind) or usual
        found = [_pointed(value, path) for path in paths]
        return [one for one in found if isinstance(one, dict) and isinstance(one.get("spec"), dict)]

    def _ended(self, owner: _Owner, at_s: int, keep: int) -> Iterator[Thing]:
        ended, owner.there = owner.there[keep:], owner.there[:keep]
        for pod in ended:
            yield _gone(pod, at_s)


def _key(value: Any) -> tuple[str, str] | None:
    """Kind with its group, and name with its namespace."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict) or not meta.get("name") or not value.get("kind"):
        return None
    kind = f"{value.get('apiVersion') or 'v1'}.{value['kind']}"
    return kind, f"{meta.get('namespace') or 'default'}/{meta['name']}"


def _replicas(value: Mapping[str, Any]) -> int:
    """How many pods an object asks for; one where it does not say.

    Raises ValueError for what is no such number.
    """
    spec = value.get("spec") or {}
    name = "parallelism" if value.get("kind") == "Job" else "replicas"
    stated = None if value.get("kind") == "Pod" else spec.get(name)
    if stated is None:
        return 1
    if not isinstance(stated, int) or isinstance(stated, bool) or stated < 0:
        shown = json.dumps(stated, default=str)[:60]
        raise ValueError(f"{name} is {shown}, expected a whole number, 0 or more")
    return stated


def _pod(owner: _Owner, template: Mapping[str, Any], number: int, at_s: int) -> Thing:
    """A pod of an object, which gets the object's name and a number; a bare pod keeps its own."""
    space, name = owner.name.split("/", 1)
    bare = owner.kind == "Pod"
    called = name if bare else f"{name}-{owner.made}"
    while f"{space}/{called}" in owner.taken:
        owner.made += 1
        called = f"{name}-{owner.made}"
    owner.taken.add(f"{space}/{called}")
    meta = {
        **{key: (template.get("metadata") or {}).get(key) for key in ("labels", "annotations")},
        "name": called,
        "namespace": space,
        "creationTimestamp": _written(at_s),
        "ownerReferences": [] if bare else [{"kind": owner.kind, "name": name, "controller": True}],
    }
    value = {"kind": "Pod", "metadata": meta, "spec": template["spec"]}
    return Thing(number=number, kind="Pod", value=value, event=None)


def _gone(pod: Thing, at_s: int) -> Thing:
    meta = {**pod.value["metadata"], "deletionTimestamp": _written(at_s)}
    value = {**pod.value, "metadata": meta}
    return Thing(number=pod.number, kind="Pod", value=value, event="DELETED")


def _written(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


def _pointed(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; None where it leads nowhere."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list | tuple) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def _cut(number: int, value: Any, reason: str) -> Cut:
    return Cut(number=number, reason=reason, text=json.dumps(value, default=str)[:200])
