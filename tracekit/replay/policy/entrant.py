"""What a replay compares: a placement policy, alone or with one that rebalances behind it.

Spelled ``NAME[param=value,...]``, or ``NAME[...]+REBALANCER[...]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracekit import parameters
from tracekit.errors import TracekitError
from tracekit.replay.placement import PlacementPolicy, Reads
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.rebalance import RebalancePolicy, parse_rebalancer
from tracekit.values import spell


@dataclass(frozen=True)
class Rebalanced:
    """A placement policy, and who evicts once per interval; what is evicted it places again."""

    placement: PlacementPolicy
    rebalance: RebalancePolicy

    @property
    def reads(self) -> frozenset[Reads]:
        """What the placement policy looks at."""
        return self.placement.reads

    @property
    def filtered(self) -> bool:
        """Whether only nodes with room are offered."""
        return self.placement.filtered

    @property
    def wants(self) -> tuple[str, ...]:
        """Further resources that the placement policy looks at."""
        return self.placement.wants

    @property
    def source(self) -> str:
        """Where both come from."""
        return f"{self.placement.source}; {self.rebalance.source}"

    @property
    def file(self) -> str | None:
        """Where a user's own placement policy is written."""
        return self.placement.file

    def name(self) -> str:
        """Both names."""
        return f"{self.placement.name()}+{self.rebalance.name()}"

    def address(self) -> str:
        """Both as ``parse_entrant`` reads them in any process."""
        return f"{self.placement.address()}+{self.rebalance}"

    def __str__(self) -> str:
        return f"{self.placement}+{self.rebalance}"


Entrant = PlacementPolicy | Rebalanced


def parse_entrant(text: str) -> Entrant:
    """What a text spells; ``str`` of it is the same text again.

    Raises TracekitError for an unknown name or parameter, or for production with a rebalancer.
    """
    placement, _, rebalance = _halves(text)
    policy = parse_policy(placement)
    return rebalanced(policy, parse_rebalancer(rebalance)) if rebalance else policy


def rebalanced(policy: PlacementPolicy, rebalance: RebalancePolicy) -> Rebalanced:
    """The policy with a rebalancer behind it."""
    if "recorded" in policy.reads:
        raise TracekitError(
            f"'{policy}' is what production did: nothing can be moved in it",
            hint="rebalance behind a placement policy, for example least_allocated+load_spread",
        )
    return Rebalanced(policy, rebalance)


def halves(entrant: Entrant) -> tuple[PlacementPolicy, RebalancePolicy | None]:
    """Who places, and who rebalances if anybody does."""
    if isinstance(entrant, Rebalanced):
        return entrant.placement, entrant.rebalance
    return entrant, None


def spelled(entrant: Entrant) -> Mapping[str, Any]:
    """Every parameter with its value as text; a rebalancer's under its name, a dot between."""
    placement, rebalance = halves(entrant)
    own = {name: spell(getattr(placement, name)) for name in parameters.names(type(placement))}
    if rebalance is None:
        return own
    theirs = parameters.names(type(rebalance))
    prefix = rebalance.name()
    return own | {f"{prefix}.{name}": spell(getattr(rebalance, name)) for name in theirs}


def spelled_out(entrant: Entrant) -> str:
    """All parameters in one text, as the summary has them."""
    placement, rebalance = halves(entrant)
    own = parameters.spell_all(placement, defaults=True)
    if rebalance is None:
        return own
    return f"{own}+{rebalance.name()}[{parameters.spell_all(rebalance, defaults=True)}]"


def _halves(text: str) -> tuple[str, str, str]:
    """The text cut at the first '+' outside brackets."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "+" and depth == 0:
            return text[:at].strip(), "+", text[at + 1 :].strip()
    return text, "", ""
