"""Rules of containers about other containers, from columns of the table ``container``.

Source: k8s.io/api core/v1 (PodAffinityTerm, TopologySpreadConstraint, ContainerPort) and
apimachinery pkg/labels, v1.34. A container that lacks a label meets NotIn and DoesNotExist.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.labels import DocumentError, Requirement, requirement
from tracekit.intake.sources.own._kubernetes.rules import BUDGET

Kind = Literal["podAntiAffinity", "podAffinity", "topologySpread"]
#: The rule of who evicts nobody; it is about no other container.
NEVER_PREEMPTS = "preemptionPolicy"
#: The kind of a rule that nobody may evict a container.
NEVER_EVICTED = "safe-to-evict"
#: The rule of who is under a budget of disruption; it closes no node either.
_KINDS = ("podAntiAffinity", "podAffinity", "topologySpread")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
#: What stands for all namespaces.
EVERY = "*"


@dataclass(frozen=True)
class ContainerSelection:
    """A selection of containers by namespace, ``*`` for all, and by requirements on their labels.

    A container must meet every requirement in ``asks``. If ``asks`` is None, no container is
    selected.
    """

    namespaces: tuple[str, ...]
    asks: tuple[Requirement, ...] | None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A container's term of pod affinity, pod anti-affinity or topology spread.

    Parameters
    ----------
    kind : {'podAntiAffinity', 'podAffinity', 'topologySpread'}
    by : str
        The ``topologyKey``: nodes with the same value of this label are one domain.
    whom : ContainerSelection
        The containers that are counted in each domain.
    skew, least : int
        Of a spread: ``maxSkew``, ``minDomains``.
    selector, taints : bool
        Of a spread: whether only nodes count that the container's selector selects, and whether
        only nodes count whose taints the container tolerates.
    """

    kind: Kind
    by: str
    whom: ContainerSelection
    skew: int = 1
    least: int = 1
    selector: bool = True
    taints: bool = False


def rules_of(text: str, namespace: str) -> tuple[Rule, ...]:
    """Return the rules in a JSON list. Raise ValueError if the text is not a list of rules.

    Parameters
    ----------
    namespace : str
        The namespace of the container, for rules that name none.
    """
    read = json.loads(text)
    if not isinstance(read, list):
        raise DocumentError("expected a list of rules")
    return rules_in(read, namespace)


def rules_in(rows: Sequence[object], namespace: str) -> tuple[Rule, ...]:
    """Return the rules in a list of rows; see ``rules_of``."""
    return tuple(_rule(row, namespace) for row in rows if not _of_eviction(row))


def _of_eviction(row: object) -> bool:
    """Whether a rule is about evictions alone and closes no node."""
    return isinstance(row, Mapping) and row.get("kind") in (NEVER_PREEMPTS, NEVER_EVICTED, BUDGET)


def _rule(row: object, namespace: str) -> Rule:
    if not isinstance(row, Mapping) or row.get("kind") not in _KINDS:
        raise DocumentError(f"expected rules of a kind: {', '.join(_KINDS)}")
    by, requirements = row.get("topologyKey"), row.get("selector")
    if not isinstance(by, str) or not by:
        raise DocumentError(f"expected a topologyKey in a rule of kind {row['kind']}")
    if requirements is not None and not isinstance(requirements, list):
        raise DocumentError("expected a selector to be a list of requirements")
    spaces = row.get("namespaces") or [namespace]
    return Rule(
        kind=cast("Kind", row["kind"]),
        by=by,
        whom=ContainerSelection(
            namespaces=(EVERY,) if EVERY in spaces else tuple(sorted(map(str, spaces))),
            asks=None if requirements is None else tuple(_requirement(one) for one in requirements),
        ),
        skew=_count(row, "maxSkew"),
        least=_count(row, "minDomains"),
        selector=row.get("nodeAffinityPolicy", "Honor") == "Honor",
        taints=row.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )


def _requirement(one: object) -> Requirement:
    parsed = requirement(one)
    if parsed.operator not in _OPERATORS:
        raise DocumentError(f"operator {parsed.operator!r} is none of {', '.join(_OPERATORS)}")
    return parsed


def _count(row: Mapping[str, object], name: str) -> int:
    value = row.get(name)
    if value is None:
        return 1
    if not isinstance(value, int) or value < 1:
        raise DocumentError(f"expected {name} to be a whole number of at least 1")
    return value


@dataclass(frozen=True, order=True)
class Port:
    """A port of the host on one address, or on every address if none is given."""

    number: int
    protocol: str
    address: str = ""

    def clashes(self, other: Port) -> bool:
        """Return whether the two ports cannot be on one node."""
        same = (self.number, self.protocol) == (other.number, other.protocol)
        return same and (self.address == other.address or not (self.address and other.address))


def ports_of(text: str) -> tuple[Port, ...]:
    """Return the ports in a text such as ``80/TCP,10.0.0.1:53/UDP``.

    Raise ValueError for other texts.
    """
    return tuple(_port(one.strip()) for one in text.split(","))


def _port(text: str) -> Port:
    place, _, protocol = text.partition("/")
    address, _, number = place.rpartition(":")
    if not number.isdecimal():
        raise DocumentError(f"expected ports such as 80/TCP, found {text!r}")
    return Port(int(number), protocol or "TCP", "" if address == "0.0.0.0" else address)  # noqa: S104


class LabelIndex:
    """An index of the labels of containers, for selections of containers.

    ``meeting(selection)`` returns the positions in ``worn`` that the ``ContainerSelection``
    selects, ascending.

    Parameters
    ----------
    worn : sequence of (namespace, labels)
        The distinct pairs that containers have.
    """

    def __init__(self, worn: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        self._every = np.arange(len(worn), dtype=np.int64)
        self._codes: dict[str, int] = {}
        code = [self._codes.setdefault(space, len(self._codes)) for space, _ in worn]
        self._space = np.array(code, dtype=np.int64)
        keys: defaultdict[str, list[int]] = defaultdict(list)
        pairs: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for at, (_, labels) in enumerate(worn):
            for key, value in labels.items():
                keys[key].append(at)
                pairs[key, value].append(at)
        self._keys, self._pairs = keys, pairs
        self.meeting = functools.cache(self._meeting)

    def _meeting(self, whom: ContainerSelection) -> IntArray:
        """The positions of the pairs that a selection selects, ascending."""
        if whom.asks is None:
            return self._every[:0]
        left: IntArray | None = None
        for one in whom.asks:
            if one.operator in ("In", "Exists"):
                some = self._having(one)
                left = some if left is None else np.intersect1d(left, some, assume_unique=True)
        wearing = self._every if left is None else left
        if EVERY not in whom.namespaces:
            spaces = [self._codes[name] for name in whom.namespaces if name in self._codes]
            wearing = wearing[np.isin(self._space[wearing], spaces)]
        for one in whom.asks:
            if one.operator in ("NotIn", "DoesNotExist"):
                wearing = np.setdiff1d(wearing, self._having(one), assume_unique=True)
        return wearing

    def _having(self, one: Requirement) -> IntArray:
        """The pairs that have the label, with any value or with one of these values."""
        if one.operator in ("Exists", "DoesNotExist"):
            return _positions([self._keys.get(one.key, [])])
        return _positions([self._pairs.get((one.key, value), []) for value in one.values])


def _positions(lists: Sequence[Sequence[int]]) -> IntArray:
    return np.unique(np.array([at for some in lists for at in some], dtype=np.int64))
