"""A small fleet, as Kubernetes spells it, and a client that speaks HTTP to a server of it."""

from typing import Any

import numpy as np

Document = dict[str, Any]
_MOST_PODS = 40


def node(name: str, cpu: str = "8", memory: str = "32Gi") -> Document:
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, on: str = "", cpu: str | None = "500m", at: int = 0, **more: Any) -> Document:
    requests = {"memory": "1Gi", **({"cpu": cpu} if cpu else {})}
    limits = {"cpu": "2"} if more.get("limited") else {}
    created = f"2026-11-28T0{at // 3600}:{at // 60 % 60:02d}:{at % 60:02d}Z"
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "creationTimestamp": created,
            "ownerReferences": [
                {"kind": "StatefulSet", "name": more.get("service", "web"), "controller": True}
            ],
        },
        "spec": {
            **({"nodeName": on} if on else {}),
            "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "100m"}}}],
            "containers": [
                {"name": "c", "resources": {"requests": requests, "limits": limits}},
                {"name": "d", "resources": {}},
            ],
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


def args(
    waiting: Document, names: list[str] | None, nodes: list[Document] | None = None
) -> Document:
    whole = None if nodes is None else {"metadata": {}, "items": nodes}
    return {"Pod": waiting, "Nodes": whole, "NodeNames": names}


class Fleet:
    """Random events on a few nodes, as a watch prints them."""

    def __init__(self, seed: int, nodes: int = 7) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes = {f"n{at}": node(f"n{at}", str(4 + at % 3 * 4)) for at in range(nodes)}
        self.pods: dict[str, Document] = {}
        self.made = 0

    def start(self) -> list[tuple[str, Document]]:
        return [("ADDED", one) for one in self.nodes.values()]

    def event(self) -> tuple[str, Document]:
        drawn = self.rng.random()
        if drawn < 0.02:
            name = f"n{int(self.rng.integers(20))}"
            if name in self.nodes and len(self.nodes) > 3:
                return "DELETED", self.nodes.pop(name)
            self.nodes[name] = node(name, str(int(self.rng.integers(4, 17))))
            return "MODIFIED", self.nodes[name]
        if (drawn < 0.3 and self.pods) or len(self.pods) > _MOST_PODS:
            name = str(self.rng.choice(sorted(self.pods)))
            return "DELETED", self.pods.pop(name)
        one = self.waiting()
        where = [*self.nodes, "nobody-knows"]
        one["spec"]["nodeName"] = str(self.rng.choice(where))
        self.pods[one["metadata"]["name"]] = one
        return "ADDED", one

    def waiting(self) -> Document:
        self.made += 1
        cpu = self.rng.choice(np.array(["100m", "250m", "1", ""]))
        return pod(
            f"p{self.made}",
            cpu=str(cpu) or None,
            at=self.made % 30_000,
            limited=bool(self.rng.random() < 0.3),
            service=f"s{int(self.rng.integers(4))}",
        )
