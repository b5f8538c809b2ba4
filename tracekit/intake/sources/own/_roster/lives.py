"""When a pod took its place on a node, and when it gave it back."""

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.intake.sources.own._kubernetes.objects import (
    Thing,
    arrival_ms,
    last_change_ms,
    time_ms,
)
from tracekit.intake.sources.own._kubernetes.shape import owner_of
from tracekit.intake.sources.own._roster.roster import Roster

#: Why pods ended that had run. A pod that failed for another reason, and of which no container says
#: that it ran, was rejected by its node.
_HAD_RUN = ("Evicted", "Terminated", "Preempting", "Shutdown", "NodeLost", "DeadlineExceeded")
_REJECTED = "rejected"
#: What happens to a pod at its beginning.
_BEGINNINGS = ("PodScheduled", "Initialized", "PodReadyToStartContainers")


def place_ms(pod: dict[str, Any]) -> int:
    """When a pod took its place: it may have waited for one since it was created.

    A pod without a node waits still, and one that a node runs by itself never does.
    """
    created = arrival_ms(pod)
    if not (pod.get("spec") or {}).get("nodeName") or owner_of(pod["metadata"])[0] == "Node":
        return created
    scheduled = [time for kind, time in _conditions(pod) if kind == "PodScheduled"]
    started = (pod.get("status") or {}).get("startTime")
    return max(created, scheduled[0] if scheduled else time_ms(started) if started else 0)


def end_ms(thing: Thing, known: Roster) -> int | None:
    """When a pod's last container ended; None for a pod that is still there.

    A pod that its node rejected never ran: it held nothing.
    An evicted pod may say only when it began. It had ended when it was first recorded to have
    failed, else when the first list was made that has it so.
    """
    pod = thing.value
    status = pod.get("status") or {}
    if status.get("phase") not in ("Succeeded", "Failed"):
        return last_change_ms(thing) if thing.event == "DELETED" else None
    finished = [
        ((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for one in status.get("containerStatuses") or ()
    ]
    if stated := [time_ms(one) for one in finished if one]:
        return max(stated)
    if _was_rejected(status):
        return place_ms(pod)
    if later := _later(pod):
        return later
    # what was recorded is of its own time, and a list may have been made after the times in it
    at_last = (
        known.state.over_ms(thing.name, thing.uid)
        or known.over_by.get(thing.key)
        or thing.so_far_ms
    )
    return max(at_last, place_ms(pod)) if at_last else last_change_ms(thing)


def _was_rejected(status: Mapping[str, Any]) -> bool:
    """Whether the node of a pod that is over refused to run it, as for want of CPU (OutOfcpu).

    Source: kubernetes v1.34 pkg/kubelet rejectPod, which states a reason and no container.
    """
    if status.get("phase") != "Failed" or not status.get("reason"):
        return False
    states = [
        one.get(name) or {}
        for one in status.get("containerStatuses") or ()
        for name in ("state", "lastState")
    ]
    if any(one.get("running") or one.get("terminated") for one in states):
        return False
    told = str(status.get("message") or "").casefold()
    return status["reason"] not in _HAD_RUN or _REJECTED in told


def _later(pod: dict[str, Any]) -> int | None:
    """The latest time after its beginning that an ended pod speaks of."""
    conditions = list(_conditions(pod, whatever=True))
    if evicted := [time for kind, time in conditions if kind == "DisruptionTarget"]:
        return max(evicted)
    status = pod.get("status") or {}
    began = [time for kind, time in conditions if kind in _BEGINNINGS]
    began += [time_ms(status["startTime"])] if status.get("startTime") else []
    deleted = pod["metadata"].get("deletionTimestamp")
    others = [time for kind, time in conditions if kind not in _BEGINNINGS]
    others += [time_ms(deleted)] if deleted else []
    return max((one for one in others if one > max(began, default=0)), default=None)


def _conditions(pod: Mapping[str, Any], *, whatever: bool = False) -> Iterator[tuple[str, int]]:
    """Type and time of the conditions that hold, or of all ``whatever`` they say."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one.get("lastTransitionTime") and (whatever or one.get("status") == "True"):
            yield str(one.get("type")), time_ms(one["lastTransitionTime"])
