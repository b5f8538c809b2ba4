"""What a pod requires and a store cannot hold is named, not dropped."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.sources.own._kubernetes_rules import group, not_held

HOST = "kubernetes.io/hostname"


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"namespace": "shop", "name": "p", "labels": {"app": "web"}}, "spec": spec}


def affinity(kind: str, *apps: str) -> dict[str, Any]:
    terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}} for app in apps]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


SPREAD = {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": HOST}]}
SOFT = {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}
PORT = {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]}


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({}, None),
        (affinity("podAntiAffinity", "web"), None),
        (affinity("podAntiAffinity", "other"), "podAntiAffinity"),
        (affinity("podAntiAffinity", "web", "other"), "podAntiAffinity"),
        (affinity("podAffinity", "other"), "podAffinity"),
        (SPREAD, "topologySpreadConstraints"),
        (SOFT, None),
        (PORT, "hostPort"),
        ({"containers": [{"ports": [{"containerPort": 80}]}]}, None),
        ({**SPREAD, **PORT}, "topologySpreadConstraints, hostPort"),
    ],
)
def test_what_is_not_held(spec: dict[str, Any], named: str | None) -> None:
    assert not_held(pod(spec)) == named


def test_a_rule_about_its_own_like_is_held() -> None:
    assert group(pod(affinity("podAntiAffinity", "web")), "podAntiAffinity") == (
        "shop/app=web",
        "node",
    )
