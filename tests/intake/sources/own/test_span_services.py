"""The service of a span is that of the pods of its cluster, so that calls meet what runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes_support import CREATED_MS, answer, listed, node, owned, pod, series

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.intake.sources.own._spans import service_in
from tracekit.store.folder import open_store
from tracekit.store.query import Database

SPACE = {"k8s.namespace.name": "shop"}
SERVICES: list[tuple[dict[str, object], str | None, str | None]] = [
    ({}, "web", "web"),
    ({}, None, None),
    ({**SPACE}, "web", "shop/web"),
    ({**SPACE, "k8s.deployment.name": "front"}, "web", "shop/front"),
    ({**SPACE, "k8s.deployment.name": "front", "k8s.replicaset.name": "front-5d4f8c7b9"}, "web",
     "shop/front"),
    ({**SPACE, "k8s.replicaset.name": "front-5d4f8c7b9"}, "web", "shop/front"),
    ({**SPACE, "k8s.statefulset.name": "db"}, None, "shop/db"),
    ({**SPACE, "k8s.job.name": "night-28391040"}, None, "shop/night"),
    ({**SPACE, "k8s.cronjob.name": "night", "k8s.job.name": "night-28391040"}, None, "shop/night"),
    ({"k8s.deployment.name": "front"}, "web", "web"),
    ({**SPACE}, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("about", "name", "wanted"), SERVICES)
def test_a_service_is_called_as_its_pods_have_it(
    about: dict[str, object], name: str | None, wanted: str | None
) -> None:
    assert service_in(about, name) == wanted


BEGIN_MS = CREATED_MS + 600_000
PERIODS = 40
PAIRS = (("web", "db"), ("shop", "cart"), ("mail", "queue"))


def _deployed(name: str) -> dict[str, Any]:
    """A pod of a Deployment."""
    return pod(f"{name}-5d4f8c7b9-abcde", meta=owned("ReplicaSet", f"{name}-5d4f8c7b9"),
               nodeName="n1")  # fmt: skip


def _spans(trace: int, caller: str, called: str, start_ms: int) -> list[dict[str, Any]]:
    """A request to one service, and its call of another."""
    found = []
    for place, (service, kind) in enumerate(((caller, 2), (caller, 3), (called, 2))):
        about = {"service.name": service, "k8s.namespace.name": "default"}
        attributes = [{"key": key, "value": {"stringValue": one}} for key, one in about.items()]
        one = {
            "traceId": f"{trace:032x}",
            "spanId": f"{trace * 8 + place + 1:016x}",
            "parentSpanId": f"{trace * 8 + place:016x}" if place else "",
            "name": "op",
            "kind": kind,
            "startTimeUnixNano": str((start_ms + place) * 10**6),
            "endTimeUnixNano": str((start_ms + 20 - place) * 10**6),
            "attributes": [{"key": "rpc.system", "value": {"stringValue": "grpc"}}],
        }
        scopes = [{"scope": {}, "spans": [one]}]
        found.append({"resource": {"attributes": attributes}, "scopeSpans": scopes})
    return found


def _cluster(folder: Path) -> Path:
    """Six Deployments, of which three call the others, and what they use."""
    folder.mkdir()
    pods = [_deployed(name) for pair in PAIRS for name in pair]
    (folder / "kubernetes.json").write_text(json.dumps(listed(node("n1"), *pods)))
    times = [BEGIN_MS / 1000 + 30 * at for at in range(PERIODS)]
    for name, value in (("container_cpu_in_use", 0.2), ("container_memory_in_use", 2**28)):
        made = [
            series(name, [(time, value * (1 + at % 3)) for at, time in enumerate(times)],
                   namespace="default", pod=one["metadata"]["name"])
            for one in pods
        ]  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(answer(*made)))
    lines = [
        json.dumps({"resourceSpans": _spans(1 + 100 * at + place, *pair, BEGIN_MS + 30_000 * at)})
        for at in range(PERIODS)
        for place, pair in enumerate(PAIRS)
    ]
    (folder / "spans.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_ones_own_cluster_is_sized_by_its_spans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(_cluster(tmp_path / "mine"), tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        met = database.frame(
            "SELECT DISTINCT downstream FROM call"
            " WHERE downstream IN (SELECT service FROM container) ORDER BY ALL"
        )
    assert met["downstream"].to_list() == sorted(f"default/{one}" for pair in PAIRS for one in pair)
    out = tmp_path / "sized"
    words = ["requests", str(tmp_path / "store"), "--by", "calls", "--policy", "percentile_request"]
    words += ["--policy", "vertical_pod_autoscaler", "--out", str(out)]
    assert run(words) == 0, capsys.readouterr().err
    assert (out / "manifest.json").is_file()
