"""Scheduler extenders of a configuration, which a replay never calls.

An extender is a web service that scores nodes 0..10; its score counts ``weight * 10``. If its
``prioritizeVerb`` is the name of a policy, that policy replaces it; otherwise it is left out.
Source: kubernetes v1.34 pkg/scheduler/extender.go, schedule_one.go (prioritizeNodes), and
apis/config/validation/validation.go (validateExtenders: an extender that scores needs a weight).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tracekit.base.arrays import IntArray
from tracekit.base.documents import Fields, Whole
from tracekit.policy.placement import PlacementPolicy, Scores, all_policies
from tracekit.policy.placement._extender import ExtenderPolicy
from tracekit.policy.profile import Part, tenths
from tracekit.policy.view.snapshot import Container, Snapshot


class Extender(Fields, frozen=True):
    """An extender of a configuration; the fields of its calls are read and not used."""

    url_prefix: str = ""
    prioritize_verb: str = ""
    filter_verb: str = ""
    weight: Whole | None = None
    preempt_verb: Any = None
    bind_verb: Any = None
    enable_https: Any = None
    enableHTTPS: Any = None  # noqa: N815 - so spelled
    tls_config: Any = None
    http_timeout: Any = None
    node_cache_capable: Any = None
    managed_resources: Any = None
    ignorable: Any = None

    def __post_init__(self) -> None:
        if self.prioritize_verb and not self.weight:
            raise ValueError(f"weight is '{self.weight or 0}', expected 1 or more")


@dataclass
class Translated:
    """A scheduler's document as parts of a policy.

    Parameters
    ----------
    parts : list of Part
        The policies of the score plugins with their weights.
    percentage : int
        ``percentageOfNodesToScore``; 0 adapts.
    scores : bool
        Whether any plugin scores, even one that scores all nodes alike.
    lifted : set of str
        Rules of the workload that do not hold.
    preempts : bool
        Whether DefaultPreemption is enabled; it evicts only if the workload allows it.
    gang_wait_ms, gang_backoff_ms : int, optional
        Arguments of the plugin Coscheduling; None if it is not enabled.
    notes : list of str
        Differences from the real scheduler, a line each.
    lacks_extender : bool
        Whether an extender is left out.
    """

    parts: list[Part] = field(default_factory=list)
    percentage: int = 0
    scores: bool = True
    lifted: set[str] = field(default_factory=set)
    preempts: bool = True
    gang_wait_ms: int | None = None
    gang_backoff_ms: int | None = None
    notes: list[str] = field(default_factory=list)
    lacks_extender: bool = False

    def add_extenders(self, rows: Iterable[Extender]) -> None:
        """Add the policies that replace extenders, with their weights, and a note of each."""
        for one in rows:
            url, verb, weight = one.url_prefix, one.prioritize_verb, one.weight or 1
            name = verb.strip("/").rpartition("/")[2].replace("-", "_")
            kind = all_policies().get(name)
            if kind is None or kind.batched or not kind.filtered:
                self.lacks_extender = True
                self.notes.append(
                    f"extender {url} is not called, and its score ('{verb}', weight {weight}) is"
                    " left out: the verb is the name of no policy"
                )
            else:
                part = Part(10.0 * weight, kind(), "tenths")
                if issubclass(kind, ExtenderPolicy):
                    part = Part(1.0, kind(builtin="none", weight=weight), "as_is")
                self.parts.append(part)
                self.scores = True
                scale = ", 0..10," if part.how == "tenths" else ""
                self.notes.append(
                    f"extender {url} is not called: policy {name}{scale} stands for it"
                )
            if one.filter_verb:
                self.lacks_extender = True
                self.notes.append(f"the filter of extender {url} ('{one.filter_verb}') is left out")


def host_scores(
    policy: PlacementPolicy, snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[Scores, IntArray]:
    """The policy's score of each candidate, 0..100, and an extender's answer, 0..10."""
    scores = Part(1.0, policy).scores(snapshot, container, nodes)
    return scores, tenths(scores)
