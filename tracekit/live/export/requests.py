"""Recommended requests, split over the containers of pods: patches, or VerticalPodAutoscalers."""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.study import Study
from tracekit.base.units import MILLI_PER_CORE
from tracekit.intake.sources.own._kubernetes.requests import amount, is_sidecar
from tracekit.intake.sources.own._kubernetes.shape import owner_of, pod_service
from tracekit.live.build import objects_in
from tracekit.live.export._format import REQUESTS, ExportSource, Format, Written, left_out
from tracekit.live.export._spelling import command, is_name, quantities, script, yaml_text
from tracekit.sizing.requests.rows import by_change, services

#: By kind: the path to the spec of its pods. Other kinds cannot be changed.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_UNITS = {"cpu": MILLI_PER_CORE, "memory": 1}


@dataclass(frozen=True, kw_only=True)
class Sized:
    """A workload object such as a Deployment, with the new requests of its pods' containers.

    Parameters
    ----------
    containers : mapping of str to mapping
        By container: CPU in millicores and memory in bytes.
    low, high : mapping, likewise
        The bounds of the recommendation; without bounds the recommendation itself.
    """

    kind: str
    namespace: str
    name: str
    containers: Mapping[str, Mapping[str, int]]
    low: Mapping[str, Mapping[str, int]]
    high: Mapping[str, Mapping[str, int]]


def sized(left: ExportSource) -> tuple[list[Sized], list[Fact]]:
    """Return the objects whose requests change, the largest change first, and facts on the export.

    Raises
    ------
    TracekitError
        If the run recommends no requests, or the containers of pods are unknown.
    """
    study, rows, objects = _recommended(left)
    changed = set(by_change(study)["service"]) if not left.policy else set(rows["service"])
    pods = _pods(objects)
    resized, unknown, fixed, capped = [], 0, 0, 0
    order = dict.fromkeys(by_change(study)["service"].to_list() + rows["service"].to_list())
    for service in (one for one in order if one in changed):
        owned = pods.get(service)
        if owned is None:
            unknown += 1
            continue
        kind, name, spec = owned
        if kind not in TEMPLATES:
            fixed += 1
            continue
        split = functools.partial(_split, spec, rows.filter(service=service).to_dicts())
        made = split("recommended")
        capped += made != split("recommended", capped=False)
        resized.append(
            Sized(
                kind=kind,
                namespace=service.partition("/")[0],
                name=name,
                containers=made,
                low=split("lower"),
                high=split("upper"),
            )
        )
    lost = {"unknown_pods": unknown, "no_template": fixed, "above_limit": capped}
    facts = [left_out(name, count, "services") for name, count in lost.items() if count]
    wrote = Fact(
        kind="exported",
        subject=left.policy or str(study.about["subject"]),
        value=len(resized),
        unit="services",
        because="requests",
        about={"of": len(changed)},
    )
    return resized, [wrote, *facts]


def _recommended(left: ExportSource) -> tuple[Study, pl.DataFrame, Path]:
    """The study of requests, its rows of the written policy, and the path of the pods."""
    study = left.study(REQUESTS)
    if study is None:
        raise TracekitError(
            f"'{left.path}' recommends no requests",
            hint="tracekit requests STORE --out RUN, or the folder of tracekit run",
        )
    if left.objects is None:
        raise TracekitError(
            "requests are of containers, and a record knows pods: their containers are missing",
            hint="kubectl get pods -A -o json > pods.json, then --objects pods.json",
        )
    rows = services(study, left.policy)
    if rows.is_empty():
        policies = study.frames["services"]["policy"].unique(maintain_order=True)
        raise TracekitError(
            f"'{left.policy}' recommends nothing here", hint=f"one of: {', '.join(policies)}"
        )
    return study, rows, left.objects


def _pods(path: Path) -> dict[str, tuple[str, str, Mapping[str, Any]]]:
    """By service: kind and name of the owner of its pods, and the spec of its first pod."""
    pod_of: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for thing in objects_in(path):
        if thing.kind != "Pod":
            continue
        meta, spec = thing.value["metadata"], thing.value.get("spec") or {}
        service = pod_service(meta, spec.get("nodeName"))
        space, _, name = service.partition("/")
        names = [space, name, *(str(one.get("name")) for one in spec.get("containers") or ())]
        if all(map(is_name, names)):
            pod_of.setdefault(service, (_kind(meta, name), name, spec))
    return pod_of


def _kind(meta: Mapping[str, Any], name: str) -> str:
    """The kind of the object that a user applied, such as the Deployment of a ReplicaSet."""
    kind, own = owner_of(meta)
    above = {"ReplicaSet": "Deployment", "Job": "CronJob"}
    return above.get(kind, kind) if own != name else kind


def _split(
    spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], column: str, *, capped: bool = True
) -> dict[str, dict[str, int]]:
    """The new request of each container, in proportion to its present request.

    Requests of sidecars and the pod's overhead stay, and are subtracted first.
    """
    containers = spec.get("containers") or []
    split: dict[str, dict[str, int]] = {str(one["name"]): {} for one in containers}
    for row in rows:
        resource, wanted = row["resource"], row[column] or row["recommended"]
        if wanted is None or row["freed"] == 0:
            continue
        stated = sum(_stated(spec, resource))
        now = [_amount(one, "requests", resource) for one in containers]
        parts = now if sum(now) else [1] * len(now)
        whole = max(round(wanted * _UNITS[resource]) - stated, len(now))
        for one, share in zip(containers, _shares(whole, parts), strict=True):
            most = _amount(one, "limits", resource)
            if share:
                split[one["name"]][resource] = min(share, most) if most and capped else share
    return {name: some for name, some in split.items() if some}


def _stated(spec: Mapping[str, Any], resource: str) -> Iterator[int]:
    """The pod's overhead, and the requests of its sidecars."""
    yield round(amount(str((spec.get("overhead") or {}).get(resource, 0))) * _UNITS[resource])
    for one in spec.get("initContainers") or ():
        if is_sidecar(one):
            yield _amount(one, "requests", resource)


def _amount(container: Mapping[str, Any], of: str, resource: str) -> int:
    stated = ((container.get("resources") or {}).get(of) or {}).get(resource, 0)
    return round(amount(str(stated)) * _UNITS[resource])


def _shares(whole: int, parts: Sequence[int]) -> list[int]:
    """Whole numbers in proportion to parts, with the sum ``whole``."""
    ends = [whole * one // sum(parts) for one in accumulate(parts)]
    return [end - start for start, end in pairwise([0, *ends])]


def _kubectl_patch(left: ExportSource) -> Written:
    resized, facts = sized(left)
    return Written(files={"": script([_line(one) for one in resized])}, facts=tuple(facts))


def _line(one: Sized) -> str:
    containers = [
        {"name": name, "resources": {"requests": quantities(amounts)}}
        for name, amounts in one.containers.items()
    ]
    patch: dict[str, Any] = {"containers": containers}
    for key in reversed(TEMPLATES[one.kind]):
        patch = {key: patch}
    what = f"{one.kind.lower()}/{one.name}"
    return command(
        *("kubectl", "patch", what, "--namespace", one.namespace, "--type", "strategic"),
        *("--patch", json.dumps(patch, separators=(",", ":"))),
    )


kubectl_patch = Format(
    name="kubectl-patch",
    title="recommended requests as patches to read, a line of kubectl each; needs --objects",
    write=_kubectl_patch,
)


_API = {"CronJob": "batch/v1"}


def _vpa(left: ExportSource) -> Written:
    resized, facts = sized(left)
    return Written(files={"": yaml_text(*map(_object, resized)).encode()}, facts=tuple(facts))


def _object(one: Sized) -> dict[str, Any]:
    policies = [
        {
            "containerName": name,
            "controlledValues": "RequestsOnly",
            "minAllowed": quantities(one.low.get(name, amounts)),
            "maxAllowed": quantities(one.high.get(name, amounts)),
        }
        for name, amounts in one.containers.items()
    ]
    target = {"apiVersion": _API.get(one.kind, "apps/v1"), "kind": one.kind, "name": one.name}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": one.name, "namespace": one.namespace},
        "spec": {
            "targetRef": target,
            "updatePolicy": {"updateMode": "Off"},
            "resourcePolicy": {"containerPolicies": policies},
        },
    }


vpa = Format(
    name="vpa",
    title="VerticalPodAutoscalers with the recommended requests as bounds; needs --objects",
    write=_vpa,
)
