"""Where the persistent volumes of pods can be reached is part of where the pods may run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes_support import Object, listed, node, pod, written
from reading_support import opened, read

ZONE = "topology.kubernetes.io/zone"
BY_NAME = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
BY_DISK = {"key": "disk", "operator": "In", "values": ["ssd"]}


def _in(*zones: str) -> dict[str, Any]:
    return {"key": ZONE, "operator": "In", "values": list(zones)}


def _volume(name: str, claim: str | None = None, **spec: Any) -> Object:
    labels = spec.pop("labels", {})
    bound = {"claimRef": {"namespace": "default", "name": claim}} if claim else {}
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta,
            "spec": {**bound, **spec}}  # fmt: skip


def _at(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    found = [{"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": found}}}


def _claim(name: str, volume: str | None) -> Object:
    meta = {"name": name, "namespace": "default"}
    spec = {} if volume is None else {"volumeName": volume}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def _pod(*claims: str, **spec: Any) -> Object:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod("db-0", volumes=[*volumes, {"name": "tmp", "emptyDir": {}}], **spec)


def _row(folder: Path, *objects: Object) -> tuple[Any, str | None]:
    found = read("kubernetes", written(folder / "all.json", listed(node("n1"), *objects)))
    ((selector, not_held),) = found.rows("container", "selector", "not_held")
    return json.loads(str(selector)) if selector else None, not_held  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("objects", "selector"),
    [
        ([_volume("v", "d", **_at([_in("a")])), _pod("d")], [[_in("a")]]),
        # bound by what the claim says
        ([_volume("v", **_at([_in("a")])), _claim("d", "v"), _pod("d")], [[_in("a")]]),
        # a field names the node itself
        ([_volume("v", "d", nodeAffinity={"required": {"nodeSelectorTerms": [
            {"matchFields": [BY_NAME]}]}}), _pod("d")], [[BY_NAME]]),
        # a label names the zones of an older volume
        ([_volume("v", "d", labels={ZONE: "a__b"}), _pod("d")], [[_in("a", "b")]]),
        # reached from everywhere
        ([_volume("v", "d"), _pod("d")], None),
        # beside a selector of the pod, and with alternatives of the volume
        (
            [_volume("v", "d", **_at([_in("a")], [_in("b")])),
             _pod("d", nodeSelector={"disk": "ssd"})],
            [[BY_DISK, _in("a")], [BY_DISK, _in("b")]],
        ),
        # both have to be reached
        (
            [_volume("v", "d", **_at([_in("a", "b")])), _volume("w", "e", **_at([_in("b")])),
             _pod("d", "e")],
            [[_in("a", "b"), _in("b")]],
        ),
    ],
)  # fmt: skip
def test_volumes_are_part_of_the_selector(
    tmp_path: Path, objects: list[Object], selector: Any
) -> None:
    assert _row(tmp_path, *objects) == (selector, None)


@pytest.mark.parametrize(
    "objects",
    [
        [_pod("d")],
        [_claim("d", None), _pod("d")],
        [_volume("v", "other"), _claim("d", "gone"), _pod("d")],
    ],
)
def test_a_claim_whose_volume_is_not_printed_is_named(
    tmp_path: Path, objects: list[Object]
) -> None:
    assert _row(tmp_path, *objects) == (None, "PersistentVolumeClaim")


def test_an_ephemeral_volume_has_a_claim_of_the_pods_name(tmp_path: Path) -> None:
    own = pod("db-0", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}])
    volume = _volume("v", "db-0-scratch", **_at([_in("a")]))
    assert _row(tmp_path, volume, own) == ([[_in("a")]], None)


def test_a_list_of_volumes_may_be_a_file_of_its_own(tmp_path: Path) -> None:
    volumes = written(tmp_path / "pv.json", listed(_volume("v", "d", **_at([_in("a")]))))
    pods = written(tmp_path / "pods.json", listed(node("n1"), _pod("d")))
    beside = {"objects": (opened(volumes), opened(pods))}
    ((selector,),) = read("kubernetes", pods, beside).rows("container", "selector")
    assert json.loads(str(selector)) == [[_in("a")]]
    assert not read("kubernetes", volumes, beside).tables
