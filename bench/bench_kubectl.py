"""Time and memory of a large list of kubectl: ``python bench/bench_kubectl.py [PODS]``.

The list is made up: a node for every ten pods, a Deployment for every forty. At 130,000 pods it has
about 230 MB.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bench_measure import measure
from machine import machine

TRACEKIT = str(Path(sys.executable).with_name("tracekit"))
PODS, PODS_PER_NODE, PODS_PER_SERVICE = 130_000, 10, 40
CREATED = "2026-01-01T00:00:00Z"
MIB = 1 << 20


def node(at: int) -> dict[str, Any]:
    """A node in one of three zones."""
    labels = {
        "kubernetes.io/hostname": f"n{at}",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m5.4xlarge",
        "topology.kubernetes.io/zone": f"zone-{at % 3}",
    }
    sizes = {"cpu": "15890m", "memory": "60Gi", "pods": "110", "ephemeral-storage": "95551679124"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{at}", "creationTimestamp": CREATED, "labels": labels},
        "spec": {"podCIDR": "10.1.0.0/24"},
        "status": {"allocatable": sizes, "capacity": sizes, "conditions": [ready]},
    }


def pod(at: int, drawn: random.Random) -> dict[str, Any]:
    """A running pod with a container, a sidecar, conditions and statuses."""
    service, space = at // PODS_PER_SERVICE, f"team-{at % 20}"
    came = (
        f"2026-01-{drawn.randint(1, 9):02}T{drawn.randint(0, 23):02}:00:{drawn.randint(0, 59):02}Z"
    )
    labels = {"app": f"s{service}", "pod-template-hash": f"{service:08x}"}
    requests = {"cpu": f"{100 + service % 9 * 50}m", "memory": f"{128 + service % 7 * 64}Mi"}
    containers = [
        {
            "name": name,
            "image": f"registry.example/{name}:v1.{service}",
            "env": [{"name": "SERVICE", "value": f"s{service}"}],
            "resources": {"requests": requests, "limits": {"memory": "1Gi"}},
            "volumeMounts": [{"mountPath": "/var/run/secrets", "name": "token", "readOnly": True}],
        }
        for name in ("main", "proxy")
    ]
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    running = {"running": {"startedAt": came}}
    owner = {"kind": "ReplicaSet", "name": f"s{service}-{service:08x}", "controller": True}
    tolerations = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute"}
        for why in ("not-ready", "unreachable")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"s{service}-{service:08x}-{at:05x}",
            "namespace": space,
            "uid": f"{drawn.getrandbits(128):032x}",
            "creationTimestamp": came,
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": {
            "containers": containers,
            "nodeName": f"n{at // PODS_PER_NODE}",
            "priority": 0,
            "schedulerName": "default-scheduler",
            "tolerations": tolerations,
            "volumes": [{"name": "token", "projected": {"defaultMode": 420}}],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "startTime": came,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": came} for kind in kinds
            ],
            "containerStatuses": [
                {"name": one["name"], "ready": True, "restartCount": 0, "state": running}
                for one in containers
            ],
        },
    }


def write_list(path: Path, pods: int) -> None:
    """The list that ``kubectl get nodes,pods -A -o json`` prints."""
    drawn = random.Random(7)  # noqa: S311 - made-up pods
    every = [node(at) for at in range(-(-pods // PODS_PER_NODE))]
    with path.open("w", encoding="utf-8") as file:
        file.write('{"apiVersion": "v1", "kind": "List", "items": [\n')
        for at, one in enumerate(every):
            file.write((",\n" if at else "") + json.dumps(one))
        for at in range(pods):
            file.write(",\n" + json.dumps(pod(at, drawn)))
        file.write("]}\n")


def main() -> None:
    """Print how long the list takes to ingest, and the memory of the largest process."""
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else PODS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "objects.json"
        write_list(path, pods)
        spent = measure([TRACEKIT, "ingest", str(path), str(Path(folder) / "store")])
        size = path.stat().st_size / MIB
        print(machine())
        print(
            f"{pods:,} pods, {size:,.0f} MiB: {spent.wall_s:.1f} s, {spent.cpu_s:.1f} s of the"
            f" processors, {spent.memory_bytes / MIB:,.0f} MiB of memory"
        )


if __name__ == "__main__":
    main()
