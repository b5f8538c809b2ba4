"""Constraints out of what containers require of other containers, and out of ports of the host."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.constants import HOSTNAME, ZONES
from tracekit.cluster.constraints import documents
from tracekit.cluster.constraints.among import (
    Kind,
    Port,
    Rule,
    Wearers,
    Whom,
    labels_of,
    ports_of,
    rules_of,
)
from tracekit.cluster.constraints.labels import Labels
from tracekit.cluster.constraints.rules import Bound, CountRules

T = TypeVar("T")
#: The numbers of some rules.
Numbers = tuple[int, ...]


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

    def classes(
        self, states: Sequence[Numbers], whom: Sequence[Sequence[Whom]]
    ) -> tuple[IntArray, IntArray, IntArray]:
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
        return classes_of(self.statement, states, self.worn, rows)


def classes_of(
    statement: IntArray, states: Sequence[Numbers], worn: IntArray, meant: Sequence[Numbers]
) -> tuple[IntArray, IntArray, IntArray]:
    """Classes out of what containers state and wear: ``of``, ``states`` and ``meant``.

    Parameters
    ----------
    statement, worn : int64, shape (containers,)
        Positions in ``states`` and in ``meant``, the rules of each; a statement of -1 is none.
    """
    first, stated = _numbered([*states, ()], statement)
    second, known = _numbered(meant, worn)
    pairs, of = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    rows = [(stated[one], known[other]) for one, other in pairs.T.tolist()]
    kept = [at for at, row in enumerate(rows) if any(row)]
    number = np.full(len(rows), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    sides = (
        [(of, rule) for of, at in enumerate(kept) for rule in rows[at][side]] for side in (0, 1)
    )
    one, other = (np.array(side, dtype=np.int64).reshape(-1, 2) for side in sides)
    return number[of.reshape(-1)], one, other


def _numbered(rows: Sequence[Numbers], of: IntArray) -> tuple[IntArray, list[Numbers]]:
    """The number of the row of each, where equal rows have one number; and the distinct rows."""
    known: dict[Numbers, int] = {}
    number = np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)
    return number[of], list(known)


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


#: Which of all nodes a container's selector selects, and whose taints it bears: by container.
Suits = Callable[[int], BoolArray]


class _Rows:
    """Domains of labels as rows of one array, each once."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._at: dict[Hashable, int] = {}
        self._rows: list[IntArray] = []

    def at(self, key: Hashable, domain: IntArray) -> int:
        """The row of what is called so."""
        if key not in self._at:
            self._at[key] = len(self._rows)
            self._rows.append(domain)
        return self._at[key]

    @property
    def array(self) -> IntArray:
        """All rows, shape (rows, nodes)."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, self._nodes)


class _Term(NamedTuple):
    """A rule of a statement, by the rows of domains."""

    whom: Whom
    by: int
    counted: int
    most: int
    domains: int


#: What each kind of rule is called, and its bound.
_KINDS: Mapping[Kind, tuple[str, Bound]] = {
    "podAntiAffinity": ("anti-affinity", "most"),
    "podAffinity": ("affinity", "least"),
    "topologySpread": ("spread", "even"),
}


#: The count of those that state none: nobody beside, and at least one.
_COUNT: Mapping[Kind, int] = {"podAntiAffinity": 0, "podAffinity": 1}


def among(
    labels: Labels, nodes: int, containers: pl.DataFrame, selects: Suits, bears: Suits
) -> list[CountRules]:
    """Affinity, anti-affinity, spread and ports, as far as any container states them.

    Parameters
    ----------
    containers : DataFrame
        Where known ``namespace``, ``labels``, ``rules``, ``host_ports``.
    selects, bears : function(container) -> bool, shape (nodes,)
        The nodes that the selector of a container selects, and those whose taints it bears.
    """
    parts, stated = _ports(containers, nodes), stated_in(containers)
    if stated is not None:
        for kind in _KINDS:
            parts += _of_kind(kind, stated, labels, _Rows(nodes), (selects, bears))
    return parts


def _of_kind(
    kind: Kind, stated: Stated, labels: Labels, rows: _Rows, suits: tuple[Suits, Suits]
) -> list[CountRules]:
    """The rules of one kind; all terms of affinity of a statement are one rule."""
    known = _Numbering[tuple[_Term, ...]]()
    states = []
    for rules, first in zip(stated.rules, stated.first, strict=True):
        mine = [one for one in rules if one.kind == kind and _is_stated(labels, one)]
        terms = []
        for rule in mine:
            domain = domain_of(labels, rule.by)
            by = counted = rows.at(rule.by, domain)
            if kind == "topologySpread":
                count = _counted(rule, [domain_of(labels, one.by) for one in mine], first, suits)
                key = (rule.by, np.packbits(count).tobytes())
                counted = rows.at(key, np.where(count, domain, -1))
            terms.append(_Term(rule.whom, by, counted, _COUNT.get(kind, rule.skew), rule.least))
        whole = kind == "podAffinity"
        states.append(known.of(([tuple(terms)] if terms else []) if whole else zip(terms)))
    if not known.things:
        return []
    whom = [[term.whom for term in terms] for terms in known.things]
    of, stating, meant = stated.classes(states, whom)
    label, bound = _KINDS[kind]
    table = [(rule, *term[1:]) for rule, terms in enumerate(known.things) for term in terms]
    return [
        CountRules(
            label=label,
            bound=bound,
            table=np.array(table, dtype=np.int64),
            domain=rows.array,
            of=of,
            states=stating,
            meant=meant,
        )
    ]


def not_among(labels: Labels, containers: pl.DataFrame) -> dict[str, int]:
    """Containers with rules by labels that no node has, by ``podAffinity_by_rack``."""
    stated = stated_in(containers)
    if stated is None:
        return {}
    found: defaultdict[str, int] = defaultdict(int)
    often = np.bincount(stated.statement[stated.statement >= 0], minlength=len(stated.rules))
    for rules, times in zip(stated.rules, often.tolist(), strict=True):
        for kind, by in {(rule.kind, rule.by) for rule in rules if not _is_stated(labels, rule)}:
            found[f"{kind}_by_{by}"] += times
    return dict(sorted(found.items()))


def _counted(
    rule: Rule, domains: Sequence[IntArray], container: int, suits: tuple[Suits, Suits]
) -> BoolArray:
    """The nodes in a domain of each rule that a container's selector selects, and so on."""
    count = np.asarray((np.stack(domains) >= 0).all(axis=0))
    selects, bears = suits
    if rule.selector:
        count &= selects(container)
    if rule.taints:
        count &= bears(container)
    return count


def _ports(containers: pl.DataFrame, nodes: int) -> list[CountRules]:
    """A container on a node keeps all others away whose ports clash with its own."""
    texts = texts_of(containers, "host_ports")
    known: dict[str, int] = {"": 0}
    found: list[tuple[Port, ...]] = [()]
    of = np.zeros(containers.height, dtype=np.int64)
    for at, text in enumerate(texts):
        if text and text not in known:
            known[text] = len(found)
            found.append(read_cell(ports_of, containers, at, "host_ports"))
        of[at] = known[text]
    ports = sorted({port for some in found for port in some})
    if not ports:
        return []
    number = {port: at for at, port in enumerate(ports)}
    clashing = {port: [number[one] for one in ports if one.clashes(port)] for port in ports}
    states = [tuple(sorted(number[port] for port in some)) for some in found]
    meant = [tuple(sorted({at for port in some for at in clashing[port]})) for some in found]
    of, stating, meaning = classes_of(of, states, of, meant)
    each = np.arange(len(ports))
    return [
        CountRules(
            label="ports",
            bound="most",
            table=np.column_stack([each, *np.zeros((4, len(ports)), dtype=np.int64)]),
            domain=np.arange(nodes, dtype=np.int64)[None],
            of=of,
            states=stating,
            meant=meaning,
        )
    ]


class _Numbering(dict[T, int]):
    """Numbers things in the order in which they are met."""

    def of(self, things: Iterable[T]) -> Numbers:
        """The numbers of some things, ascending, each once."""
        return tuple(sorted({self.setdefault(thing, len(self)) for thing in things}))

    @property
    def things(self) -> list[T]:
        """The things, by number."""
        return list(self)


def domain_of(labels: Labels, key: str) -> IntArray:
    """The domain of each node by a label, shape (nodes,); -1 is none.

    Where no node has Kubernetes' labels of host and zone, names and the column zone stand for them.
    """
    if not labels.stated(key):
        if key == HOSTNAME:
            return labels.domain("node")
        if key in ZONES:
            return labels.domain("zone")
    return labels.domain(key)


def _is_stated(labels: Labels, rule: Rule) -> bool:
    return bool((domain_of(labels, rule.by) >= 0).any())
