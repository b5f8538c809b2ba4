"""Where a pod may run beside others: read off the pods' own JSON, pod by pod, node by node.

A plain reading of kubernetes v1.34 interpodaffinity/filtering.go, podtopologyspread/filtering.go
and nodeports; slow on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Thing = Mapping[str, Any]
Running = Sequence[tuple[Thing, Thing]]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def open_to(pod: Thing, node: Thing, nodes: Iterable[Thing], running: Running) -> bool:
    """Whether a pod may come to a node while others run: pairs of pod and node."""
    return (
        not _ports_clash(pod, node, running)
        and _kept_apart(pod, node, running)
        and _near(pod, node, running)
        and all(_even(one, pod, node, list(nodes), running) for one in _spreads(pod))
    )  # fmt: skip


def selects(selector: Thing | None, labels: Thing) -> bool:
    """Whether a selector of labels means who wears these; None means nobody."""
    if selector is None:
        return False
    meets: dict[str, Callable[[str, list[str]], bool]] = {
        "In": lambda key, values: labels.get(key) in values,
        "NotIn": lambda key, values: labels.get(key) not in values,
        "Exists": lambda key, _: key in labels,
        "DoesNotExist": lambda key, _: key not in labels,
    }
    return all(labels.get(k) == v for k, v in selector.get("matchLabels", {}).items()) and all(
        meets[one["operator"]](one["key"], one.get("values", []))
        for one in selector.get("matchExpressions", [])
    )


def labels(thing: Thing) -> dict[str, str]:
    """Labels of a pod or a node."""
    return dict(thing["metadata"].get("labels", {}))


def _terms(pod: Thing, kind: str) -> list[Thing]:
    return list(pod["spec"].get("affinity", {}).get(kind, {}).get(REQUIRED, []))


def _means(owner: Thing, term: Thing, other: Thing) -> bool:
    spaces = term.get("namespaces") or [owner["metadata"]["namespace"]]
    every = term.get("namespaceSelector") == {}
    inside = every or other["metadata"]["namespace"] in spaces
    return inside and selects(term.get("labelSelector"), labels(other))


def _shares(key: str, node: Thing, other: Thing) -> bool:
    return key in labels(node) and labels(node)[key] == labels(other).get(key)


def _kept_apart(pod: Thing, node: Thing, running: Running) -> bool:
    for other, where in running:
        for owner, meant in ((pod, other), (other, pod)):
            for term in _terms(owner, "podAntiAffinity"):
                if _means(owner, term, meant) and _shares(term["topologyKey"], node, where):
                    return False
    return True


def _near(pod: Thing, node: Thing, running: Running) -> bool:
    terms = _terms(pod, "podAffinity")
    if not all(term["topologyKey"] in labels(node) for term in terms):
        return False
    meant = [where for other, where in running if all(_means(pod, term, other) for term in terms)]
    if terms and not any(term["topologyKey"] in labels(w) for w in meant for term in terms):
        return all(_means(pod, term, pod) for term in terms)
    return all(any(_shares(term["topologyKey"], node, w) for w in meant) for term in terms)


def _spreads(pod: Thing) -> list[Thing]:
    rows = pod["spec"].get("topologySpreadConstraints", [])
    return [row for row in rows if row["whenUnsatisfiable"] == "DoNotSchedule"]


def _even(one: Thing, pod: Thing, node: Thing, nodes: list[Thing], running: Running) -> bool:
    key = one["topologyKey"]
    if key not in labels(node):
        return False
    wanted = pod["spec"].get("nodeSelector", {})
    honoured = one.get("nodeAffinityPolicy", "Honor") == "Honor"
    counting = [
        n
        for n in nodes
        if all(row["topologyKey"] in labels(n) for row in _spreads(pod))
        and not (honoured and any(labels(n).get(k) != v for k, v in wanted.items()))
    ]
    counts = {labels(n)[key]: 0 for n in counting}
    space = pod["metadata"]["namespace"]
    for other, where in running:
        own = other["metadata"]["namespace"] == space
        if own and where in counting and selects(one["labelSelector"], labels(other)):
            counts[labels(where)[key]] += 1
    if not counts:
        return True
    fewest = min(counts.values()) if len(counts) >= one.get("minDomains", 1) else 0
    more = int(selects(one["labelSelector"], labels(pod)))
    return bool(counts.get(labels(node)[key], 0) + more - fewest <= one["maxSkew"])


def _ports(pod: Thing) -> list[tuple[int, str, str]]:
    return [
        (port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP", "0.0.0.0"))  # noqa: S104
        for one in pod["spec"].get("containers", [])
        for port in one.get("ports", [])
        if port.get("hostPort")
    ]


def _ports_clash(pod: Thing, node: Thing, running: Running) -> bool:
    return any(
        (number, kind) == (n, k) and (a == b or "0.0.0.0" in (a, b))  # noqa: S104
        for other, where in running
        if where is node
        for number, kind, a in _ports(pod)
        for n, k, b in _ports(other)
    )
