"""Constraints from what containers require of other containers, and from ports of the host."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.constants import HOSTNAME, ZONES
from tracekit.cluster.constraints.among import (
    ContainerSelection,
    Kind,
    LabelIndex,
    Rule,
    ports_of,
    rules_of,
)
from tracekit.cluster.constraints.labels import (
    Labels,
    labels_of,
    numbered,
    read_text,
    statements,
    texts_of,
)
from tracekit.cluster.constraints.rules import Bound, CountRules

#: The numbers of some rules.
Numbers = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Stated:
    """The rules that containers state, and the labels that containers have.

    Parameters
    ----------
    statement : int64, shape (containers,)
        The position of each container's rules in ``rules``, -1 for none.
    rules : list of tuple of Rule
    first : list of int
        For each entry of ``rules``, the first container that states it.
    worn : int64, shape (containers,)
        The position of each container's namespace and labels in ``wearers``.
    wearers : LabelIndex
    """

    statement: IntArray
    rules: list[tuple[Rule, ...]]
    first: list[int]
    worn: IntArray
    wearers: LabelIndex

    def classes(
        self, states: Sequence[Numbers], whom: Sequence[Sequence[ContainerSelection]]
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return the class of each container, by the rules that it states and those that count it.

        The result is that of ``classes_of``. The number of a rule is its position in ``whom``.

        Parameters
        ----------
        states : for each entry of ``rules``, the numbers of its rules
        whom : for each rule, selections; the rule counts the containers that all of them select
        """
        meant: defaultdict[int, list[int]] = defaultdict(list)
        for rule, those in enumerate(whom):
            selected = self.wearers.meeting(those[0])
            for one in those[1:]:
                selected = np.intersect1d(selected, self.wearers.meeting(one), assume_unique=True)
            for at in selected.tolist():
                meant[at].append(rule)
        every = range(int(self.worn.max(initial=-1)) + 1)
        rows = [tuple(meant.get(at, ())) for at in every]
        return classes_of(self.statement, states, self.worn, rows)


def classes_of(
    statement: IntArray, states: Sequence[Numbers], worn: IntArray, meant: Sequence[Numbers]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return classes of containers: one class states the same rules, and the same rules count it.

    Returns
    -------
    int64, shape (containers,)
        The class of each container, -1 for one without such rules.
    int64, shape (pairs, 2), twice
        Pairs of class and rule: the rules that a class states, and the rules that count it.

    Parameters
    ----------
    statement, worn : int64, shape (containers,)
        The position of each container in ``states``, -1 for none, and in ``meant``.
    states, meant : sequence of tuple of int
        Numbers of the rules that a container states, and of the rules that count it.
    """
    pairs, of = np.unique(np.stack([statement, worn]), axis=1, return_inverse=True)
    class_of: dict[tuple[Numbers, Numbers], int] = {((), ()): -1}
    number = [
        class_of.setdefault((states[one] if one >= 0 else (), meant[other]), len(class_of) - 1)
        for one, other in pairs.T.tolist()
    ]
    sides = ([(at, rule) for row, at in class_of.items() for rule in row[side]] for side in (0, 1))
    one, other = (np.array(side, dtype=np.int64).reshape(-1, 2) for side in sides)
    return np.array(number, dtype=np.int64)[of.reshape(-1)], one, other


def stated_in(containers: pl.DataFrame) -> Stated | None:
    """Return the rules and labels in the columns rules, namespace and labels.

    Return None if no container states a rule.
    """
    texts = texts_of(containers, "rules")
    if not any(texts):
        return None
    spaces, labels = texts_of(containers, "namespace"), texts_of(containers, "labels")
    chosen, bears = texts_of(containers, "selector"), texts_of(containers, "tolerations")
    statement, first = numbered([
        key if key[0] else None for key in zip(texts, spaces, chosen, bears, strict=True)
    ])  # fmt: skip
    worn, wearing = numbered(list(zip(spaces, labels, strict=True)))
    rules = [read_text(_in_space(spaces[at]), containers, at, "rules") for at in first]
    wearers = LabelIndex([
        (spaces[at], read_text(labels_of, containers, at, "labels") if labels[at] else {})
        for at in wearing
    ])  # fmt: skip
    return Stated(statement=statement, rules=rules, first=first, worn=worn, wearers=wearers)


def _in_space(namespace: str) -> Callable[[str], tuple[Rule, ...]]:
    return lambda text: rules_of(text, namespace)


#: Which of all nodes a container's selector selects, and whose taints it bears: by container.
Suits = Callable[[int], BoolArray]


class _Term(NamedTuple):
    """A rule of a statement, as rows of domains."""

    whom: ContainerSelection
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


def constraints_between_containers(
    labels: Labels, nodes: int, containers: pl.DataFrame, selects: Suits, bears: Suits
) -> list[CountRules]:
    """Return the constraints of affinity, anti-affinity, spread and ports that containers state.

    Parameters
    ----------
    containers : DataFrame
        With the columns ``namespace``, ``labels``, ``rules``, ``host_ports``, each if it is
        known.
    selects, bears : function(container) -> bool, shape (nodes,)
        The nodes that a container's selector selects, and the nodes whose taints it tolerates.
    """
    parts, stated = _ports(containers, nodes), stated_in(containers)
    if stated is not None:
        for kind in _KINDS:
            parts += _of_kind(kind, stated, labels, (selects, bears))
    return parts


def _of_kind(
    kind: Kind, stated: Stated, labels: Labels, suits: tuple[Suits, Suits]
) -> list[CountRules]:
    """The rules of one kind; all affinity terms of a statement are one rule."""
    domains: dict[Hashable, tuple[int, IntArray]] = {}
    rule_numbers: dict[tuple[_Term, ...], int] = {}
    states = []
    for rules, first in zip(stated.rules, stated.first, strict=True):
        mine = [one for one in rules if one.kind == kind and _is_stated(labels, one)]
        terms = []
        for rule in mine:
            domain = domain_of(labels, rule.by)
            by, _ = domains.setdefault(rule.by, (len(domains), domain))
            counted = by
            if kind == "topologySpread":
                count = _counted(rule, [domain_of(labels, one.by) for one in mine], first, suits)
                key = (rule.by, np.packbits(count).tobytes())
                counted, _ = domains.setdefault(key, (len(domains), np.where(count, domain, -1)))
            terms.append(_Term(rule.whom, by, counted, _COUNT.get(kind, rule.skew), rule.least))
        made = [tuple(terms)] if kind == "podAffinity" else [(one,) for one in terms]
        numbers = {rule_numbers.setdefault(one, len(rule_numbers)) for one in made if one}
        states.append(tuple(sorted(numbers)))
    if not rule_numbers:
        return []
    of, stating, meant = stated.classes(
        states, [[one.whom for one in terms] for terms in rule_numbers]
    )
    label, bound = _KINDS[kind]
    table = [(rule, *term[1:]) for terms, rule in rule_numbers.items() for term in terms]
    return [
        CountRules(
            label=label,
            bound=bound,
            table=np.array(table, dtype=np.int64),
            domain=np.stack([domain for _, domain in domains.values()]),
            of=of,
            states=stating,
            meant=meant,
        )
    ]


def not_among(labels: Labels, containers: pl.DataFrame) -> dict[str, int]:
    """Return the number of containers with rules by labels that no node has.

    The counts are by kind and label, such as ``podAffinity_by_rack``.
    """
    stated = stated_in(containers)
    if stated is None:
        return {}
    counts: defaultdict[str, int] = defaultdict(int)
    often = np.bincount(stated.statement[stated.statement >= 0], minlength=len(stated.rules))
    for rules, times in zip(stated.rules, often.tolist(), strict=True):
        for kind, by in {(rule.kind, rule.by) for rule in rules if not _is_stated(labels, rule)}:
            counts[f"{kind}_by_{by}"] += times
    return dict(sorted(counts.items()))


def _counted(
    rule: Rule, domains: Sequence[IntArray], container: int, suits: tuple[Suits, Suits]
) -> BoolArray:
    """For each rule, the nodes of its domains that selector and taints let count."""
    count = np.asarray((np.stack(domains) >= 0).all(axis=0))
    selects, bears = suits
    if rule.selector:
        count &= selects(container)
    if rule.taints:
        count &= bears(container)
    return count


def _ports(containers: pl.DataFrame, nodes: int) -> list[CountRules]:
    """A rule that keeps containers with clashing ports apart."""
    of, stated = statements(containers, "host_ports", ports_of)
    stated.append(())  # what -1 means
    ports = sorted({port for some in stated for port in some})
    if not ports:
        return []
    number = {port: at for at, port in enumerate(ports)}
    clashing = {port: [number[one] for one in ports if one.clashes(port)] for port in ports}
    states = [tuple(sorted(number[port] for port in some)) for some in stated]
    meant = [tuple(sorted({at for port in some for at in clashing[port]})) for some in stated]
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


def domain_of(labels: Labels, key: str) -> IntArray:
    """Return the domain of each node by a label, shape (nodes,); -1 for a node without the label.

    If no node has Kubernetes' label of the host, nodes' names replace the label. If no node has the
    label of the zone, the column ``zone`` does.
    """
    if not labels.stated(key):
        if key == HOSTNAME:
            return labels.domain("node")
        if key in ZONES:
            return labels.domain("zone")
    return labels.domain(key)


def _is_stated(labels: Labels, rule: Rule) -> bool:
    return bool((domain_of(labels, rule.by) >= 0).any())
