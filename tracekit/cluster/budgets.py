"""Budgets of disruption: how many containers of a set may be missing because of evictions.

Of the containers that a budget selects, ``minAvailable`` must run, or ``maxUnavailable`` may be
missing; a percentage is of the containers that should exist, rounded up. An eviction that a budget
does not allow is refused; so is any eviction of a container under several budgets. Preemption
avoids evictions against a budget but may make them: see ``tracekit.replay.engine.placer``.

Source: kubernetes v1.34 pkg/controller/disruption (disruptionsAllowed), and the eviction of
registry/core/pod/storage.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.intake.sources.own._kubernetes.rules import BUDGET

_HUNDRED = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class Budgets:
    """The disruption budgets of a workload, and the containers that are under each.

    Parameters
    ----------
    names : tuple of str
    of : int64, shape (containers, most)
        Positions in ``names`` of each container's budgets, -1 behind the last.
    available : bool, shape (budgets,)
        Whether ``amount`` is ``minAvailable``, how many must run, or else ``maxUnavailable``, how
        many may be missing.
    amount : int64, shape (budgets,)
    percent : bool, shape (budgets,)
        Whether the amount is a percentage of the containers that should exist.
    missing : int64, shape (budgets,), optional
        Number of each budget's containers that should run but wait in production, and so are not
        replayed. None if there are no such containers.
    """

    names: tuple[str, ...]
    of: IntArray
    available: BoolArray
    amount: IntArray
    percent: BoolArray
    missing: IntArray | None = None

    def __len__(self) -> int:
        return len(self.of)

    def allowed(self, running: BoolArray, present: BoolArray) -> IntArray:
        """Return how many more containers of each budget may be evicted, shape (budgets,).

        Parameters
        ----------
        running, present : bool, shape (containers,)
            Which containers run, and which should.
        """
        healthy, expected = self._count(running), self._count(present)
        if self.missing is not None:
            expected = expected + self.missing
        share = -(-self.amount * expected // _HUNDRED)
        amount = np.where(self.percent, share, self.amount)
        wanted = np.where(self.available, amount, np.maximum(expected - amount, 0))
        return np.where(expected > 0, np.maximum(healthy - wanted, 0), 0)

    def against(self, those: Iterable[int], allowed: IntArray) -> list[bool]:
        """Return for each of these containers, evicted in this order, whether this breaks a budget.

        ``allowed``, shape (budgets,), is the number of evictions that each budget still allows.
        """
        left, breaks = allowed.copy(), []
        for one in those:
            own = self.of[one][self.of[one] >= 0]
            left[own] -= 1
            breaks.append(bool((left[own] < 0).any()))
        return breaks

    def granted(self, those: IntArray, allowed: IntArray) -> IntArray:
        """Return the containers whose eviction is allowed, if they are evicted in this order.

        ``allowed``, shape (budgets,), is the number of evictions that each budget still allows. A
        container under several budgets may never be evicted.
        """
        left, evictable = allowed.copy(), []
        for one in those.tolist():
            own = self.of[one][self.of[one] >= 0]
            if len(own) > 1 or (left[own] < 1).any():
                continue
            left[own] -= 1
            evictable.append(one)
        return np.array(evictable, dtype=np.int64)

    def barred(self, those: IntArray, allowed: IntArray) -> BoolArray:
        """Return which of these containers may not be evicted now.

        Such a container is under several budgets, or under one for which ``allowed``, shape
        (budgets,), is 0.
        """
        own = self.of[those]
        spent = np.append(allowed < 1, False)  # the last is that of -1
        held: BoolArray = spent[own].any(axis=1) | ((own >= 0).sum(axis=1) > 1)
        return held

    def names_of(self, those: IntArray) -> list[str]:
        """Return the names of the budgets that any of these containers is under."""
        own = self.of[those]
        return [self.names[at] for at in np.unique(own[own >= 0]).tolist()]

    def taken(self, order: IntArray) -> Budgets:
        """Return the budgets for the containers at these positions, in this order."""
        return dataclasses.replace(self, of=self.of[order])

    def remarks(self) -> tuple[Fact, ...]:
        """Return facts of containers under budgets, and of budgets that allow no eviction."""
        under = int((self.of >= 0).any(axis=1).sum())
        every = np.ones(len(self.of), dtype=np.bool_)
        left = self.allowed(every, every)
        none = sorted(name for name, some in zip(self.names, left, strict=True) if not some)
        facts = [remark("budgets", under, "containers", names=sorted(self.names))]
        if none:
            facts.append(remark("budgets_allow_none", len(none), "budgets", names=none))
        return tuple(facts)

    def _count(self, those: BoolArray) -> IntArray:
        own = self.of[those]
        return np.bincount(own[own >= 0], minlength=len(self.names)).astype(np.int64)


def limit_of(spec: Mapping[str, Any]) -> tuple[bool, int, bool] | None:
    """Return a budget's limit: whether it is ``minAvailable``, its amount, whether this is in %.

    ``{"maxUnavailable": "20%"}`` gives (False, 20, True). Return None if the amount cannot be read.
    A budget that states no amount allows no eviction.
    """
    for name in ("maxUnavailable", "minAvailable"):
        stated = spec.get(name)
        if stated is None:
            continue
        text = str(stated)
        number = text.removesuffix("%")
        if isinstance(stated, bool) or not (number.isascii() and number.isdigit()):
            return None
        if len(number) > 9:
            return None
        return name == "minAvailable", int(number), text != number
    return True, _HUNDRED, True


def _rows(text: str) -> list[Mapping[str, Any]]:
    try:
        read = json.loads(text)
    except ValueError as error:
        raise TracekitError(f"rules of a container: {error}") from error
    rows = read if isinstance(read, list) else []
    return [row for row in rows if isinstance(row, Mapping) and row.get("kind") == BUDGET]


def budgets_of(stated: pl.Series, waiting: pl.Series | None = None) -> Budgets | None:
    """Return the budgets of each container, from the column ``rules``; None if there is no budget.

    Parameters
    ----------
    waiting : Series, optional
        The same column for containers that should run and are not replayed.

    Raises
    ------
    TracekitError
        For a budget whose amount cannot be read.
    """
    texts = [one for one in stated.drop_nulls().unique(maintain_order=True) if BUDGET in one]
    rows_by_text = {text: _rows(text) for text in texts}
    limits: dict[str, tuple[bool, int, bool]] = {}
    for row in (row for rows in rows_by_text.values() for row in rows):
        limit = limit_of(row)
        if limit is None:
            raise TracekitError(f"{BUDGET} {row.get('name')}: {row} says no amount")
        limits.setdefault(str(row.get("name")), limit)
    if not limits:
        return None
    names = sorted(limits)
    at = {name: number for number, name in enumerate(names)}
    own = {
        text: sorted({at[str(row.get("name"))] for row in rows})
        for text, rows in rows_by_text.items()
    }
    most = max(len(one) for one in own.values())
    of = np.full((len(stated), most), -1, dtype=np.int64)
    for number, text in enumerate(stated):
        if text in own:
            of[number, : len(own[text])] = own[text]
    missing = np.zeros(len(names), dtype=np.int64)
    for text in () if waiting is None else waiting:
        if text is not None and BUDGET in text:
            ours = {at[name] for row in _rows(text) if (name := str(row.get("name"))) in at}
            missing[sorted(ours)] += 1
    available, amount, percent = zip(*(limits[name] for name in names), strict=True)
    return Budgets(
        names=tuple(names),
        of=of,
        available=np.array(available, dtype=np.bool_),
        amount=np.array(amount, dtype=np.int64),
        percent=np.array(percent, dtype=np.bool_),
        missing=missing if missing.any() else None,
    )
