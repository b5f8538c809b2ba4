"""Rebalance policies: the interface here, one policy per file beside it.

A rebalance policy looks at the running cluster once per interval and names containers to evict.
It places nothing: what it evicts goes back to the queue, and at the next sampling step through the
placement policy of the replay. Moves are counted, and each costs ``move_downtime_ms``.
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
    """What one rebalancing comes to; containers are positions in ``snapshot.placed``.

    Parameters
    ----------
    evicted : int64, shape (evicted,)
        In the order of their eviction.
    strategies : tuple of str
        What evicted each.
    stays : mapping of (strategy, reason) to positions
        Who was looked at and stays.
    """

    evicted: IntArray
    strategies: tuple[str, ...]
    stays: Mapping[tuple[str, str], IntArray]


@dataclass(frozen=True, kw_only=True)
class RebalancePolicy(Parametrised):
    """Base of every rebalance policy.

    Attributes
    ----------
    reads : frozenset of {'requests', 'limits', 'usage', 'placed'}
        What of the snapshot the choice depends on; 'placed' is always among it.
    source : str
        Upstream file and version, or where else the rule comes from.
    aliases : tuple of str
        Other names that recorded cases use for it.
    notes : tuple of str
        What a reader of its results must know, a line each.
    """

    reads: ClassVar[frozenset[Reads]]
    source: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    interval_ms: Annotated[int, About("Time from one rebalancing to the next.", minimum=1)] = (
        300_000
    )
    move_downtime_ms: Annotated[
        int, About("What one move costs: time its container does not serve.", minimum=0)
    ] = 10_000

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def evict(self, snapshot: Snapshot) -> IntArray:
        """The containers to evict now, in the order of their eviction.

        Returns
        -------
        int64, shape (evicted,)
            Positions in ``snapshot.placed``, each at most once; empty when nothing is to be done.
        """
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """Whom it evicts now, by which strategy, and who stays for which reason."""
        evicted = self.evict(snapshot)
        return Decision(evicted=evicted, strategies=(type(self).__name__,) * len(evicted), stays={})


@functools.cache
def all_rebalancers() -> dict[str, type[RebalancePolicy]]:
    """Every rebalance policy, by name."""
    return registry.subclasses(sys.modules[__name__], RebalancePolicy)


def find_rebalancer(name: str) -> type[RebalancePolicy] | None:
    """The rebalance policy of that name, of a recorded case's name for it, or of an alias."""
    return called(name, all_rebalancers())


def get_rebalancer(name: str) -> type[RebalancePolicy]:
    """The rebalance policy of that name; raises TracekitError for an unknown one."""
    found = find_rebalancer(name)
    if found is None:
        listing = "tracekit list rebalancers"
        raise unknown_name("rebalance policy", name, all_rebalancers(), listing=listing)
    return found


def build_rebalancer(kind: type[RebalancePolicy], given: Mapping[str, str]) -> RebalancePolicy:
    """A rebalance policy with parameters given as text."""
    made: Any = parameters.build(kind, f"rebalance policy {kind.name()}", given)
    if not isinstance(made, RebalancePolicy):
        raise TypeError(kind)
    return made
