"""The interface of rebalance policies; each policy is a class in a file of this folder.

A rebalance policy looks at the running cluster once per interval and names containers to evict.
It places nothing: an evicted container goes back to the queue, and the placement policy of the
replay places it at the next sampling step. Each move costs ``move_downtime_ms``.
"""

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tracekit.base import parameters, registry
from tracekit.base.arrays import IntArray
from tracekit.base.errors import unknown_name
from tracekit.base.parameters import About
from tracekit.policy.placement import Parametrised, Reads, called
from tracekit.policy.view.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The containers that a rebalance policy evicts now, as positions in ``snapshot.placed``.

    Parameters
    ----------
    evicted : int64, shape (evicted,)
        The containers to evict, in order.
    strategies : tuple of str
        For each evicted container, the class name of the plugin or policy that evicts it.
    staying : mapping of (strategy, reason) to positions
        Containers that the strategy considered and did not evict, for this reason.
    """

    evicted: IntArray
    strategies: tuple[str, ...]
    staying: Mapping[tuple[str, str], IntArray]


@dataclass(frozen=True, kw_only=True)
class RebalancePolicy(Parametrised):
    """A rule that picks running containers to evict; base of every rebalance policy.

    Attributes
    ----------
    reads : frozenset of {'requests', 'limits', 'usage', 'placed'}
        Parts of the snapshot that the policy reads; 'placed' is always one of them.
    source : str
        Upstream file and version, or another origin of the rule.
    aliases : tuple of str
        Other names of the policy in recorded cases.
    notes : tuple of str
        Remarks for a reader of the policy's results, a line each.
    """

    reads: ClassVar[frozenset[Reads]]
    source: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    interval_ms: Annotated[int, About("Time from one rebalancing to the next.", minimum=1)] = (
        300_000
    )
    move_downtime_ms: Annotated[
        int, About("Time for which a moved container does not serve.", minimum=0)
    ] = 10_000

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Return the containers to evict now, in order.

        Returns
        -------
        int64, shape (evicted,)
            Positions in ``snapshot.placed``, each at most once.
        """
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """Return the containers to evict now, and those considered but left, with the reason."""
        evicted = self.evict(snapshot)
        return Decision(
            evicted=evicted, strategies=(type(self).__name__,) * len(evicted), staying={}
        )


@functools.cache
def all_rebalancers() -> dict[str, type[RebalancePolicy]]:
    """Return the class of every rebalance policy, by name."""
    return registry.subclasses(sys.modules[__name__], RebalancePolicy)


def find_rebalancer(name: str) -> type[RebalancePolicy] | None:
    """Return the class of a rebalance policy by its name or an alias; None for an unknown name.

    A vendor's prefix before the name is ignored.
    """
    return called(name, all_rebalancers())


def get_rebalancer(name: str) -> type[RebalancePolicy]:
    """Return the class of a rebalance policy by name; raises TracekitError for an unknown name."""
    kind = find_rebalancer(name)
    if kind is None:
        listing = "tracekit list rebalancers"
        raise unknown_name("rebalance policy", name, all_rebalancers(), listing=listing)
    return kind


def build_rebalancer(kind: type[RebalancePolicy], given: Mapping[str, str]) -> RebalancePolicy:
    """Create a policy of class ``kind``; ``given`` maps names of parameters to values as text."""
    made: Any = parameters.build(kind, f"rebalance policy {kind.name()}", given)
    if not isinstance(made, RebalancePolicy):
        raise TypeError(kind)
    return made
