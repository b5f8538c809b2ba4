"""Rules on how many containers a domain of nodes may have, or must: (rule, domain, count).

Some containers state a rule, and it means some. Its bound says what its rows ask of a domain:

``most``
    While somebody runs there who states the rule, at most ``count`` run there whom it means, beside
    the one who states it. A node that is in no domain is closed to nobody. So are the groups that
    keep apart, limits on two services, required anti-affinity and ports of the host.
``least``
    Who states the rule runs where ``count`` run whom it means, in the node's domain of each row.
    While nobody whom it means runs in any domain, one whom it means may be the first on any node
    that is in a domain of each row. So are the groups that stay together and required affinity.
``even``
    Who states the rule runs where, with it, the domain has at most ``count`` more of those whom the
    rule means than the domain that has fewest; with fewer domains than ``domains`` the fewest is
    none. Only nodes of a domain in the row ``counted`` count. So is topology spread.

Source: kubernetes v1.34 interpodaffinity/filtering.go, podtopologyspread/filtering.go, nodeports.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.constraint import (
    Constraint,
    domains_on,
    everywhere,
)

Bound = Literal["most", "least", "even"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CountRules(Constraint):
    """A table of rules of one kind.

    Parameters
    ----------
    label : str
        What it is called where it closed a node.
    bound : {'most', 'least', 'even'}
    of : int64, shape (containers,)
        Containers of one class state the same rules and are meant by the same; -1: by none.
    states, meant : int64, shape (pairs, 2)
        Class and rule: the rules that each class states, and those that mean it.
    table : int64, shape (rows, 5)
        Rule; row of ``domain`` that it goes by; row of the nodes that count; count; domains. A
        ``most`` above 0 is of a rule that means all who state it, or none of them.
    domain : int64, shape (domain rows, nodes)
        -1 is no domain, or a node that does not count.
    by : str
        What the domains are, where a kind has one: node, rack, domain, zone, or a label.
    """

    label: str
    bound: Bound
    of: IntArray
    states: IntArray
    meant: IntArray
    table: IntArray
    domain: IntArray
    by: str = ""

    @property
    def name(self) -> str:
        """The rule, and by what."""
        return f"{self.label} by {self.by}" if self.by else self.label

    @property
    def kinds(self) -> IntArray:
        """The class of each that states a rule, or that a bound from above means."""
        if self.bound == "most":
            return self.of
        return np.where(np.isin(self.of, self.states[:, 0]), self.of, -1)

    @property
    def awaits(self) -> BoolArray:
        """Those who need others; where a rule means who states it, others only close nodes."""
        needing = {"most": set(), "least": _pairs(self.states) - _pairs(self.meant)}
        pairs = needing.get(self.bound, _pairs(self.states))
        return np.isin(self.of, [of for of, _ in pairs])

    @property
    def nodes(self) -> int:
        """How many nodes are in a domain or none."""
        return int(self.domain.shape[1])

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, of=self.of[order])

    def on(self, nodes: IntArray) -> Self:
        """The same where the nodes at these positions are all there are."""
        rows = [domains_on(row, nodes) for row in self.domain]
        return replace(self, domain=np.array(rows, dtype=np.int64).reshape(-1, len(nodes)))

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """The containers that state a bound from above and are meant by it."""
        if self.bound != "most":
            return
        both = _grouped((rule, of) for of, rule in sorted(_pairs(self.states) & _pairs(self.meant)))
        order = np.argsort(self.of, kind="stable")
        edges = np.searchsorted(self.of[order], np.arange(self.of.max(initial=-1) + 2)).tolist()
        members = [order[first:last] for first, last in itertools.pairwise(edges)]
        for rule, by, _, count, _ in self.table.tolist():
            those = [members[of] for of in both.get(rule, ()) if of < len(members)]
            if those and (self.domain[by] >= 0).all():
                yield np.concatenate(those), count + 1

    def keeper(self, nodes: int) -> RulesKeeper:
        """The counts of one replay."""
        return _KEEPERS[self.bound](self, nodes)


def apart(by: str, group: IntArray, domain: IntArray, most: IntArray) -> CountRules:
    """Members of a group keep apart: at most ``most`` of each, (groups,), in one domain."""
    return CountRules(
        label="apart", bound="most", by=by, domain=domain[None], **_itself(group, most - 1)
    )


def together(by: str, group: IntArray, domain: IntArray) -> CountRules:
    """Members of a group stay together: the first that is placed chooses their domain."""
    one = np.ones(group.max(initial=-1) + 1, dtype=np.int64)
    return CountRules(
        label="together", bound="least", by=by, domain=domain[None], **_itself(group, one)
    )


def _itself(group: IntArray, count: IntArray) -> dict[str, Any]:
    """A rule of each group on its own members."""
    each = np.arange(len(count))
    pairs, none = np.column_stack([each, each]), np.zeros_like(each)
    table = np.column_stack([each, none, none, count, none])
    return {"of": group, "states": pairs, "meant": pairs, "table": table}


def sharing(service: IntArray, limits: IntArray, nodes: int) -> CountRules:
    """Limits on services: a node with some of the holder has at most ``most`` of the guest.

    Parameters
    ----------
    service : int64, shape (containers,)
        -1 for one without limits.
    limits : int64, shape (limits, 3)
        Holder, guest, most; where holder and guest are one service it is ``most`` beside the one:
        the reading under which the recorded placement of Tianchi 2018 breaks no rule.
    """
    each = np.arange(len(limits))
    none = np.zeros_like(each)
    return CountRules(
        label="rules on sharing",
        bound="most",
        of=service,
        states=np.column_stack([limits[:, 0], each]),
        meant=np.column_stack([limits[:, 1], each]),
        table=np.column_stack([each, none, none, limits[:, 2], none]),
        domain=np.arange(nodes)[None],
    )


def _pairs(pairs: IntArray) -> set[tuple[int, int]]:
    return {(of, rule) for of, rule in pairs.tolist()}


def _grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """The seconds of each first."""
    found: dict[int, list[int]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
    return found


class RulesKeeper:
    """How many containers of some classes are in each domain.

    Numbers by domain lie one thing after the other in one array, each thing with a last number,
    that of nodes in no domain; it stays 0.
    """

    def __init__(self, rules: CountRules, nodes: int) -> None:
        self._rules, self._of = rules, rules.of.tolist()
        self._everywhere = everywhere(nodes)
        self._size = rules.domain.max(axis=1, initial=-1) + 1
        self._at = np.where(rules.domain < 0, self._size[:, None], rules.domain)
        self._by_node = [bool((row == np.arange(nodes)).all()) for row in rules.domain]
        self._stated, self._meant = _grouped(rules.states.tolist()), _grouped(rules.meant.tolist())
        self._rows = _grouped(zip(rules.table[:, 0].tolist(), itertools.count()))
        things: dict[tuple[int, tuple[int, ...]], int] = {}
        self._met = self._counters(rules.meant, things)
        self._stating = self._counters(rules.states if rules.bound == "most" else None, things)
        where, start = self._laid_out([row for row, _ in things])
        self._counts = np.zeros(start[-1], dtype=np.int32)
        self._met, self._stating = start[self._met], start[self._stating]
        inside = _grouped((of, at) for (_, some), at in things.items() for of in some)
        self._inside = {of: (start[at], where[at]) for of, at in inside.items()}

    def _counters(
        self, pairs: IntArray | None, things: dict[tuple[int, tuple[int, ...]], int]
    ) -> IntArray:
        """Which of the things that are counted each row goes by: classes in a row of domains."""
        if pairs is None:
            return np.zeros(0, dtype=np.int64)
        classes = _grouped(pairs[:, ::-1].tolist())
        keys = [
            (counted, tuple(classes.get(rule, ())))
            for rule, _, counted, _, _ in self._rules.table.tolist()
        ]
        return np.array([things.setdefault(key, len(things)) for key in keys], dtype=np.int64)

    def _laid_out(self, rows: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Rows of domains as an array, and where the numbers of each begin; the last is the end."""
        where = np.array(rows, dtype=np.int64)
        return where, np.cumsum(np.append(0, self._size[where] + 1))

    def _near(self, values: IntArray, start: int, row: int) -> IntArray:
        """The number of each node's domain, shape (nodes,)."""
        if self._by_node[row]:
            return values[start : start + len(self._everywhere)]
        return np.asarray(values[start : start + self._size[row] + 1][self._at[row]])

    def _change(self, index: int, node: int, more: int) -> None:
        inside = self._inside.get(self._of[index])
        if inside is not None:
            start, rows = inside
            at = self._at[rows, node]
            self._counts[start + at] += more * (at < self._size[rows])

    def add(self, index: int, node: int) -> None:
        """One more on the node."""
        self._change(index, node, 1)

    def remove(self, index: int, node: int) -> None:
        """One less on the node."""
        self._change(index, node, -1)

    def open(self, index: int) -> BoolArray:
        """The nodes that every rule of the container leaves open."""
        found, of = self._everywhere, self._of[index]
        for rule in self._stated.get(of, ()):
            found = found & self._open(rule, rule in self._meant.get(of, ()))
        return found

    def _open(self, rule: int, meant: bool) -> BoolArray:
        """The nodes that a rule leaves open to one that states it."""
        raise NotImplementedError


class _Least(RulesKeeper):
    def _open(self, rule: int, meant: bool) -> BoolArray:
        rows = self._rows[rule]
        _, by, _, count, _ = self._rules.table[rows].T
        start = self._met[rows].tolist()
        if any(
            self._counts[at : at + self._size[row]].any() for at, row in zip(start, by, strict=True)
        ):
            near = [self._near(self._counts, at, row) for at, row in zip(start, by, strict=True)]
            return np.asarray((np.stack(near, axis=1) >= count).all(axis=1))
        return np.asarray((self._rules.domain[by] >= 0).all(axis=0) & meant)


class _Even(RulesKeeper):
    def __init__(self, rules: CountRules, nodes: int) -> None:
        super().__init__(rules, nodes)
        self._known = [np.unique(row[row >= 0]) for row in rules.domain]

    def _open(self, rule: int, meant: bool) -> BoolArray:
        (row,) = self._rows[rule]
        _, by, counted, skew, domains = self._rules.table[row].tolist()
        known, domain = self._known[counted], self._rules.domain[by]
        if not len(known):
            return np.asarray(domain >= 0)
        start, size = self._met[row], self._size[counted]
        counts = np.zeros(max(size, self._size[by]) + 1, dtype=np.int64)
        counts[:size] = self._counts[start : start + size]
        fewest = counts[known].min() if len(known) >= domains else 0
        return np.asarray((domain >= 0) & (counts[domain] + meant - fewest <= skew))


class _Most(RulesKeeper):
    """Holds how many rules close each domain to each class, so that a question costs a look."""

    def __init__(self, rules: CountRules, nodes: int) -> None:
        super().__init__(rules, nodes)
        states, meant = (_grouped(side[:, ::-1].tolist()) for side in (rules.states, rules.meant))
        slots: dict[tuple[int, int], int] = {}
        closed: list[list[int]] = []
        for rule, by, *_ in rules.table.tolist():
            sides = [states.get(rule, []), meant.get(rule, [])]
            # where all state it whom it means, its bound on them says all
            sides[1] = [] if sides[0] == sides[1] else sides[1]
            closed += [[slots.setdefault((of, by), len(slots)) for of in one] for one in sides]
        row, start = self._laid_out([row for _, row in slots])
        every = np.array([slot for some in closed for slot in some], dtype=np.int64)
        self._closed, self._first = start[every], np.cumsum([0, *map(len, closed)])
        most = np.bincount(every, minlength=1).max()
        self._reasons = np.zeros(start[-1], dtype=np.min_scalar_type(-1 - most))
        self._slots = _grouped((of, at) for (of, _), at in slots.items())
        self._slot_at, self._slot_row = start.tolist(), row.tolist()
        self._touched = {of: self._rows_of(of) for of in {*self._stated, *self._meant}}

    def _rows_of(self, of: int) -> IntArray:
        """The rows that a class states or is meant by, shape (8, rows)."""
        stated, meant = set(self._stated.get(of, ())), set(self._meant.get(of, ()))
        mine = [(row, rule) for rule in sorted(stated | meant) for row in self._rows[rule]]
        rows = np.array([row for row, _ in mine])
        by = self._rules.table[rows, 1]
        inside = [[rule in side for _, rule in mine] for side in (meant, stated)]
        count, size = self._rules.table[rows, 3], self._size[by]
        return np.stack([rows, by, size, self._met[rows], self._stating[rows], count, *inside])

    def open(self, index: int) -> BoolArray:
        """The nodes in whose domains no rule is broken by one more."""
        masks = [
            self._near(self._reasons, self._slot_at[slot], self._slot_row[slot]) == 0
            for slot in self._slots.get(self._of[index], ())
        ]
        return functools.reduce(np.logical_and, masks) if masks else self._everywhere

    def _change(self, index: int, node: int, more: int) -> None:
        touched = self._touched.get(self._of[index])
        if touched is None:
            return
        rows, by, size, met_at, stating_at, count, is_met, is_stating = touched
        at = self._at[by, node]
        met, stating = self._counts[met_at + at], self._counts[stating_at + at]
        flips = _shut(met + more * is_met, stating + more * is_stating, count)
        flips -= _shut(met, stating, count)
        flips[:, at == size] = 0  # in no domain
        super()._change(index, node, more)
        side, which = np.nonzero(flips)
        if len(which):
            first = self._first[2 * rows[which] + side]
            often = self._first[2 * rows[which] + side + 1] - first
            each = np.repeat(np.arange(len(first)), often)
            nth = np.arange(len(each)) - (np.cumsum(often) - often)[each]
            where = self._closed[first[each] + nth] + at[which][each]
            np.add.at(self._reasons, where, flips[side, which][each])


def _shut(met: IntArray, stating: IntArray, count: IntArray) -> NDArray[np.int8]:
    """Whether a rule closes a domain to who states it, and to whom it means, shape (2, rows)."""
    found = np.empty((2, len(met)), dtype=np.int8)
    found[0] = met > count
    found[1] = (stating > 0) & (met >= count)
    return found


_KEEPERS: Mapping[Bound, type[RulesKeeper]] = {"most": _Most, "least": _Least, "even": _Even}
