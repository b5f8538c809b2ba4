"""A recorded case: its question, the answer, and the decoder of its cluster.

A recorded case is one scheduling situation with the answer of the upstream scheduler. A kind of
case answers it with the code that the replay runs, in the shape of the case's ``expected``.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracekit.base import parameters, registry
from tracekit.base.errors import TracekitError
from tracekit.base.shape import Shape
from tracekit.cluster.resources import PODS, UNLIMITED, amounts, column_order
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.placement._parts.requested import VOLUMES
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.pods import Pod
from tracekit.policy.view.recorded import decode_pod, decode_recorded
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Question:
    """A recorded case, i.e. a scheduling situation, with the policy that is to answer it.

    Parameters
    ----------
    inputs : mapping
        The case's ``inputs``.
    policy : callable
        Returns the class of the placement policy. It raises TracekitError where the case names no
        policy, or an unknown one.
    settings : mapping of str to str
        Parameters from the command line; they win over the case's ``args``.
    policy_name : str
        The name of a placement or rebalance policy; '' where neither the case nor the command line
        names one.
    """

    name: str
    inputs: Mapping[str, Any]
    policy: Callable[[], type[PlacementPolicy]]
    settings: Mapping[str, str] = field(default_factory=dict)
    policy_name: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a case.

    Parameters
    ----------
    values : mapping
        The answer in the form of the case's ``expected``, to be compared with it.
    columns, rows : sequence
        A table to print: the heads of its columns, and its rows.
    note : str
        A text to print.
    """

    values: Mapping[str, Any]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class CaseKind:
    """A kind of recorded case; ``kind`` and ``of_inputs`` make one from a function.

    Parameters
    ----------
    answer : function(Question) -> Answer
        Answers a case of this kind.
    inputs : mapping of str to Shape
        The form that each of the case's ``inputs`` must have, checked before ``answer`` is called.
    """

    answer: Callable[[Question], Answer]
    inputs: Mapping[str, Shape]


def kind(inputs: Mapping[str, Shape]) -> Callable[[Callable[[Question], Answer]], CaseKind]:
    """Return a decorator that makes a ``CaseKind`` from a function of ``Question`` to ``Answer``.

    ``inputs`` has the form that each input of a case must have.
    """
    return lambda answer: CaseKind(answer=answer, inputs=inputs)


def of_inputs(
    inputs: Mapping[str, Shape],
) -> Callable[[Callable[..., Mapping[str, Any]]], CaseKind]:
    """Return a decorator that makes a ``CaseKind`` from a function that takes inputs by keyword.

    ``inputs`` has the form of each input. The function returns ``Answer.values``, and gets None for
    an input that the case does not have.
    """

    def made(values: Callable[..., Mapping[str, Any]]) -> CaseKind:
        def answer(question: Question) -> Answer:
            return Answer(values=values(**{name: question.inputs.get(name) for name in inputs}))

        return CaseKind(answer=answer, inputs=inputs)

    return made


Document = Mapping[str, Any]

#: Arguments of the schedulers that do not bear on a score.
_ASIDE = ("strategy", "metric_provider", "watcher_address")


def case_policy(question: Question) -> tuple[PlacementPolicy, list[str]]:
    """Return the policy with the case's arguments, and the arguments that the policy does not know.

    Raises
    ------
    ParameterError
        For an argument out of its range or of a wrong type.
    """
    kind = question.policy()
    parameter_names = parameters.names(kind)
    arguments = kind.upstream_arguments(question.inputs.get("args") or {})
    given = {
        name: parameters.from_json(kind, name, value)
        for name, value in arguments.items()
        if name in parameter_names and name not in question.settings
    }
    settings = parameters.read_all(kind, f"policy {kind.name()}", question.settings)
    unread = [name for name in arguments if name not in parameter_names and name not in _ASIDE]
    return kind(**{**given, **settings}), unread


def situation(inputs: Document) -> tuple[list[str], Snapshot, Container]:
    """Return a case's node names, the snapshot of its cluster, and its waiting pod.

    Raises
    ------
    TracekitError
        When the case has no nodes or no pod.
    """
    for key in ("nodes", "pod"):
        if inputs.get(key) is None:
            raise TracekitError(f"the case has no '{key}'; it has: {', '.join(inputs)}")
    nodes = [_with_volumes(node) for node in inputs["nodes"]]
    waiting = decode_pod(inputs["pod"])
    recorded = decode_recorded(inputs)
    every = [waiting, *(pod for pods in recorded.pods for pod in pods)]
    resources = _resources(nodes, every)
    running = [
        (node, container_of("", pod, resources))
        for node, pods in enumerate(recorded.pods)
        for pod in pods
    ]
    cluster = cluster_of(nodes, resources, running)
    snapshot = dataclasses.replace(cluster.snapshot(0), recorded=recorded)
    name = str(inputs["pod"].get("name") or "pod")
    volumes = {VOLUMES: int(inputs.get("requested_volumes") or 0)}
    return list(recorded.nodes), snapshot, container_of(name, waiting, resources, volumes)


def cluster_of(
    nodes: Sequence[Document], resources: tuple[str, ...], running: Iterable[tuple[int, Container]]
) -> Cluster:
    """Return a cluster of these nodes, on which these containers run.

    Parameters
    ----------
    nodes : sequence of mapping
        Nodes of a case; each has ``allocatable`` or ``capacity``.
    running : iterable of (int, Container)
        Pairs of a node's position in ``nodes`` and a container on it.
    """
    cluster = Cluster(
        resources=resources,
        capacity=rows_of(nodes, resources, "capacity"),
        allocatable=rows_of(nodes, resources, "allocatable"),
    )
    for node, one in running:
        cluster.change(node, one.request, one.nonzero_request, one.limit, sign=1)
    return cluster


def _with_volumes(node: Document) -> Document:
    """The node with its limit of attached volumes, where it has one, as a resource."""
    if "allocatable_volumes" not in node:
        return node
    given = node.get("allocatable") or node.get("capacity") or {}
    return {**node, "allocatable": {**given, VOLUMES: node["allocatable_volumes"]}}


def container_of(
    name: str,
    pod: Pod,
    resources: tuple[str, ...],
    extra: Mapping[str, int] | None = None,
    service: str = "",
) -> Container:
    """Return a pod as one container, whose amounts are in the order of ``resources``.

    ``extra`` adds amounts, by resource, to the request. A limit below the request is raised to it.
    """
    counted = {PODS: 1, **(extra or {})}
    request = amounts(resources, {**pod.request(), **counted})
    return Container(
        id=name,
        service=service,
        request=request,
        nonzero_request=amounts(resources, {**pod.nonzero_request(), **counted}),
        limit=np.maximum(amounts(resources, pod.limit()), request),
        pod=pod,
    )


def _resources(nodes: Sequence[Document], pods: Sequence[Pod]) -> tuple[str, ...]:
    return column_order([*_names(nodes), *(name for pod in pods for name in pod.request())])


def _names(nodes: Sequence[Document]) -> Iterator[str]:
    for node in nodes:
        yield from node.get("allocatable") or {}
        yield from node.get("capacity") or {}


def rows_of(nodes: Sequence[Document], resources: tuple[str, ...], which: str) -> Any:
    """Return the capacity or allocatable of each node, int64, shape (nodes, resources).

    ``which`` is 'capacity' or 'allocatable'; a node without it has the amounts of the other one.
    """
    other = "allocatable" if which == "capacity" else "capacity"
    given = [node.get(which) or node.get(other) or {} for node in nodes]
    unlimited = [{PODS: UNLIMITED, **one} for one in given]
    return np.array([amounts(resources, one) for one in unlimited], dtype=np.int64)


@functools.cache
def all_kinds() -> dict[str, CaseKind]:
    """Return every kind of case by name; the function ``sum_`` answers cases of kind ``sum``."""
    every = registry.named(sys.modules[__name__], CaseKind)
    return {name.removesuffix("_"): one for name, one in every.items()}
