"""Promises of every placement policy, checked on small random clusters.

Tests check every policy of the registry, and a user's own policy is checked before its first
decision. A broken promise raises a TracekitError with the values that broke it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.resources import full_name
from tracekit.policy.guard import OwnPolicyError, place_of
from tracekit.policy.placement import PlacementPolicy, Reads, ScoreError
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Peers, Placed, Snapshot
from tracekit.policy.view.usage import SeriesUsage

CASES = 20
_RESOURCES = ("cpu_milli", "memory_bytes")
_MOST_NODES = 6
#: The parts of a snapshot that a policy may declare; ``near_weight`` alone reads calls.
_READ = tuple(word for word in get_args(Reads) if word != "calls")
#: The relative difference that rounding may cause.
_ROUNDING = 1e-12


class PromiseError(TracekitError):
    """A policy breaks a promise, which is a rule that every placement policy must keep.

    Parameters
    ----------
    method : str
        The method that breaks it; the message has its line in the user's file.
    """

    def __init__(self, kind: type[PlacementPolicy], what: str, hint: str, method: str = "") -> None:
        where = f"{place_of(kind, method)}: " if kind.file else ""
        super().__init__(f"{where}policy {kind.name()}: {what}", hint=hint)


@dataclasses.dataclass(frozen=True)
class Case:
    """A random cluster and a waiting container."""

    snapshot: Snapshot
    container: Container

    @property
    def nodes(self) -> IntArray:
        """Positions of all nodes."""
        return np.arange(len(self.snapshot.allocatable))


def check_promises(kind: type[PlacementPolicy], rng: np.random.Generator) -> None:
    """Raise PromiseError for the first promise that a policy with default parameters breaks."""
    documented(kind)
    reads_back(kind)
    policy = kind()
    for _ in range(CASES):
        case = drawn_case(rng, kind.reads)
        for promise in (scores_every_node, repeats_itself, explains_every_node):
            promise(policy, case)
        if not kind.joint:
            scores_nodes_alone(policy, case, rng)
        bounds_its_formula(policy, case)


def documented(kind: type[PlacementPolicy]) -> None:
    """Raise PromiseError unless a policy documents itself and its parameters.

    A policy has a docstring, ``source``, ``reads``, and a description of each parameter.
    """
    for name, example in (
        ("reads", 'reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})'),
        ("source", 'source: ClassVar[str] = "paper and equation, or program and version"'),
    ):
        if not getattr(kind, name, None):
            raise PromiseError(kind, f"class attribute '{name}' is missing", f"write {example}")
    if unknown := set(kind.reads) - set(_READ):
        raise PromiseError(
            kind, f"reads {sorted(unknown)} is not known", f"known: {', '.join(_READ)}"
        )
    if not dataclasses.is_dataclass(kind) or "__dataclass_fields__" not in vars(kind):
        raise PromiseError(
            kind, "is no dataclass", "put @dataclass(frozen=True, kw_only=True) on it"
        )
    if not kind.__doc__ or kind.__doc__.startswith(f"{kind.__name__}("):
        raise PromiseError(kind, "has no docstring", "one sentence: what it prefers, and why")
    _documented_parameters(kind)


def _documented_parameters(kind: type[PlacementPolicy]) -> None:
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING:
            raise PromiseError(
                kind, f"parameter {field.name} has no default", f"write {field.name}: ... = VALUE"
            )
    try:
        notes = parameters.about(kind)
    except TypeError as error:
        raise PromiseError(
            kind, str(error), 'write NAME: Annotated[float, About("What it means.")] = 1.0'
        ) from None
    for name, note in notes.items():
        if not note.doc.endswith("."):
            raise PromiseError(
                kind, f"parameter {name}: '{note.doc}' is no sentence", "end it with '.'"
            )


def reads_back(kind: type[PlacementPolicy]) -> None:
    """Raise PromiseError unless a policy's spelling in a manifest parses to an equal policy."""
    policy = kind()
    _, given = parameters.split(f"{kind.name()}[{parameters.spell_all(policy, defaults=True)}]")
    if parameters.build(kind, kind.name(), given) != policy:
        raise PromiseError(
            kind,
            f"'{given}' does not make the same policy again",
            "use numbers, words and booleans",
        )


def scores_every_node(policy: PlacementPolicy, case: Case) -> None:
    """Raise PromiseError unless the scores are one finite int64 or float64 for each node."""
    check_scores(type(policy), _scored(policy, case, case.nodes), len(case.nodes))


def check_result(
    kind: type[PlacementPolicy], method: str, result: Any, arguments: tuple[Any, ...]
) -> None:
    """Raise PromiseError if the result of a method has the wrong type, shape or values."""
    if method == "score":
        check_scores(kind, result, len(arguments[2]))
    elif method == "normalize":
        check_scores(kind, result, len(arguments[0]), method)
    elif method == "admits" and not (
        isinstance(result, np.ndarray)
        and result.dtype == bool
        and result.shape == arguments[2].shape
    ):
        raise PromiseError(
            kind,
            f"admits gave {_shape_of(result)}, expected one bool per node",
            "compare arrays",
            method,
        )


def check_scores(
    kind: type[PlacementPolicy], scores: Any, nodes: int, method: str = "score"
) -> None:
    """Raise PromiseError unless the scores are one finite number for each node."""
    if not isinstance(scores, np.ndarray) or scores.shape != (nodes,):
        raise PromiseError(
            kind,
            f"{method} gave {_shape_of(scores)} for {nodes} nodes, expected shape ({nodes},)",
            "return one number per node of 'nodes', in that order",
            method,
        )
    if scores.dtype not in (np.int64, np.float64):
        hint = "end with .astype(np.float64)"
        what = f"{method} gave {scores.dtype}, expected int64 or float64"
        raise PromiseError(kind, what, hint, method)
    odd = np.flatnonzero(~np.isfinite(scores))
    if odd.size:
        node = int(odd[0])
        value = "NaN" if np.isnan(scores[node]) else str(scores[node])
        raise PromiseError(
            kind,
            f"{method} gave {value} for node {node} of {nodes}, expected a finite number",
            "usage is NaN without a measurement, and a capacity may be 0: give a number for these",
            method,
        )


def _shape_of(result: Any) -> Any:
    return getattr(result, "shape", type(result).__name__)


def scores_nodes_alone(policy: PlacementPolicy, case: Case, rng: np.random.Generator) -> None:
    """Raise PromiseError if the score of a node depends on the other candidates."""
    some = rng.permutation(case.nodes)[: len(case.nodes) // 2 + 1]
    alone, among = _scored(policy, case, some), _scored(policy, case, case.nodes)[some]
    if not np.array_equal(alone, among):
        at = int(np.flatnonzero(alone != among)[0])
        raise PromiseError(
            type(policy),
            f"node {some[at]} scored {among[at]} among all {len(case.nodes)} nodes,"
            f" {alone[at]} among nodes {some.tolist()}",
            "what needs all candidates belongs in normalize(), or say joint: ClassVar[bool] = True",
            "score",
        )


def bounds_its_formula(policy: PlacementPolicy, case: Case) -> None:
    """Raise PromiseError if a node scores above ``Formula.corner``, the formula's upper bound."""
    formula = policy.score_formula()
    if formula is None or formula.better is None:
        return
    seen, names = case.snapshot, [full_name(name) for name, _ in formula.resources]
    if not set(names) <= set(_RESOURCES):
        return
    columns = [_RESOURCES.index(name) for name in names]
    size = seen.allocatable.T[columns]
    wanted = np.minimum((seen.requested + case.container.request).T[columns], size)
    most = float(formula.corner(size, wanted)[0])
    highest = float(formula.value(size, wanted).max())
    if highest > most + _ROUNDING * max(abs(most), 1.0):
        raise PromiseError(
            type(policy),
            f"its formula says better='{formula.better}', yet one node scored {highest},"
            f" and one that is best so in each resource {most}",
            "leave 'better' out where the score does not rise so",
            "score_formula",
        )


def repeats_itself(policy: PlacementPolicy, case: Case) -> None:
    """Raise PromiseError if equal input gives different scores.

    Only the engine draws random numbers, by ``tie``.
    """
    first, second = (_scored(policy, case, case.nodes) for _ in range(2))
    if not np.array_equal(first, second):
        raise PromiseError(
            type(policy),
            f"for equal input it scored {first.tolist()} and then {second.tolist()}",
            "keep no state and draw no numbers; tie=reservoir chooses among equals at random",
            "score",
        )


def explains_every_node(policy: PlacementPolicy, case: Case) -> None:
    """Raise PromiseError unless each part of an explanation has one value for each node."""
    parts = policy.explain(case.snapshot, case.container, case.nodes)
    for name, part in parts.items():
        if np.shape(part) != case.nodes.shape:
            raise PromiseError(
                type(policy),
                f"part '{name}' of explain has shape {np.shape(part)}, expected {case.nodes.shape}",
                "give each part one value per node of 'nodes'",
                "explain",
            )


def drawn_case(rng: np.random.Generator, reads: frozenset[Reads]) -> Case:
    """Draw a cluster of two to six nodes, with the parts of a snapshot that ``reads`` names."""
    nodes = int(rng.integers(2, _MOST_NODES + 1))
    room = rng.integers(1, 1000, (nodes, 2))
    taken = np.minimum(rng.integers(0, 1000, (nodes, 2)), room)
    cluster = Cluster(resources=_RESOURCES, capacity=room, allocatable=room)
    for node, amounts in enumerate(taken):
        cluster.change(node, amounts, amounts, amounts * 2, sign=1)
    used = rng.random((int(rng.integers(0, 4)), nodes, 2))
    snapshot = cluster.snapshot(
        0,
        usage=SeriesUsage(used, 0 if len(used) else None) if "usage" in reads else None,
        placed=_placed(taken) if "placed" in reads else None,
        peers=_peers(nodes) if "peers" in reads else None,
    )
    request = rng.integers(0, 500, 2)
    waiting = Container(
        id="c",
        service="s",
        request=request,
        nonzero_request=np.maximum(request, 1),
        limit=request * 2,
        recorded_node=0 if "recorded" in reads else None,
    )
    return Case(snapshot, waiting)


def _placed(taken: IntArray) -> Placed:
    return Placed(
        node=np.arange(len(taken)),
        time_ms=np.zeros(len(taken), dtype=np.int64),
        request=taken,
        limit=taken * 2,
        service=("s",) * len(taken),
    )


def _peers(nodes: int) -> Peers:
    """Two containers of the service on the first node, and one on the second."""
    peers = Peers(("s",) * 3, nodes)
    for index, node in enumerate((0, 0, 1)):
        peers.add(index, node)
    return peers


def _scored(policy: PlacementPolicy, case: Case, nodes: IntArray) -> Any:
    return _teaching(type(policy), lambda: policy.score(case.snapshot, case.container, nodes))


def _teaching(kind: type[PlacementPolicy], call: Callable[[], Any]) -> Any:
    """The result of a call; a TracekitError becomes a PromiseError with the line in the file."""
    try:
        return call()
    except (ScoreError, OwnPolicyError, PromiseError):
        raise
    except TracekitError as error:
        raise PromiseError(kind, error.what, error.hint or "see CONTRIBUTING") from None
