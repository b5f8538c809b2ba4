"""Rules on how many containers a domain of nodes may have, or must have.

A rule is stated by some containers (its holders) and counts some containers (its members). Its
bound says what its rows require of a domain:

``most``
    While a holder runs in a domain, at most ``count`` members run there beside it; nodes in none
    are open. So are groups that keep apart, limits on two services, anti-affinity and host ports.
``least``
    A holder runs only where ``count`` members run in the node's domain of each row. While no member
    runs in any domain, a holder that is itself a member may be the first, on any node that is in a
    domain of each row. So are groups that stay together, and affinity.
``even``
    A holder runs only where its domain, with it, has at most ``count`` more members than the domain
    that has fewest; with fewer than ``domains`` domains, fewest is 0. Only nodes that have a domain
    in the row ``counted`` count. So is topology spread.

Source: kubernetes v1.34 interpodaffinity/filtering.go, podtopologyspread/filtering.go, nodeports.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.constraints.constraint import Constraint, domains_on, everywhere

Bound = Literal["most", "least", "even"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CountRules(Constraint):
    """Rules of one kind as tables. Some containers hold a rule, and some are its members.

    A rule closes nodes to its holders by the number of members that run in each domain.

    Parameters
    ----------
    label : str
        The name of the kind in reports of closed nodes.
    bound : {'most', 'least', 'even'}
        Whether a domain may have at most, must have at least, or may have only ``count`` members
        more than others; the docstring of the module defines it.
    of : int64, shape (containers,)
        The class of each container, -1 without rules. Containers of one class hold the same rules
        and are members of the same rules.
    states, meant : int64, shape (pairs, 2)
        Pairs of class and rule: the rules that a class holds, and those that it is a member of.
    table : int64, shape (rows, 5)
        A rule, its row of ``domain``, the row of ``domain`` with the nodes that count, ``count``,
        and for ``even`` the least number of domains. If a ``most`` rule has a ``count`` above 0,
        all its holders are members, or none is.
    domain : int64, shape (domain rows, nodes)
        The domain of each node; -1 for none, or for a node that does not count.
    by : str
        The kind of all domains, if there is one: node, rack, domain, zone, or a label.
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
        """The name of the rules, with their domains: ``spread by zone``."""
        return f"{self.label} by {self.by}" if self.by else self.label

    @functools.cached_property
    def kinds(self) -> IntArray:
        """The class of each holder, and for ``most`` also of each member; -1 for all others."""
        if self.bound == "most":
            return self.of
        return np.where(np.isin(self.of, self.states[:, 0]), self.of, -1)

    @property
    def awaits(self) -> BoolArray:
        """Whether each container can start only after a member runs, shape (containers,)."""
        needing = {"most": set(), "least": _pairs(self.states) - _pairs(self.meant)}
        pairs = needing.get(self.bound, _pairs(self.states))
        return np.isin(self.of, [of for of, _ in pairs])

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.domain.shape[1])

    def taken(self, order: IntArray) -> Self:
        """Return the constraint for the containers at these positions, in this order."""
        return replace(self, of=self.of[order])

    def on(self, nodes: IntArray) -> Self:
        """Return the constraint for the nodes at these positions alone."""
        rows = [domains_on(row, nodes) for row in self.domain]
        return replace(self, domain=np.array(rows, dtype=np.int64).reshape(-1, len(nodes)))

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """Yield the holders that a ``most`` rule counts, and how many of them a node takes."""
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
        """Return the counts of containers by domain for one replay, before any placement."""
        return _KEEPERS[self.bound](self, nodes)


def apart(by: str, group: IntArray, domain: IntArray, most: IntArray) -> CountRules:
    """Return rules that let a domain run at most ``most[g]`` members of group g; -1 is no group."""
    return CountRules(
        label="apart", bound="most", by=by, domain=domain[None], **_itself(group, most - 1)
    )


def together(by: str, group: IntArray, domain: IntArray) -> CountRules:
    """Return rules that keep a group in the domain of its first placed member; -1 is no group."""
    one = np.ones(group.max(initial=-1) + 1, dtype=np.int64)
    return CountRules(
        label="together", bound="least", by=by, domain=domain[None], **_itself(group, one)
    )


def _itself(group: IntArray, count: IntArray) -> dict[str, Any]:
    """A rule of each group whose holders and members are the group."""
    each = np.arange(len(count))
    pairs, none = np.column_stack([each, each]), np.zeros_like(each)
    table = np.column_stack([each, none, none, count, none])
    return {"of": group, "states": pairs, "meant": pairs, "table": table}


def sharing(service: IntArray, limits: IntArray, nodes: int) -> CountRules:
    """Return limits on how many containers of one service a node takes beside those of another.

    Parameters
    ----------
    service : int64, shape (containers,)
        -1 for a container without limits.
    limits : int64, shape (limits, 3)
        Holder, guest, most: a node that runs service ``holder`` takes at most ``most`` containers
        of service ``guest``. If both are one service, the first container is not counted: read like
        this, the recorded placement of Tianchi 2018 breaks no rule.
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
    """The second elements of pairs, grouped by the first."""
    groups: dict[int, list[int]] = {}
    for first, second in pairs:
        groups.setdefault(first, []).append(second)
    return groups


class RulesKeeper:
    """The state of rules during a replay: how many containers of some classes run in each domain.

    All counts are in one array. It has a part for each group of classes that a rule counts
    together. A part has an entry for each domain, and a last one, always 0, for nodes in no domain.
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
        where = np.array([row for row, _ in things], dtype=np.int64)
        start = np.cumsum(np.append(0, self._size[where] + 1))
        last = max(part.max(initial=-1) for part in (rules.of, rules.states, rules.meant))
        members = np.bincount(rules.of + 1, minlength=last + 2)[1:]
        most = max((int(members[list(some)].sum()) for _, some in things), default=0)
        self._counts = np.zeros(start[-1], dtype=np.min_scalar_type(-1 - most))
        self._met, self._stating = start[self._met], start[self._stating]
        inside = _grouped((of, at) for (_, some), at in things.items() for of in some)
        self._inside = {of: (start[at], where[at]) for of, at in inside.items()}
        #: Nodes that are in no domain of some row.
        self._outside: list[bool] = np.asarray((rules.domain < 0).any(axis=0)).tolist()

    def _counters(
        self, pairs: IntArray | None, things: dict[tuple[int, tuple[int, ...]], int]
    ) -> IntArray:
        """For each row of the table, which set it counts: some classes in a row of domains."""
        if pairs is None:
            return np.zeros(0, dtype=np.int64)
        classes = _grouped(pairs[:, ::-1].tolist())
        keys = [
            (counted, tuple(classes.get(rule, ())))
            for rule, _, counted, _, _ in self._rules.table.tolist()
        ]
        return np.array([things.setdefault(key, len(things)) for key in keys], dtype=np.int64)

    def _of_domains(self, values: NDArray[Any], start: int, row: int) -> NDArray[Any]:
        """The entry of each node's domain in the counts, shape (nodes,)."""
        if self._by_node[row]:
            return values[start : start + len(self._everywhere)]
        return np.asarray(values[start : start + self._size[row] + 1][self._at[row]])

    def _change(self, index: int, node: int, more: int) -> None:
        inside = self._inside.get(self._of[index])
        if inside is not None:
            start, rows = inside
            at = self._at[rows, node]
            counts = at < self._size[rows] if self._outside[node] else 1
            self._counts[start + at] += more * counts

    def add(self, index: int, node: int) -> None:
        """Count a container that starts on the node."""
        self._change(index, node, 1)

    def remove(self, index: int, node: int) -> None:
        """Count a container that leaves the node."""
        self._change(index, node, -1)

    def open(self, index: int) -> BoolArray:
        """Return the nodes that every rule of the container leaves open."""
        mask, of = self._everywhere, self._of[index]
        for rule in self._stated.get(of, ()):
            mask = mask & self._open(rule, rule in self._meant.get(of, ()))
        return mask

    def _open(self, rule: int, meant: bool) -> BoolArray:
        """The nodes that one rule leaves open to its holder."""
        raise NotImplementedError


class _Least(RulesKeeper):
    def __init__(self, rules: CountRules, nodes: int) -> None:
        super().__init__(rules, nodes)
        by, count = rules.table[:, 1].tolist(), rules.table[:, 3].tolist()
        needs = list(zip(by, self._met.tolist(), count, strict=True))
        self._needs = {rule: [needs[row] for row in rows] for rule, rows in self._rows.items()}

    def _open(self, rule: int, meant: bool) -> BoolArray:
        met, begun = self._everywhere, False
        for by, start, count in self._needs[rule]:
            counts = self._counts[start : start + self._size[by] + 1]
            begun |= bool(counts.any())
            met = met & self._of_domains(counts >= count, 0, by)
        if begun:
            return met
        by_rows = [by for by, *_ in self._needs[rule]]
        return np.asarray((self._rules.domain[by_rows] >= 0).all(axis=0) & meant)


class _Even(RulesKeeper):
    def __init__(self, rules: CountRules, nodes: int) -> None:
        super().__init__(rules, nodes)
        self._inhabited = [np.unique(row[row >= 0]) for row in rules.domain]
        self._table = rules.table.tolist()

    def _open(self, rule: int, meant: bool) -> BoolArray:
        (row,) = self._rows[rule]
        _, by, counted, skew, domains = self._table[row]
        domain, inhabited = self._rules.domain[by], self._inhabited[counted]
        if not len(inhabited):
            return np.asarray(domain >= 0)
        start, size = self._met[row], self._size[counted]
        counts = np.zeros(max(size, self._size[by]) + 1, dtype=np.int64)
        counts[:size] = self._counts[start : start + size]
        fewest = counts[inhabited].min() if len(inhabited) >= domains else 0
        level = counts <= skew - meant + fewest
        level[-1] = False  # of nodes in no domain, whose number -1 is
        return np.asarray(level[domain])


class _Most(RulesKeeper):
    """Counts how many rules close each domain to each class, so that ``open`` is one look."""

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
        row = np.array([row for _, row in slots], dtype=np.int64)
        start = np.cumsum(np.append(0, self._size[row] + 1))
        every = np.array([slot for some in closed for slot in some], dtype=np.int64)
        self._closed, self._first = start[every], np.cumsum([0, *map(len, closed)])
        most = np.bincount(every, minlength=1).max()
        self._reasons = np.zeros(start[-1], dtype=np.min_scalar_type(-1 - most))
        self._slots = _grouped((of, at) for (of, _), at in slots.items())
        self._slot_at, self._slot_row = start.tolist(), row.tolist()
        self._touched = {of: self._rows_of(of) for of in {*self._stated, *self._meant}}

    def _rows_of(self, of: int) -> _Touched:
        """The rows of which a class is a holder or a member."""
        stated, meant = set(self._stated.get(of, ())), set(self._meant.get(of, ()))
        mine = [(row, rule) for rule in sorted(stated | meant) for row in self._rows[rule]]
        rows = np.array([row for row, _ in mine])
        inside = np.array([[rule in side for _, rule in mine] for side in (meant, stated)])
        sides = 2 * rows + np.arange(2)[:, None]
        return _Touched(
            by=self._rules.table[rows, 1],
            counts=np.stack([self._met[rows], self._stating[rows]]),
            steps=np.multiply.outer([0, 1, -1], np.stack([np.zeros_like(inside), inside])),
            least=self._rules.table[rows, 3] + np.array([[1], [0]]),
            first=self._first[sides],
            often=self._first[sides + 1] - self._first[sides],
        )

    def open(self, index: int) -> BoolArray:
        """The nodes in whose domains one more container breaks no rule."""
        masks = [
            self._of_domains(self._reasons, self._slot_at[slot], self._slot_row[slot]) == 0
            for slot in self._slots.get(self._of[index], ())
        ]
        return functools.reduce(np.logical_and, masks) if masks else self._everywhere

    def _change(self, index: int, node: int, more: int) -> None:
        touched = self._touched.get(self._of[index])
        if touched is None:
            return
        at = self._at[touched.by, node]
        steps = touched.steps[more]
        if self._outside[node]:
            steps = steps * (at < self._size[touched.by])
        # before and after; whom a rule means, and who states it
        counted: IntArray = self._counts[touched.counts + at] + steps
        shut = np.greater_equal(counted[:, :1], touched.least)
        shut[:, 1] &= counted[:, 1] > 0
        flips = shut[0] ^ shut[1]
        super()._change(index, node, more)
        _, row = flips.nonzero()
        if len(row):
            first, often = touched.first[flips], touched.often[flips]
            ends = often.cumsum()
            where = self._closed[(first - ends + often).repeat(often) + np.arange(ends[-1])]
            where += at[row].repeat(often)
            # a number of the same type: one of Python's takes six times as long
            np.add.at(self._reasons, where, self._reasons.dtype.type(more))


class _Touched(NamedTuple):
    """The rows of the table of which one class is a holder or a member.

    Parameters
    ----------
    by : int64, shape (rows,)
        The row of domains of each.
    counts : int64, shape (2, rows)
        The offsets of the counts of the rule's members, and of its holders.
    steps : int64, shape (3, 2, 2, rows)
        ``steps[more]``, with more 1 or -1: what is added to both counts before a change
        (nothing) and after it.
    least : int64, shape (2, rows)
        The number of members from which a domain is closed to holders, and to members.
    first, often : int64, shape (2, rows)
        The entries of ``_Most._closed`` that the row changes.
    """

    by: IntArray
    counts: IntArray
    steps: IntArray
    least: IntArray
    first: IntArray
    often: IntArray


_KEEPERS: Mapping[Bound, type[RulesKeeper]] = {"most": _Most, "least": _Least, "even": _Even}
