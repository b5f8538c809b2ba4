"""Limits within which fewer nodes are enough: on measures of the summary, and nobody waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.errors import TracekitError
from tracekit.replay.measures import RESOURCES, all_measures, find_measure
from tracekit.replay.runs.thresholds import Threshold, parse_threshold

_OPTION = "--limit"
#: What holds besides the limits given, unless one of those speaks of the same measure: every
#: container gets a node, and gets it at once. A cluster whose containers queue is too small.
PLACED = ("pending == 0", "pending_container_steps == 0")
#: What holds where no limit is given.
DEFAULT = ("overloaded_node_steps == 0",)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Broken:
    """A limit that does not hold.

    Parameters
    ----------
    value : float, optional
        The side that is measured; None where the run cannot tell it.
    """

    limit: str
    measure: str
    value: float | None
    excess: float | None

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.measure} is not known, so '{self.limit}' does not hold"
        by = "" if self.excess is None else f" by {self.excess:,.4g}"
        return f"{self.measure} is {self.value:,.4g}, which breaks '{self.limit}'{by}"


@dataclass(frozen=True)
class Limits:
    """All that has to hold; see ``parse_limits``."""

    given: tuple[Threshold, ...]

    @property
    def measures(self) -> list[str]:
        """The measures that those given speak of, each once."""
        return list(dict.fromkeys(name for one in self.given for name in one.measures))

    def of(self, policy: str) -> list[Threshold]:
        """All that hold for a policy: every container is placed, then those given."""
        given = [one for one in self.given if one.policy in (None, policy)]
        named = {name for one in given for name in one.measures}
        placed = [parse_threshold(text, _OPTION) for text in PLACED]
        return [*(one for one in placed if one.measure not in named), *given]

    def first_broken(self, policy: str, base: Row, row: Row) -> Broken | None:
        """The first limit that a row of the summary does not keep; None where all hold.

        ``base`` is the row of the same policy and order of arrival on all nodes.
        """
        for one in self.of(policy):
            if not one.met(base, row):
                sides = one.sides(base, row)
                first, last = sides[0], sides[-1]
                known = None not in (first, last)
                plain = len(sides) == 2 and known
                return Broken(
                    limit=one.text,
                    measure=one.measure,
                    value=row.get(one.measure),
                    excess=abs(float(first or 0) - float(last or 0)) if plain else None,
                )
        return None

    def nobody_waits(self, policy: str) -> bool:
        """Whether every container present runs at every settled step, as bounds assume."""
        ceiling = self._ceiling(policy, "pending_container_steps")
        return ceiling < 1

    def most_use(self, policy: str) -> tuple[float, float]:
        """The share of a node's capacity that use may reach at settled steps: cpu, memory.

        Infinite where no limit says so in the plain form ``MEASURE <= NUMBER``.
        """
        all_ = 1.0 if self._ceiling(policy, "overloaded_node_steps") < 1 else float("inf")
        cpu, memory = (
            min(all_, self._ceiling(policy, f"{name}_max_fraction")) for name in RESOURCES
        )
        return cpu, memory

    def _ceiling(self, policy: str, measure: str) -> float:
        found = [
            one.ceiling
            for one in self.of(policy)
            if one.measure == measure and one.ceiling is not None
        ]
        return min(found, default=float("inf"))


def parse_limits(texts: Sequence[str], policies: Sequence[str]) -> Limits:
    """The limits given, or the default one, and that every container is placed at once.

    Raises
    ------
    TracekitError
        For what is no limit, a measure there is not, or a policy that is not replayed.
    """
    given = [parse_threshold(text, _OPTION) for text in texts or DEFAULT]
    usual = dict.fromkeys(["placed", *all_measures()])
    for one in given:
        # the names are looked up as they will be in the rows, which may have further resources
        further = {name: None for name in one.names if find_measure(name) is not None}
        one.sides({**usual, **further}, {**usual, **further})
        if one.policy is not None and one.policy not in policies:
            raise TracekitError(
                f"{_OPTION} '{one.text}': policy '{one.policy}' is not replayed",
                hint=f"policies: {', '.join(policies)}",
            )
    return Limits(tuple(given))
