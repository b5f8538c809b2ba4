"""Scheduler extenders of a configuration: weighted, and never called.

An extender is a web service that scores nodes 0..10; its score counts ``weight * 10``. Where its
``prioritizeVerb`` is the name of a policy, that policy stands for it; else there is nothing to ask.
Source: kubernetes v1.34 pkg/scheduler/extender.go, schedule_one.go (prioritizeNodes), and
apis/config/validation/validation.go (validateExtenders: one that scores needs a weight).
"""

from collections.abc import Iterable

from tracekit.base.arrays import IntArray
from tracekit.base.documents.given import Given
from tracekit.policy.placement import PlacementPolicy, Scores, all_policies
from tracekit.policy.placement._extender import ExtenderPolicy
from tracekit.policy.profile import Part, tenths
from tracekit.policy.view.snapshot import Container, Snapshot

#: What an extender says of how it is called.
_CALLED = (
    *("filterVerb", "preemptVerb", "bindVerb", "enableHTTPS", "enableHttps", "tlsConfig"),
    *("httpTimeout", "nodeCacheCapable", "managedResources", "ignorable", "apiVersion"),
)


def needed_weight(given: Given) -> int:
    """A weight that must be there, and at least 1.

    Raises
    ------
    TracekitError
        Where it is not, as the scheduler refuses it.
    """
    weight = given.whole("weight", 0)
    if not weight:
        raise given.wrong(f"{given.where}.weight", weight, "a whole number of at least 1")
    return weight


def extender_parts(rows: Iterable[Given]) -> tuple[list[Part], list[str], bool]:
    """The extenders that policies stand for, with their weights, and a note of every one.

    Returns
    -------
    list of Part, list of str, bool
        The last: whether what an extender does is left out, so that this is not what people run.
    """
    parts: list[Part] = []
    notes: list[str] = []
    lacking = False
    for one in rows:
        url, verb = one.text("urlPrefix"), one.text("prioritizeVerb")
        weight = needed_weight(one) if verb else one.whole("weight", 1)
        filters = one.text("filterVerb")
        one.ignore(*_CALLED)
        name = verb.strip("/").rpartition("/")[2].replace("-", "_")
        kind = all_policies().get(name)
        if kind is None or kind.batched or not kind.filtered:
            lacking = True
            notes.append(
                f"extender {url} is not called, and its score ('{verb}', weight {weight}) is left"
                " out: the verb is the name of no policy"
            )
        elif issubclass(kind, ExtenderPolicy):
            parts.append(Part(1.0, kind(builtin="none", weight=weight), "as_is"))
            notes.append(f"extender {url} is not called: policy {name} stands for it")
        else:
            parts.append(Part(10.0 * weight, kind(), "tenths"))
            notes.append(f"extender {url} is not called: policy {name}, 0..10, stands for it")
        if filters:
            lacking = True
            notes.append(f"the filter of extender {url} ('{filters}') is left out")
        if one.unread():
            notes.append(f"not known, and left out: {', '.join(one.unread())}")
    return parts, notes, lacking


def host_scores(
    policy: PlacementPolicy, snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[Scores, IntArray]:
    """The policy's score of each candidate, 0..100, and as an extender answers it, 0..10."""
    found = Part(1.0, policy).of_hundred(snapshot, container, nodes)
    return found, tenths(found)
