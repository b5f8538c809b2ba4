"""Placement policies: the interface here, one policy per file beside it.

A policy scores; the engine filters, breaks ties, commits and measures. A policy is a frozen
dataclass: its fields are its parameters, its class says what it reads and where it comes from.
"""

import functools
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np

from tracekit.base import parameters, registry
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About, spell
from tracekit.cluster.constraints.constraint import CellChoice
from tracekit.policy.placement._parts.formula import Formula as Formula
from tracekit.policy.placement._parts.formula import quotient as quotient
from tracekit.policy.view.snapshot import Container, Snapshot, Tie

Scores = IntArray | FloatArray
Reads = Literal["requests", "limits", "usage", "placed", "recorded", "calls", "cells", "peers"]
#: Who runs a policy.
UsedBy = Literal["scheduler", "paper", "yardstick"]

#: What recorded cases write before a policy's name.
VENDORS = ("k8s_", "trimaran_", "scheduler_plugins_", "descheduler_")


class Called(Protocol):
    """A kind of policy with further names."""

    aliases: ClassVar[tuple[str, ...]]


P = TypeVar("P", bound=Called)


def called(name: str, known: Mapping[str, type[P]]) -> type[P] | None:
    """The policy of that name, of a recorded case's name for it, or of an alias."""
    plain = name
    for vendor in VENDORS:
        plain = plain.removeprefix(vendor)
    for one, policy in known.items():
        if one in (name, plain) or name in policy.aliases or plain in policy.aliases:
            return policy
    return None


class ScoreError(TracekitError):
    """A policy cannot score at all with its parameters; the scheduler's status is Error."""


class Parametrised:
    """Base of whatever takes part in a replay: a dataclass of parameters in a file of its name.

    Attributes
    ----------
    stated : frozenset of str
        The parameters that its spelling states, though with their defaults.
    file : str, optional
        Where a user's own policy is written; None for those of tracekit.
    """

    stated: ClassVar[frozenset[str]] = frozenset()
    file: ClassVar[str | None] = None

    def metric_time_ms(self, now_ms: int) -> int:
        """Newest time whose measurements the policy may have at ``now_ms``; no later than it."""
        return now_ms

    def metric_samples(self) -> int:
        """How many of the newest samples of node usage the policy looks back on."""
        return 1

    @classmethod
    def name(cls) -> str:
        """The policy's public name: its file's."""
        return cls.__module__.rpartition(".")[2]

    def spelled(self) -> Mapping[str, str]:
        """Every parameter with its value as text."""
        return {name: spell(getattr(self, name)) for name in parameters.names(type(self))}

    def spelled_out(self) -> str:
        """Name and all parameters in one text."""
        return f"{self.name()}[{parameters.spell_all(self, defaults=True)}]"

    def written_in(self) -> tuple[str, ...]:
        """The files that say what it does, where these are a user's own."""
        return (self.file,) if self.file else ()

    def address(self) -> str:
        """As ``parse_entrant`` reads it in any process."""
        return str(self)

    def __str__(self) -> str:
        given = parameters.spell_all(self, defaults=False, also=self.stated)
        return f"{self.name()}[{given}]" if given else self.name()


@dataclass(frozen=True, kw_only=True)
class PlacementPolicy(Parametrised):
    """Base of every placement policy.

    Attributes
    ----------
    reads : frozenset of Reads
        What of the snapshot the score depends on; only that is handed over.
    source : str
        Upstream file and version, or paper and equation.
    aliases : tuple of str
        Other names that recorded cases use for it.
    filtered : bool
        Whether only nodes with room are offered; False places regardless, as production did.
    joint : bool
        Whether a node's score depends on the other candidates. Then an engine must offer all nodes
        with room at once, and may keep no score from one decision to the next.
    common : bool
        Whether it is one of the ten that are compared first: what a Kubernetes cluster can be set
        to without writing code, the load-aware plugins beside it, and the plain baselines. The
        word ``common`` stands for them.
    batched : bool
        Whether it decides for several containers at once, by ``select`` of ``BatchPolicy``.
    cell : {'first', 'tight'}
        Which NUMA cell of a node a container that is bound to one gets.
    wants : tuple of str
        Resources beyond cpu and memory that the policy looks at. Where the cluster has none of one
        the policy leaves it out, and a report must say so.
    limit_s : float
        How long a user's own policy may be at one decision; asked of no other.
    lifts : frozenset of str
        Constraints of the workload that do not hold under it, by the first word of their names.
    notes : tuple of str
        What a reader of its results must know, a line each.
    title : str
        Its name written out, where its file's name is an abbreviation.
    used_by : UsedBy
        Who runs it: a scheduler; nobody, as a paper proposes it; or nobody ever, as it only serves
        to compare others with. A yardstick is never recommended.
    preempts : bool
        Whether it evicts lower priorities where the workload says that this happens.
    rebalance, schedulers : None
        Nothing is behind a policy that takes part alone, see ``entrant.Accompanied``.
    gang_wait_ms, gang_backoff_ms : int, optional
        As of the workload, where the policy says it itself; None leaves it to the workload.
    """

    reads: ClassVar[frozenset[Reads]]
    source: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    filtered: ClassVar[bool] = True
    joint: ClassVar[bool] = False
    common: ClassVar[bool] = False
    batched: ClassVar[bool] = False
    cell: ClassVar[CellChoice] = "first"
    wants: ClassVar[tuple[str, ...]] = ()
    limit_s: ClassVar[float] = 10.0
    lifts: ClassVar[frozenset[str]] = frozenset()
    notes: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    used_by: ClassVar[UsedBy] = "paper"
    preempts: ClassVar[bool] = True
    rebalance: ClassVar[None] = None
    schedulers: ClassVar[None] = None
    gang_wait_ms: ClassVar[int | None] = None
    gang_backoff_ms: ClassVar[int | None] = None

    tie: Tie = "first"

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """How good each of ``nodes`` is for the container, higher is better.

        By the policy's formula where it states one; any other policy says it here.

        A node's score depends on that node and the container alone, so that an engine may rescore
        only what changed; what needs all candidates belongs in ``normalize``, or, where scores
        alone are not enough, in a policy that is ``joint``.

        Parameters
        ----------
        nodes : int64, shape (candidates,)
            Node positions to score.

        Returns
        -------
        int64 or float64, shape (candidates,)
        """
        formula = self.score_formula()
        if formula is None:
            raise NotImplementedError
        if self.lacks_resources(formula):
            raise ScoreError(f"{self.name()} has no resource to score by: resources is empty")
        return formula.score(snapshot, container, nodes)

    def score_formula(self) -> Formula | None:
        """The score resource by resource, if it can be said so; then it is compiled."""
        return None

    def lacks_resources(self, formula: Formula) -> bool:
        """Whether its parameter ``resources`` leaves nothing to score by, which is an error."""
        return not getattr(self, "resources", True) and not formula.resources

    def normalize(self, scores: Scores) -> Scores:
        """Scores of all candidates brought to their final scale; unchanged by default."""
        return scores

    def admits(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> BoolArray:
        """Which of ``nodes``, that have room by requests, the policy's own filter lets pass.

        As with ``score``, that depends on each node and the container alone.
        """
        return np.ones(len(nodes), dtype=np.bool_)

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Whether the policy has nothing to say about this container (PreScore Skip)."""
        return False

    def explain(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,  # noqa: ARG002
    ) -> dict[str, FloatArray]:
        """Named parts of the score, each shape (candidates,), NaN where a part is left out."""
        return {}

    def candidates(
        self,
        feasible: IntArray,
        start: int,  # noqa: ARG002
        nodes: int,  # noqa: ARG002
    ) -> tuple[IntArray, int]:
        """Which feasible nodes are scored, and where the next search starts; all of them here.

        Parameters
        ----------
        feasible : int64, shape (feasible,)
            Positions of the nodes with room, ascending.
        start : int
            What the previous decision of this replay returned, 0 at first.
        nodes : int
            Number of nodes of the cluster, with room or not.
        """
        return feasible, 0

    @classmethod
    def filters(cls) -> bool:
        """Whether the policy has a filter of its own."""
        return cls.admits is not PlacementPolicy.admits

    @classmethod
    def scores_by_formula(cls) -> bool:
        """Whether nothing but the formula decides: no other step of a decision is its own."""
        steps = ("score", "normalize", "admits", "skips", "candidates")
        own = (inspect.unwrap(getattr(cls, step)) for step in steps)
        same = all(step is getattr(PlacementPolicy, step.__name__, None) for step in own)
        return same and cls.filtered and not cls.joint and not cls.batched

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments of a recorded case after the scheduler's own defaulting, in its spelling.

        Names that are parameters are taken as such; others are the scheduler's business alone.
        """
        return arguments

    def shown_score(self, score: float) -> float | str:
        """A score as a table shows it: with its unit, if it has one."""
        return score

    @property
    def placement(self) -> Self:
        """The policy itself, as of an entrant."""
        return self

    @property
    def best_score(self) -> float | None:
        """The score, after ``normalize``, of a node that could not be better; the worst is 0.

        None: it has no such ends, and who weighs policies against each other brings its scores to
        0..100 over the candidates.
        """
        return None

    def spelled_out(self) -> str:
        """All parameters in one text."""
        return parameters.spell_all(self, defaults=True)

    def address(self) -> str:
        """The policy as ``parse_policy`` reads it in any process: by its file if it has one."""
        given = parameters.spell_all(self, defaults=False, also=self.stated)
        return f"{self.file or self.name()}[{given}]"


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Containers that wait for nodes, in the order of their arrival.

    Parameters
    ----------
    open_nodes : bool, shape (containers, nodes), optional
        What constraints leave open as the batch begins; None: all.
    """

    containers: tuple[Container, ...]
    open_nodes: BoolArray | None = None


@dataclass(frozen=True, kw_only=True)
class BatchPolicy(PlacementPolicy):
    """Base of policies that decide batch by batch.

    ``score`` still says how good a node is for one container: a container whose proposed node has
    no room for it, after those of its batch that came before, goes where it scores best.
    """

    batched: ClassVar[bool] = True

    batch_size: Annotated[
        int, About("Containers decided at once; a batch ends with the sampling step.", minimum=1)
    ] = 10

    def select(self, snapshot: Snapshot, batch: Batch, rng: np.random.Generator) -> IntArray:
        """The node of each container of the batch, -1 for none.

        Returns
        -------
        int64, shape (containers,)
        """
        raise NotImplementedError


@functools.cache
def all_policies() -> dict[str, type[PlacementPolicy]]:
    """Every placement policy, by name: tracekit's, and those of installed packages."""
    own = registry.subclasses(sys.modules[__name__], PlacementPolicy)
    return registry.with_brought(own, "tracekit.policies", _is_policy, "placement policy")


def _is_policy(name: str, brought: object) -> bool:
    """A policy's name is that of its file."""
    return (
        isinstance(brought, type)
        and issubclass(brought, PlacementPolicy)
        and brought.name() == name
    )


def title_of_policy(spelled: str) -> str:
    """The name as a stranger reads it: ``balanced resource allocation (bra)``, ``production``."""
    name = spelled.partition("[")[0]
    kind = all_policies().get(name)
    if kind is None or not kind.title:
        return spelled
    return kind.title if name == "observed" else f"{kind.title} ({spelled})"
