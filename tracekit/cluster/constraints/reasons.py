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
#: With more different reasons the constraint is told by its name alone.
_MOST = 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class Reasons:
    """The reasons why the selectors or the tolerations of containers close nodes to them.

    Parameters
    ----------
    of : int64, shape (containers,)
        The row in ``holds`` of each container's selector or tolerations, -1 for none.
    holds : bool, shape (statements, reasons)
        Which reasons apply to each distinct selector or list of tolerations.
    distinct : tuple of Reason
    masks : bool, shape (reasons, nodes)
        The nodes that each reason closes.
    """

    of: IntArray
    holds: BoolArray
    distinct: tuple[Reason, ...]
    masks: BoolArray

    def taken(self, order: IntArray) -> Self:
        """Return the reasons for the containers at these positions, in this order."""
        return replace(self, of=self.of[order])

    def on(self, nodes: IntArray) -> Self:
        """Return the reasons for the nodes at these positions alone."""
        return replace(self, masks=self.masks[:, nodes])

    def closed(self, index: int) -> dict[Reason, BoolArray]:
        """Return each reason that closes nodes to a container, with the mask of these nodes."""
        if self.of[index] < 0:
            return {}
        mine = np.flatnonzero(self.holds[self.of[index]]).tolist()
        return {self.distinct[at]: self.masks[at] for at in mine if self.masks[at].any()}


def of_selectors(
    labels: Labels, of: IntArray, selectors: Sequence[Sequence[Sequence[Requirement]]], nodes: int
) -> Reasons | None:
    """Return the reasons that selectors give, or None if there are too many to keep.

    Parameters
    ----------
    of : int64, shape (containers,)
        The position of each container's selector, -1 for none.
    selectors : for each selector its alternatives, each a list of requirements
    """
    made = _Made(nodes)
    for alternatives in selectors:
        nonempty = [one for one in alternatives if one]
        if len(nonempty) == 1:
            made.state({_unmet(one): ~labels.meets(one) for one in nonempty[0]})
            continue
        every = [np.logical_and.reduce([labels.meets(one) for one in each]) for each in nonempty]
        none = ~np.logical_or.reduce(every) if every else np.ones(nodes, np.bool_)
        texts = [" and ".join(_object_of(one) for one in each) for each in nonempty]
        why = Reason("meet", f"none of: {' | '.join(texts)}") if texts else _EMPTY
        made.state({why: none} if alternatives else {})
    return made.reasons(of)


def of_taints(
    of: IntArray,
    borne: Sequence[Sequence[bool]],
    taints: Sequence[Taint | None],
    has: BoolArray,
) -> Reasons | None:
    """Return the reasons that taints give, or None if there are too many to keep.

    Parameters
    ----------
    of : int64, shape (containers,)
        The position of each container's list of tolerations, -1 if it tolerates all taints.
    borne : for each list of tolerations, whether it tolerates each of the taints
    taints : the distinct taints; None stands for that of a cordoned node
    has : bool, shape (taints, nodes)
        Whether the node has the taint.
    """
    made = _Made(has.shape[1])
    every = [
        CORDONED if one is None else Reason("have", f"the taint {_written(one)}") for one in taints
    ]
    for bears in borne:
        made.state({why: has[at] for at, why in enumerate(every) if not bears[at]})
    return made.reasons(of)


class _Made:
    """Collects distinct reasons."""

    def __init__(self, nodes: int) -> None:
        self._masks: dict[Reason, BoolArray] = {}
        self._stated: list[list[Reason]] = []
        self._nodes = nodes

    def state(self, reasons: dict[Reason, BoolArray]) -> None:
        """Add a statement with its reasons."""
        self._stated.append(list(reasons))
        if len(self._masks) <= _MOST:
            self._masks |= reasons

    def reasons(self, of: IntArray) -> Reasons | None:
        """All of them."""
        if len(self._masks) > _MOST:
            return None
        distinct = tuple(self._masks)
        holds = np.zeros((len(self._stated), len(distinct)), dtype=np.bool_)
        at = {reason: number for number, reason in enumerate(distinct)}
        for row, some in enumerate(self._stated):
            holds[row, [at[text] for text in some]] = True
        masks = np.array(list(self._masks.values()), dtype=np.bool_)
        return Reasons(
            of=of, holds=holds, distinct=distinct, masks=masks.reshape(len(distinct), self._nodes)
        )


def _unmet(requirement: Requirement) -> Reason:
    """The reasons that close nodes which do not meet a requirement."""
    name = _name(requirement)
    if requirement.key in NAMES and requirement.operator == "In":
        return Reason("are", f"not {name}")
    if requirement.operator == "NotIn":
        return Reason("have", f"the label {name}")
    if requirement.operator == "DoesNotExist":
        return Reason("have", f"the label {requirement.key}")
    return Reason("lack", f"the label {name}")


def _object_of(one: Requirement) -> str:
    """The object of a requirement's reason, as a node would meet it."""
    if one.operator == "NotIn":
        return f"not {_name(one)}"
    return f"no {one.key}" if one.operator == "DoesNotExist" else _name(one)


def _name(requirement: Requirement) -> str:
    """The label and its values."""
    key, operator = requirement.key, requirement.operator
    if operator in ("Exists", "DoesNotExist"):
        return key
    if operator in ("Gt", "Lt"):
        return f"{key} {'above' if operator == 'Gt' else 'below'} {requirement.values[0]}"
    values = " or ".join(requirement.values)
    return values if key in NAMES else f"{key}={values}"


def _written(taint: Taint) -> str:
    """A taint as ``kubectl taint`` writes it."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def shut_out_remark(shut_out: Sequence[tuple[int, str]], ids: Sequence[str]) -> tuple[Fact, ...]:
    """Return a fact of the containers that may run on no node, with the reason of the first."""
    if not shut_out:
        return ()
    names = [ids[at] for at, _ in shut_out]
    return (remark("shut_out", len(shut_out), "containers", names=names, why=shut_out[0][1]),)
