"""Statements of containers on others and their own labels, each distinct one once."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints import documents
from tracekit.cluster.constraints.among import Rule, Wearers, Whom, labels_of, rules_of
from tracekit.cluster.constraints.relation import Numbers, Related

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Stated:
    """The rules that containers state, and the labels that they wear.

    Parameters
    ----------
    statement : int64, shape (containers,)
        Position in ``rules``, -1 for none.
    rules : list of tuple of Rule
    first : list of int
        A container that makes the statement.
    worn : int64, shape (containers,)
    wearers : Wearers
    """

    statement: IntArray
    rules: list[tuple[Rule, ...]]
    first: list[int]
    worn: IntArray
    wearers: Wearers

    def related(self, states: Sequence[Numbers], whom: Sequence[Sequence[Whom]]) -> Related:
        """Rules that each statement makes, and whom each rule means: who is all of those."""
        meant: defaultdict[int, list[int]] = defaultdict(list)
        for rule, those in enumerate(whom):
            found = self.wearers.meeting(those[0])
            for one in those[1:]:
                found = np.intersect1d(found, self.wearers.meeting(one), assume_unique=True)
            for at in found.tolist():
                meant[at].append(rule)
        every = range(int(self.worn.max(initial=-1)) + 1)
        rows = [tuple(meant.get(at, ())) for at in every]
        return Related.join(self.statement, states, self.worn, rows)


def stated_in(containers: pl.DataFrame) -> Stated | None:
    """The columns namespace, labels and rules, read; None where no container states a rule."""
    texts = texts_of(containers, "rules")
    if not any(texts):
        return None
    spaces, labels = texts_of(containers, "namespace"), texts_of(containers, "labels")
    chosen, bears = texts_of(containers, "selector"), texts_of(containers, "tolerations")
    statement, first = _distinct([
        key if key[0] else None for key in zip(texts, spaces, chosen, bears, strict=True)
    ])  # fmt: skip
    worn, wearing = _distinct(list(zip(spaces, labels, strict=True)))
    rules = [read_cell(_in_space(spaces[at]), containers, at, "rules") for at in first]
    wearers = Wearers([
        (spaces[at], read_cell(labels_of, containers, at, "labels") if labels[at] else {})
        for at in wearing
    ])  # fmt: skip
    return Stated(statement=statement, rules=rules, first=first, worn=worn, wearers=wearers)


def _distinct(keys: Sequence[Hashable]) -> tuple[IntArray, list[int]]:
    """The number of each key, -1 for None, and where each number is met first."""
    known: dict[Hashable, int] = {}
    first: list[int] = []
    of = np.full(len(keys), -1, dtype=np.int64)
    for at, key in enumerate(keys):
        if key is None:
            continue
        if key not in known:
            known[key] = len(first)
            first.append(at)
        of[at] = known[key]
    return of, first


def _in_space(namespace: str) -> Callable[[str], tuple[Rule, ...]]:
    return lambda text: rules_of(text, namespace)


def texts_of(containers: pl.DataFrame, name: str) -> list[str]:
    """A column as texts, empty where it says nothing or is not there."""
    if name not in containers.columns:
        return [""] * containers.height
    return containers[name].cast(pl.String).fill_null("").to_list()


def read_cell(read: Callable[[str], T], containers: pl.DataFrame, at: int, column: str) -> T:
    """A container's column, read; raises TracekitError that names the column if it is invalid."""
    text = str(containers[column][at])
    try:
        return read(text)
    except ValueError as wrong:
        name = str(containers["container"][at])
        raise documents.broken("container", name, column, text, wrong) from wrong
