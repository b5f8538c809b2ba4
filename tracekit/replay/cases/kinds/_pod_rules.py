"""Which pods the descheduler may evict, and which nodes would take them.

Sources: DefaultEvictor, node.go (NodeFit) and predicates.go of sigs.k8s.io/descheduler @7d2b28bf;
tolerations and node affinity of kubernetes v1.34.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.labels import CLOSING
from tracekit.cluster.resources import PODS
from tracekit.policy.rebalance._evictor import CRITICAL
from tracekit.policy.rebalance._utilization import Acceptance

Document = Mapping[str, Any]


def protection(pod: Document, excluded_namespaces: Sequence[str] = ()) -> str:
    """Why the evictor leaves a pod alone; '' when it may be evicted."""
    if pod.get("namespace", "default") in excluded_namespaces:
        return "its namespace is excluded"
    if pod.get("evict_annotation"):
        return ""
    priority = pod.get("priority")
    reasons = {
        "mirror pod": pod.get("mirror"),
        "static pod": pod.get("static"),
        "terminating": pod.get("terminating"),
        "no owner": not pod.get("owner_kind"),
        "of a DaemonSet": pod.get("owner_kind") == "DaemonSet",
        "local storage": pod.get("local_storage"),
        "critical priority": priority is not None and priority >= CRITICAL,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def acceptance(
    nodes: Sequence[Document], pods: Sequence[Document], at: IntArray, *, node_fit: bool
) -> Acceptance:
    """Whether a pod tolerates some destination, and with ``node_fit`` fits some other node.

    Parameters
    ----------
    at : int64, shape (pods,)
        The node of each pod. What is evicted still counts on its node: it takes time to leave.
    """
    free = [_free(node, pods, at == number) for number, node in enumerate(nodes)]

    def accepted(index: int, destinations: IntArray) -> bool:
        pod = pods[index]
        if not any(_may_move(pod, nodes[taker]) for taker in destinations.tolist()):
            return False
        others = (number for number in range(len(nodes)) if number != at[index])
        return not node_fit or any(_fits(pod, nodes[one], free[one]) for one in others)

    return accepted


def _may_move(pod: Document, node: Document) -> bool:
    """Whether a pod tolerates every taint of a node, of whatever effect.

    Upstream asks for as many tolerations as there are taints before it looks at them.
    """
    tolerations, taints = pod.get("tolerations") or [], node.get("taints") or []
    enough = len(tolerations) >= len(taints)
    return enough and all(_tolerated(taint, tolerations) for taint in taints)


def _fits(pod: Document, node: Document, free: Mapping[str, float]) -> bool:
    hard = [taint for taint in node.get("taints") or [] if taint.get("effect") in CLOSING]
    wanted = {**(pod.get("requests") or {}), PODS: 1}
    return (
        not node.get("unschedulable")
        and _selected(pod, node.get("labels") or {})
        and all(_tolerated(taint, pod.get("tolerations") or []) for taint in hard)
        and all(amount <= free.get(name, 0) for name, amount in wanted.items())
    )


def _free(node: Document, pods: Sequence[Document], here: BoolArray) -> dict[str, float]:
    """The amount of each resource that requests leave on a node."""
    free = dict(node.get("allocatable") or node.get("capacity") or {})
    for index in np.flatnonzero(here).tolist():
        for name, amount in {**(pods[index].get("requests") or {}), PODS: 1}.items():
            if name in free:
                free[name] -= amount
    return free


def _tolerated(taint: Document, tolerations: Sequence[Document]) -> bool:
    return any(_tolerates(one, taint) for one in tolerations)


def _tolerates(toleration: Document, taint: Document) -> bool:
    for field in ("effect", "key"):
        if toleration.get(field) and toleration[field] != taint.get(field):
            return False
    operator = toleration.get("operator") or "Equal"
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists" or (operator == "Equal" and same))


def _selected(pod: Document, labels: Mapping[str, str]) -> bool:
    """Whether labels meet the node selector and any term of the required affinity."""
    selector, terms = pod.get("node_selector") or {}, pod.get("required_node_affinity") or []
    meets = all(labels.get(key) == value for key, value in selector.items())
    return meets and (not terms or any(term and _meets(term, labels) for term in terms))


def _meets(term: Sequence[Document], labels: Mapping[str, str]) -> bool:
    return all(_expression(one, labels.get(one["key"])) for one in term)


def _expression(rule: Document, found: str | None) -> bool:
    operator, values = rule["operator"], rule.get("values") or []
    if operator in ("Gt", "Lt"):
        return found is not None and _compared(operator, found, values)
    return {
        "In": found is not None and found in values,
        "NotIn": found is None or found not in values,
        "Exists": found is not None,
        "DoesNotExist": found is None,
    }[operator]


def _compared(operator: str, found: str, values: Sequence[str]) -> bool:
    try:
        value, bound = int(found), int(values[0])
    except (ValueError, IndexError):
        return False
    return value > bound if operator == "Gt" else value < bound
