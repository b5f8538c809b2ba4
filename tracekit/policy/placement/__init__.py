"""The interface of placement policies; each policy is a class in a file of this folder.

A policy scores nodes; the engine filters, breaks ties, commits and measures. A policy is a frozen
dataclass: its fields are parameters, and attributes of its class state what it reads and its
source.
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
#: The users of a policy.
UsedBy = Literal["scheduler", "paper", "yardstick"]

#: Prefixes of policy names in recorded cases.
VENDORS = ("k8s_", "trimaran_", "scheduler_plugins_", "descheduler_")


class Called(Protocol):
    """Any class of policies that ``called`` can look up by alias."""

    aliases: ClassVar[tuple[str, ...]]


P = TypeVar("P", bound=Called)


def called(name: str, kinds: Mapping[str, type[P]]) -> type[P] | None:
    """Return the class with a name or an alias, also after a prefix of ``VENDORS``; else None."""
    plain = name
    for vendor in VENDORS:
        plain = plain.removeprefix(vendor)
    for one, policy in kinds.items():
        if one in (name, plain) or name in policy.aliases or plain in policy.aliases:
            return policy
    return None


class ScoreError(TracekitError):
    """A policy cannot score with its parameters; the real scheduler's status is Error."""


class Parametrised:
    """Base of placement policies, rebalance policies and ``Schedulers``: a dataclass of parameters.

    Attributes
    ----------
    stated : frozenset of str
        The parameters that the user gave; ``str`` repeats them even with their default values.
    file : str, optional
        The file of a user's own policy; None for a policy of tracekit.
    """

    stated: ClassVar[frozenset[str]] = frozenset()
    file: ClassVar[str | None] = None

    def metric_time_ms(self, now_ms: int) -> int:
        """Return the time of the newest measurements that the policy may read at ``now_ms``."""
        return now_ms

    def metric_samples(self) -> int:
        """Return how many of the newest samples of node use the policy reads."""
        return 1

    @classmethod
    def name(cls) -> str:
        """Return the public name: that of the class, or that of the file of a user's own policy."""
        return registry.name_of(cls)

    def spelled(self) -> Mapping[str, str]:
        """Return every parameter with its value as text."""
        return {name: spell(getattr(self, name)) for name in parameters.names(type(self))}

    def spelled_out(self) -> str:
        """Return the name and all parameters in one text."""
        return f"{self.name()}[{parameters.spell_all(self, defaults=True)}]"

    def written_in(self) -> tuple[str, ...]:
        """Return the paths of the user's own files that define the policy."""
        return (self.file,) if self.file else ()

    def address(self) -> str:
        """Return the text that ``parse_entrant`` reads in any process."""
        return str(self)

    def __str__(self) -> str:
        given = parameters.spell_all(self, defaults=False, also=self.stated)
        return f"{self.name()}[{given}]" if given else self.name()


@dataclass(frozen=True, kw_only=True)
class PlacementPolicy(Parametrised):
    """Base of every placement policy: an instance is a rule with values of its parameters.

    Attributes
    ----------
    reads : frozenset of Reads
        Parts of the snapshot that the score depends on; the policy gets only these.
    source : str
        Upstream file and version, or paper and equation.
    aliases : tuple of str
        Other names of the policy in recorded cases, which are decisions of real schedulers.
    filtered : bool
        Whether only nodes with room are scored; False places anywhere, as production did.
    joint : bool
        Whether a node's score depends on the other candidates. The engine then scores all nodes
        with room at once, and keeps no score from one decision to the next.
    common : bool
        Whether the word ``common`` includes the policy: settings of a Kubernetes cluster that need
        no code, the load-aware plugins, and the plain baselines.
    batched : bool
        Whether the policy decides for several containers at once, by ``BatchPolicy.select``.
    cell : {'first', 'tight'}
        Which NUMA cell of a node a container of one cell gets: the first or the fullest with room.
    wants : tuple of str
        Resources beyond cpu and memory that the policy reads. It leaves out a resource that the
        cluster lacks, and a report says so.
    limit_s : float
        The longest time of one call of a user's own policy; no other policy has a limit.
    lifts : frozenset of str
        Labels of the workload's constraints that do not hold under the policy, as ``selector``.
    notes : tuple of str
        Remarks for a reader of the policy's results, a line each.
    title : str
        The full name, if the name of the class is an abbreviation.
    used_by : {'scheduler', 'paper', 'yardstick'}
        Whether schedulers have the policy, only a paper proposes it, or it only serves as a
        comparison. A yardstick is never recommended.
    preempts : bool
        Whether the policy evicts containers of lower priority, if the workload allows it.
    rebalance, schedulers : None
        Always None for a single policy; see ``entrant.Accompanied``.
    gang_wait_ms, gang_backoff_ms : int, optional
        Replace the times of the workload's ``Rules``, if not None.
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
        """Return the score of each of ``nodes`` for the container; higher is better.

        A policy with a formula is scored by the formula; any other policy overrides this method.

        A node's score depends on that node and the container alone, so that an engine may rescore
        only the nodes that changed. Scores that depend on all candidates belong in ``normalize``,
        or in a policy that is ``joint``.

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
        """Return the formula of the score; None if the score is no formula over resources."""
        return None

    def lacks_resources(self, formula: Formula) -> bool:
        """Return whether parameter ``resources`` is empty, so that every node scores the same."""
        return not getattr(self, "resources", True) and not formula.resources

    def normalize(self, scores: Scores) -> Scores:
        """Return the final scores of all candidates; the scores themselves by default."""
        return scores

    def admits(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> BoolArray:
        """Return which of ``nodes`` pass the policy's own filter, shape (candidates,).

        All of ``nodes`` have room by requests. As with ``score``, the result depends on each node
        and the container alone.
        """
        return np.ones(len(nodes), dtype=np.bool_)

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Return whether the policy does not score this container (PreScore Skip)."""
        return False

    def explain(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,  # noqa: ARG002
    ) -> dict[str, FloatArray]:
        """Return the parts of the score by name, each of shape (candidates,).

        A value is NaN for a node whose score omits that part.
        """
        return {}

    def candidates(
        self,
        feasible: IntArray,
        start: int,  # noqa: ARG002
        nodes: int,  # noqa: ARG002
    ) -> tuple[IntArray, int]:
        """Return the feasible nodes to score, by default all, and the start of the next search.

        Parameters
        ----------
        feasible : int64, shape (feasible,)
            Positions of the nodes with room, ascending.
        start : int
            The node position that the previous decision of this replay returned, 0 at first.
        nodes : int
            Number of all nodes of the cluster.
        """
        return feasible, 0

    @classmethod
    def filters(cls) -> bool:
        """Return whether the policy overrides ``admits``, and so filters nodes itself."""
        return cls.admits is not PlacementPolicy.admits

    @classmethod
    def scores_by_formula(cls) -> bool:
        """Return whether the formula alone decides: the policy overrides no other step."""
        steps = ("score", "normalize", "admits", "skips", "candidates")
        own = (inspect.unwrap(getattr(cls, step)) for step in steps)
        same = all(step is getattr(PlacementPolicy, step.__name__, None) for step in own)
        return same and cls.filtered and not cls.joint and not cls.batched

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a recorded case's arguments, with the real scheduler's defaults for missing ones.

        An argument named as a parameter of the policy sets it; others concern the scheduler alone.
        """
        return arguments

    def shown_score(self, score: float) -> float | str:
        """Return a score for a table: as text with its unit, if it has one."""
        return score

    @property
    def placement(self) -> Self:
        """The policy itself; ``Accompanied.placement`` is that of a combination."""
        return self

    @property
    def best_score(self) -> float | None:
        """The highest possible score after ``normalize``; the lowest is 0.

        None for a policy without such a range; a profile then scales its scores to 0..100 over the
        candidates.
        """
        return None

    def spelled_out(self) -> str:
        """Return all parameters as one text, ``name=value,...``."""
        return parameters.spell_all(self, defaults=True)

    def address(self) -> str:
        """Return the text that ``parse_policy`` reads in any process, with the user's own file."""
        given = parameters.spell_all(self, defaults=False, also=self.stated)
        return f"{self.file or self.name()}[{given}]"


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Containers that wait for nodes, in the order of their arrival.

    Parameters
    ----------
    containers : tuple of Container
    open_nodes : bool, shape (containers, nodes), optional
        The nodes that constraints leave open when the batch begins; None for all nodes.
    """

    containers: tuple[Container, ...]
    open_nodes: BoolArray | None = None


@dataclass(frozen=True, kw_only=True)
class BatchPolicy(PlacementPolicy):
    """Base of policies that decide for several containers at once, by ``select``.

    If a selected node has no room after the earlier containers of the batch, the container goes to
    the node with the highest ``score`` instead.
    """

    batched: ClassVar[bool] = True

    batch_size: Annotated[
        int, About("Containers decided at once; a batch ends with the sampling step.", minimum=1)
    ] = 10

    def select(self, snapshot: Snapshot, batch: Batch, rng: np.random.Generator) -> IntArray:
        """Return the node of each container of the batch, -1 for none.

        Returns
        -------
        int64, shape (containers,)
        """
        raise NotImplementedError


@functools.cache
def all_policies() -> dict[str, type[PlacementPolicy]]:
    """Return every placement policy, by name: tracekit's, and those of installed packages."""
    own = registry.subclasses(sys.modules[__name__], PlacementPolicy)
    return registry.with_entry_points(own, "tracekit.policies", _is_policy, "placement policy")


def _is_policy(name: str, brought: object) -> bool:
    """Whether an object of a package is a policy in a file with the policy's name."""
    return (
        isinstance(brought, type)
        and issubclass(brought, PlacementPolicy)
        and brought.name() == name
    )


def title_of_policy(spelled: str) -> str:
    """Return a policy's name for readers: ``bra`` gives ``balanced resource allocation (bra)``."""
    name = spelled.partition("[")[0]
    kind = all_policies().get(name)
    if kind is None or not kind.title:
        return spelled
    return kind.title if name == "observed" else f"{kind.title} ({spelled})"
