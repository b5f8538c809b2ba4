"""Why selectors and taints close nodes: the missing label, or the taint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.facts import Fact, remark
from tracekit.cluster.constraints.constraint import Reason
from tracekit.cluster.constraints.labels import NAMES, Labels, Requirement, Taint

#: What is said of a node that takes nothing new.
CORDONED = Reason("are", "cordoned")
#: What a selector with an alternative that asks for nothing does: it selects no node.
_EMPTY = Reason("are", "not selected, as the selector asks for nothing")
#: So many containers are named.
_NAMED = 3
#: With more different reasons the constraint is told by its name alone.
_MOST = 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class Reasons:
    """The reasons that close nodes to containers, by what the containers state.

    Parameters
    ----------
    of : int64, shape (containers,)
        The position of each container's statement, -1 for none.
    holds : bool, shape (statements, reasons)
        Which reasons apply to each statement.
    known : tuple of Reason
    masks : bool, shape (reasons, nodes)
        The nodes that each reason closes.
    """

    of: IntArray
    holds: BoolArray
    known: tuple[Reason, ...]
    masks: BoolArray

    def taken(self, order: IntArray) -> Self:
        """The reasons for the containers at these positions, in this order."""
        return replace(self, of=self.of[order])

    def on(self, nodes: IntArray) -> Self:
        """The reasons for the nodes at these positions alone."""
        return replace(self, masks=self.masks[:, nodes])

    def closed(self, index: int) -> dict[Reason, BoolArray]:
        """Each reason that closes some of these nodes to a container, with the nodes it closes."""
        if self.of[index] < 0:
            return {}
        mine = np.flatnonzero(self.holds[self.of[index]]).tolist()
        return {self.known[at]: self.masks[at] for at in mine if self.masks[at].any()}


def of_selectors(
    labels: Labels, of: IntArray, asked: Sequence[Sequence[Sequence[Requirement]]], nodes: int
) -> Reasons | None:
    """The reasons that selectors give; None if there are too many to keep.

    Parameters
    ----------
    of : int64, shape (containers,)
        The position of each container's selector, -1 for none.
    asked : for each selector its alternatives, each a list of requirements
    """
    made = _Made(nodes)
    for alternatives in asked:
        known = [one for one in alternatives if one]
        if len(known) == 1:
            made.state({_unmet(one): ~labels.meets(one) for one in known[0]})
            continue
        every = [np.logical_and.reduce([labels.meets(one) for one in each]) for each in known]
        none = ~np.logical_or.reduce(every) if every else np.ones(nodes, np.bool_)
        texts = [" and ".join(_asked(one) for one in each) for each in known]
        why = Reason("meet", f"none of: {' | '.join(texts)}") if texts else _EMPTY
        made.state({why: none} if alternatives else {})
    return made.reasons(of)


def of_taints(
    of: IntArray,
    borne: Sequence[Sequence[bool]],
    taints: Sequence[Taint | None],
    has: BoolArray,
) -> Reasons | None:
    """The reasons that taints give; None if there are too many to keep.

    Parameters
    ----------
    of : int64, shape (containers,)
        The position of each container's list of tolerations, -1 if it tolerates all taints.
    borne : for each list of tolerations, which of the taints it tolerates
    taints : the distinct taints; None stands for a node that takes nothing new
    has : bool, shape (taints, nodes)
    """
    made = _Made(has.shape[1])
    known = [
        CORDONED if one is None else Reason("have", f"the taint {_written(one)}") for one in taints
    ]
    for bears in borne:
        made.state({why: has[at] for at, why in enumerate(known) if not bears[at]})
    return made.reasons(of)


class _Made:
    """Collects distinct reasons."""

    def __init__(self, nodes: int) -> None:
        self._masks: dict[Reason, BoolArray] = {}
        self._stated: list[list[Reason]] = []
        self._nodes = nodes

    def state(self, found: dict[Reason, BoolArray]) -> None:
        """Add a statement with its reasons."""
        self._stated.append(list(found))
        if len(self._masks) <= _MOST:
            self._masks |= found

    def reasons(self, of: IntArray) -> Reasons | None:
        """All of them."""
        if len(self._masks) > _MOST:
            return None
        known = tuple(self._masks)
        holds = np.zeros((len(self._stated), len(known)), dtype=np.bool_)
        at = {reason: number for number, reason in enumerate(known)}
        for row, some in enumerate(self._stated):
            holds[row, [at[text] for text in some]] = True
        masks = np.array(list(self._masks.values()), dtype=np.bool_)
        return Reasons(
            of=of, holds=holds, known=known, masks=masks.reshape(len(known), self._nodes)
        )


def _unmet(asked: Requirement) -> Reason:
    """The reasons that close nodes which do not meet a requirement."""
    name = _name(asked)
    if asked.key in NAMES and asked.operator == "In":
        return Reason("are", f"not {name}")
    if asked.operator == "NotIn":
        return Reason("have", f"the label {name}")
    if asked.operator == "DoesNotExist":
        return Reason("have", f"the label {asked.key}")
    return Reason("lack", f"the label {name}")


def _asked(one: Requirement) -> str:
    """The object of a requirement's reason, as a node would meet it."""
    if one.operator == "NotIn":
        return f"not {_name(one)}"
    return f"no {one.key}" if one.operator == "DoesNotExist" else _name(one)


def _name(asked: Requirement) -> str:
    """The label and its values."""
    if asked.operator in ("Exists", "DoesNotExist"):
        return asked.key
    if asked.operator in ("Gt", "Lt"):
        return f"{asked.key} {'above' if asked.operator == 'Gt' else 'below'} {asked.values[0]}"
    values = " or ".join(asked.values)
    return values if asked.key in NAMES else f"{asked.key}={values}"


def _written(taint: Taint) -> str:
    """A taint as ``kubectl taint`` writes it."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def shut_out_remark(found: Sequence[tuple[int, str]], ids: Sequence[str]) -> tuple[Fact, ...]:
    """A fact of the containers that may run on no node, with the reason of the first."""
    if not found:
        return ()
    names = [ids[at] for at, _ in found]
    return (remark("shut_out", len(found), "containers", names=names, why=found[0][1]),)
