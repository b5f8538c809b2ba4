"""Which services may share a node: rules of anti-affinity, and the state that answers fast.

A rule (holder, guest, most) reads: a node that runs a container of ``holder`` runs at most
``most`` of ``guest``. Where both are the same service it is ``most`` besides the one, so
``most`` + 1 in all: the reading under which the recorded placement of Tianchi 2018 breaks no rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.by_domain import members_of
from tracekit.cluster.constraints.constraint import (
    Constraint,
    CountingKeeper,
    check_positions,
    everywhere,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class AntiAffinity:
    """Rules over services; checked when made.

    Parameters
    ----------
    services : tuple of str
        The services that rules speak of; a rule names them by position.
    rules : int64, shape (rules, 3)
        Holder, guest, most.

    Raises
    ------
    TracekitError
        When a rule names a position that is not there, or a negative number.
    """

    services: tuple[str, ...]
    rules: IntArray

    def __post_init__(self) -> None:
        wrong = (self.rules < 0).any(axis=1) | (self.rules[:, :2] >= len(self.services)).any(axis=1)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise TracekitError(
                f"anti-affinity rule {self.rules[at].tolist()} is not (holder, guest, most),"
                f" expected positions below {len(self.services)} and a number of 0 or more"
            )

    def positions(self, services: Sequence[str]) -> IntArray:
        """The position of each container's service, -1 for one without rules."""
        known = {name: at for at, name in enumerate(self.services)}
        return np.array([known.get(name, -1) for name in services], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sharing(Constraint):
    """Rules over services, and the service of each container.

    Parameters
    ----------
    limits : AntiAffinity
    service : int64, shape (containers,)
        Position in the services of ``limits``, -1 for one without rules.
    """

    limits: AntiAffinity
    service: IntArray

    def __post_init__(self) -> None:
        check_positions("service of container", self.service, len(self.limits.services))

    @classmethod
    def of(cls, limits: AntiAffinity, services: Sequence[str]) -> Self:
        """The rules for containers of these services."""
        return cls(limits=limits, service=limits.positions(services))

    @property
    def name(self) -> str:
        """Rules on who shares a node."""
        return "rules on sharing"

    @property
    def kinds(self) -> IntArray:
        """The service of each."""
        return self.service

    def taken(self, order: IntArray) -> Self:
        """The same of other containers, or in another order."""
        return replace(self, service=self.service[order])

    def on(self, nodes: IntArray) -> Self:  # noqa: ARG002 - rules name no node
        """The same rules: they name no node."""
        return self

    def apart(self) -> Iterator[tuple[IntArray, int]]:
        """The containers of each service that a rule limits beside its own."""
        members = members_of(self.service)
        for holder, guest, most in self.limits.rules.tolist():
            if holder == guest and holder < len(members):
                yield members[holder], most + 1

    def keeper(self, nodes: int) -> SharingKeeper:
        """Counts of services and of reasons per node."""
        return SharingKeeper(self, nodes)


@dataclass(frozen=True, kw_only=True)
class _About:
    """Rules about one service: with itself, as a guest of others, as a holder of others.

    Parameters
    ----------
    alone : int, optional
        How many of it a node may run at all.
    holders, as_guest : int64, shape (rules,)
        Services beside which at most ``as_guest`` of it may run.
    guests, as_holder : int64, shape (rules,)
        Services of which at most ``as_holder`` may run beside it.
    """

    alone: int | None
    holders: IntArray
    as_guest: IntArray
    guests: IntArray
    as_holder: IntArray


class SharingKeeper(CountingKeeper):
    """Follows which services share a node, so that the nodes closed to a service are at hand.

    Holds two counts per service and node; a change costs the number of rules about its service, a
    question one row.
    """

    def __init__(self, sharing: Sharing, nodes: int) -> None:
        shape = (len(sharing.limits.services), nodes)
        self._service = sharing.service.tolist()
        self._count = np.zeros(shape, dtype=np.int16)
        self._reasons = np.zeros(shape, dtype=np.int16)
        self._everywhere = everywhere(nodes)
        self._about = _by_service(sharing.limits)

    def open(self, index: int) -> BoolArray:
        """Which nodes take one more container of the service without a rule being broken."""
        service = self._service[index]
        return self._everywhere if service < 0 else np.asarray(self._reasons[service] == 0)

    def _change(self, index: int, node: int, more: int) -> None:
        service = self._service[index]
        about = self._about.get(service)
        if about is None:
            return
        count, reasons = self._count[:, node], self._reasons[:, node]
        before = int(count[service])
        after = before + more
        count[service] = after
        over = (after > about.as_guest).astype(np.int16) - (before > about.as_guest)
        reasons[about.holders] += over
        others = count[about.guests]
        if bool(before) != bool(after):
            reasons[about.guests] += more * (others >= about.as_holder).astype(np.int16)
        reasons[service] = (
            (about.alone is not None and after >= about.alone)
            + np.count_nonzero((after >= about.as_guest) & (count[about.holders] > 0))
            + np.count_nonzero(others > about.as_holder)
        )


def _by_service(limits: AntiAffinity) -> dict[int, _About]:
    """Rules by each service they are about; of several on one pair the strictest holds."""
    strictest: dict[tuple[int, int], int] = {}
    for holder, guest, most in limits.rules.tolist():
        pair = (holder, guest)
        strictest[pair] = min(most, strictest.get(pair, most))
    alone: dict[int, int] = {}
    held: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    hosting: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for (holder, guest), most in strictest.items():
        if holder == guest:
            alone[holder] = most + 1
        else:
            held[guest].append((holder, most))
            hosting[holder].append((guest, most))
    return {
        service: _about(alone.get(service), held[service], hosting[service])
        for service in sorted({*alone, *held, *hosting})
    }


def _about(
    alone: int | None, held: list[tuple[int, int]], hosting: list[tuple[int, int]]
) -> _About:
    holders, as_guest = np.array(held, dtype=np.int64).reshape(-1, 2).T
    guests, as_holder = np.array(hosting, dtype=np.int64).reshape(-1, 2).T
    return _About(
        alone=alone, holders=holders, as_guest=as_guest, guests=guests, as_holder=as_holder
    )
