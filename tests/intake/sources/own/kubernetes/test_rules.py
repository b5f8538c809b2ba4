"""What a pod requires and a store cannot hold is named, not dropped."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from tracekit.cluster.constraints.labels import Labels, alternatives, selected
from tracekit.intake.sources.own._kubernetes.rules import (
    among,
    host_ports,
    not_held,
    preferred,
    selector,
)

HOST = "kubernetes.io/hostname"


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"namespace": "shop", "name": "p", "labels": {"app": "web"}}, "spec": spec}


def affinity(kind: str, *apps: str) -> dict[str, Any]:
    terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}} for app in apps]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


SPREAD = {"topologySpreadConstraints": [
    {"maxSkew": 1, "topologyKey": HOST, "labelSelector": {}, "matchLabelKeys": ["app", "no"]},
    {"whenUnsatisfiable": "ScheduleAnyway"},
]}  # fmt: skip


def elsewhere(selector: dict[str, Any]) -> dict[str, Any]:
    found = affinity("podAffinity", "db")
    required = found["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    required[0]["namespaceSelector"] = selector
    return found


@pytest.mark.parametrize(
    ("spec", "held", "named"),
    [
        ({}, None, None),
        (
            affinity("podAntiAffinity", "db"),
            [{"kind": "podAntiAffinity", "topologyKey": HOST, "selector": [
                {"key": "app", "operator": "In", "values": ["db"]}]}],
            None,
        ),
        (
            SPREAD,
            [{"kind": "topologySpread", "topologyKey": HOST, "maxSkew": 1, "selector": [
                {"key": "app", "operator": "In", "values": ["web"]}]}],
            None,
        ),
        (
            elsewhere({}),
            [{"kind": "podAffinity", "topologyKey": HOST, "namespaces": ["*"], "selector": [
                {"key": "app", "operator": "In", "values": ["db"]}]}],
            None,
        ),
        (elsewhere({"matchLabels": {"team": "a"}}), None, "podAffinity"),
    ],
)  # fmt: skip
def test_what_is_held_and_what_is_not(
    spec: dict[str, Any], held: list[dict[str, Any]] | None, named: str | None
) -> None:
    found = among(pod(spec))
    assert (None if found is None else json.loads(found)) == held
    assert not_held(pod(spec)) == named


def test_what_is_preferred_is_named() -> None:
    wish = "preferredDuringSchedulingIgnoredDuringExecution"
    anyway = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    affinity = {"nodeAffinity": {wish: [{"weight": 1}]}, "podAntiAffinity": {wish: [{}]}}
    assert preferred({"affinity": affinity}) == [
        "preferred nodeAffinity",
        "preferred podAntiAffinity",
    ]
    assert preferred({"topologySpreadConstraints": [anyway]}) == [
        "preferred topologySpreadConstraints"
    ]
    assert preferred({"affinity": {"podAffinity": {wish: []}}}) == []


def test_ports_of_the_host_are_those_of_containers_and_sidecars() -> None:
    def with_ports(**port: Any) -> dict[str, Any]:
        return {"ports": [{"containerPort": 1, **port}]}

    spec = {
        "containers": [with_ports(hostPort=80, hostIP="0.0.0.0"), with_ports()],  # noqa: S104
        "initContainers": [
            with_ports(hostPort=81),
            {**with_ports(hostPort=53, protocol="UDP", hostIP="10.0.0.1"),
             "restartPolicy": "Always"},
        ],
    }  # fmt: skip
    assert host_ports(spec) == "10.0.0.1:53/UDP,80/TCP"


#: Names of nodes, and what their labels call the host; None where they have no such label.
HOSTS = [
    ("of another name", {"n1": "web-a", "n2": "web-b"}),
    ("of the other's name", {"n1": "n2", "n2": "n1"}),
    ("without the label", {"n1": None, "n2": None}),
]


@pytest.mark.parametrize(("_", "hosts"), HOSTS, ids=[case[0] for case in HOSTS])
@pytest.mark.parametrize(("operator", "nodes"), [("In", ["n2"]), ("NotIn", ["n1"])])
def test_a_field_matches_the_name_of_a_node_whatever_its_labels_say(
    _: str, hosts: dict[str, str | None], operator: str, nodes: list[str]
) -> None:
    field = {"key": "metadata.name", "operator": operator, "values": ["n2"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    stated = selector({"affinity": {"nodeAffinity": wanted}})
    assert stated is not None
    labels = [None if host is None else json.dumps({HOST: host}) for host in hosts.values()]
    known = Labels(
        pl.DataFrame({"node": list(hosts), "labels": pl.Series(labels, dtype=pl.String)})
    )
    open_to = selected(known, alternatives(stated), len(hosts))
    assert [node for node, fits in zip(hosts, open_to, strict=True) if fits] == nodes
