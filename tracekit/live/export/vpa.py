"""Recommended requests as bounds of VerticalPodAutoscalers, which start switched off."""

from typing import Any

from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._requests import Sized, sized
from tracekit.live.export._text import quantities, yaml_text

_API = {"CronJob": "batch/v1"}


def _write(left: Left) -> Written:
    found, facts = sized(left)
    return Written(files={"": yaml_text(*map(_object, found)).encode()}, facts=tuple(facts))


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


FORMAT = Format(
    name="vpa",
    title="VerticalPodAutoscalers with the recommended requests as bounds; needs --objects",
    write=_write,
)
