"""Facts by their causes."""

from __future__ import annotations

from collections.abc import Iterable

from tracekit.base.facts import Fact


def causes(facts: Iterable[Fact]) -> list[str]:
    """The causes of facts, in their order."""
    return [one.because for one in facts]


def the(facts: Iterable[Fact], because: str) -> Fact:
    """The only fact of a cause."""
    (found,) = (one for one in facts if one.because == because)
    return found
