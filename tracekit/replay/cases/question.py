"""What a recorded case asks, what an answer is, and what a kind of case is.

A recorded case is one scheduling situation with the answer of the upstream scheduler. A kind
answers it with the same code the replay runs, in the same shape as the case's ``expected``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.replay.placement import PlacementPolicy
from tracekit.shape import Shape


@dataclass(frozen=True, kw_only=True)
class Question:
    """One case as read.

    Parameters
    ----------
    inputs : mapping
        The case's ``inputs``.
    policy : callable
        Gives the policy class; raises TracekitError when the case names none that is known.
    settings : mapping of str to str
        Parameters given on the command line; they win over the case's own ``args``.
    policy_name : str, optional
        The name as the case or the command line gives it; it may be a rebalance policy's.
    """

    name: str
    inputs: Mapping[str, Any]
    policy: Callable[[], type[PlacementPolicy]]
    settings: Mapping[str, str] = field(default_factory=dict)
    policy_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer: ``values`` in the shape of ``expected``, and a table for a person."""

    values: Mapping[str, Any]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class CaseKind:
    """A kind of case, as the decorator ``kind`` makes it of a function; named as that is.

    Parameters
    ----------
    inputs : mapping of str to Shape
        What the kind reads of a case's ``inputs``; checked before ``answer`` is asked.
    """

    title: str
    answer: Callable[[Question], Answer]
    inputs: Mapping[str, Shape]


def kind(
    title: str, inputs: Mapping[str, Shape]
) -> Callable[[Callable[[Question], Answer]], CaseKind]:
    """The kind of case that the decorated function answers."""
    return lambda answer: CaseKind(title=title, answer=answer, inputs=inputs)
