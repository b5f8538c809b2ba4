"""Evictions by what a pod is: a duplicate, failed, restarted often, or old."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.base.units import MS_PER_S
from tracekit.cluster.constraints.labels import CLOSING
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, PluginRun, by_rank, owned_by, states_of
from tracekit.policy.view.pods import PodRecord


@dataclass(frozen=True, kw_only=True)
class RemoveDuplicates(Plugin):
    """Evict duplicates, i.e. containers of one owner and the same images, above an even share.

    The share of a node is the number of duplicates over the number of nodes that selectors and
    taints leave open, rounded up. Upstream does not say which duplicates go; here those of the
    lowest priority do. Where no owner is recorded the service counts as the owner; containers of an
    unknown service stay.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf removeduplicates (RemoveDuplicates)"

    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose containers stay.")] = ()

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return the containers to evict, owner by owner and node by node."""
        priority = turn.cycle.each(lambda pod: pod.priority, np.float64)
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        keys = [self._key(pod) for pod in turn.cycle.pods.texts]
        some = [at for at in np.flatnonzero(turn.may).tolist() if turn.movable(at)]
        for at in some:
            groups[keys[turn.cycle.text[at]]].append(at)
        groups.pop(None, None)
        evicted: list[int] = []
        for members in groups.values():
            by_node: defaultdict[int, list[int]] = defaultdict(list)
            for at in by_rank(-priority, np.array(members)):
                by_node[int(turn.node[at])].append(at)
            doubled = [at for some in by_node.values() for at in some[1:]]
            targets = self._targets(turn, doubled)
            if targets < 2:
                continue
            most = -(-len(members) // targets)
            for node in sorted(by_node):
                evicted += by_node[node][max(most, 1) :]
        return evicted

    def _key(self, pod: PodRecord) -> Any:
        if not pod.owners or pod.owners[0][1] == UNKNOWN or owned_by(pod, self.not_owner_kinds):
            return None
        return pod.namespace, pod.owners, pod.images

    def _targets(self, turn: PluginRun, doubled: list[int]) -> int:
        """The number of listed nodes open to a duplicate that has two open nodes or more."""
        cycle = turn.cycle
        targets = np.zeros(len(cycle.listed), dtype=np.bool_)
        for text in {int(cycle.text[at]) for at in doubled}:
            tolerated = cycle.pods.tolerates(text, lambda taint: taint.effect in CLOSING)
            mine = cycle.listed & cycle.pods.suits(text) & tolerated
            if mine.sum() > 1:
                targets |= mine
        return int(targets.sum())


@dataclass(frozen=True, kw_only=True)
class RemoveFailedPods(Plugin):
    """Evict pods in phase Failed from a minimum age on, node by node.

    A failed pod takes no resources of its node and leaves at its recorded departure, so a replay
    seldom has one to evict.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf removefailedpods (RemoveFailedPods)"

    least_age_ms: Annotated[int, About("The lowest age of an evicted pod.", minimum=0)] = 3_600_000
    reasons: Annotated[Texts, About("Reasons why a pod or its container failed; none: all.")] = ()
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose pods stay.")] = ()

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return the failed pods, node by node."""
        cycle = turn.cycle
        parts = ["containers", *(["init"] if self.init_containers else [])]
        wanted = set(self.reasons)
        failed = cycle.each(
            lambda pod: (
                pod.phase == "Failed"
                and not owned_by(pod, self.not_owner_kinds)
                and (not wanted or bool(wanted & states_of(pod, parts)))
            )
        )
        some = np.flatnonzero(turn.may & failed & (cycle.age_ms() >= self.least_age_ms))
        return by_rank(turn.node, some)


@dataclass(frozen=True, kw_only=True)
class RemovePodsHavingTooManyRestarts(Plugin):
    """Evict pods whose containers restarted often, node by node, the most restarts first.

    Restarts are those of the ingested pod list. A pod that was evicted and placed anew has none.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodshavingtoomanyrestarts (RemovePodsHavingTooManyRestarts)"
    )

    restarts: Annotated[
        int, About("The number of restarts from which a pod is evicted.", minimum=1)
    ] = 100
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    states: Annotated[Texts, About("Running, or reasons why a container waits; none: all.")] = ()

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return the pods to evict, node by node, the most restarts first."""
        cycle = turn.cycle
        parts = ["containers", *(["init"] if self.init_containers else [])]
        wanted = set(self.states)
        count = cycle.each(
            lambda pod: sum(pod.states.get("restarts", {}).get(part, 0) for part in parts), np.int64
        )
        often = count >= self.restarts
        if wanted:
            often &= cycle.each(lambda pod: bool(wanted & states_of(pod, parts, ("waiting",))))
        some = np.flatnonzero(turn.may & often & ~cycle.renewed)
        ordered: list[int] = some[np.lexsort((-count[some], turn.node[some]))].tolist()
        return ordered


@dataclass(frozen=True, kw_only=True)
class PodLifeTime(Plugin):
    """Evict containers that were created longer ago than a limit, the oldest first.

    The age of a container that already ran at the start of the replay is counted from its recorded
    creation.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf podlifetime (PodLifeTime)"

    longest_ms: Annotated[
        int | None, About("The highest age of a container; none: no limit.", minimum=0)
    ] = 86_400_000
    states: Annotated[
        Texts, About("Phases, or reasons why containers wait or ended; none: all.")
    ] = ()
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    ephemeral_containers: Annotated[bool, About("Whether ephemeral containers count, too.")] = False
    owner_kinds: Annotated[Texts, About("Kinds of owners whose containers may go; none: all.")] = ()
    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose containers stay.")] = ()

    def chosen(self, turn: PluginRun) -> list[int]:
        """Return the containers to evict, the oldest first."""
        cycle, old = turn.cycle, turn.may
        parts = ["containers", *(["init"] if self.init_containers else [])]
        parts += ["ephemeral"] if self.ephemeral_containers else []
        if self.longest_ms is not None:
            # upstream compares whole seconds
            seconds = cycle.age_ms() // MS_PER_S
            old = old & (seconds > self.longest_ms // MS_PER_S)
        if self.states:
            wanted = set(self.states)
            old = old & cycle.each(lambda pod: bool(wanted & states_of(pod, parts)))
        if self.owner_kinds:
            old = old & cycle.each(lambda pod: owned_by(pod, self.owner_kinds))
        if self.not_owner_kinds:
            old = old & ~cycle.each(lambda pod: owned_by(pod, self.not_owner_kinds))
        return by_rank(cycle.created_ms, np.flatnonzero(old))
