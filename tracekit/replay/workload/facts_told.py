"""Words for the counts made while a workload is built; terminal and report share them."""

from collections.abc import Mapping, Sequence

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.workload.resources import short_names
from tracekit.store import Store
from tracekit.store.quantities import ABSENT, INFERRED, RECORDED, quantities
from tracekit.words import agreeing, counted

#: Who is in no step, and what part of the containers' time that is, in percent.
BETWEEN, BETWEEN_PERCENT = "containers_between_samples", "container_time_between_samples_percent"
#: What a reader must know before the numbers of a replay, by the name of the fact.
_BENDING = {
    "containers_not_listed": (
        "[container has|containers have] a request and [is|are] not listed, and [is|are] not"
        " replayed (tracekit check STORE names broken rows)"
    ),
    "containers_gated": (
        "[container has|containers have] scheduling gates: no scheduler may place [it|them] yet,"
        " and no policy is asked to"
    ),
    "containers_departed_before": (
        "[container had|containers had] departed when the replay begins, and [is|are] not"
        " replayed (it begins with the recorded use, if there is any; times of containers and of"
        " use must count from one moment)"
    ),
    "containers_without_request": (
        "[container requests|containers request] nothing, and [fits|fit] wherever there is a node"
    ),
    "containers_with_request_as_use": (
        "[container has|containers have] no recorded use: what [it requests|they request] stands in"
        " for it"
    ),
    "containers_with_request_as_cpu_use": (
        "[container has|containers have] use of memory but none of CPU: what"
        " [it requests|they request] of it stands in"
    ),
    "containers_with_request_as_memory_use": (
        "[container has|containers have] use of CPU but none of memory: what"
        " [it requests|they request] of it stands in"
    ),
    "containers_on_unknown_nodes": (
        "[container|containers] ran on nodes that are not listed, or set aside"
    ),
    "containers_with_rules_not_held": (
        "[container has|containers have] rules that the replay does not hold (column not_held of"
        " the table container)"
    ),
    "container_steps_held": (
        "[step of a container has no sample of its|steps of containers have no sample of their]"
        " own: the last one before holds, or the first one where there is none before"
    ),
    "steps_without_any_sample": (
        "[step has|steps have] no sample of any container, although there are some before and"
        " after: what each container used last holds, and averages count [this step|these steps]"
        " too"
    ),
    "gangs_short_of_members": (
        "[gang has|gangs have] fewer members than [it says|they say] must run together: those that"
        " there are count as enough, where a scheduler of gangs would let them wait"
    ),
    "nodes_empty_while_away": (
        "[node is|nodes are] lost, away for a while or not there from the start: while [it is|they"
        " are] away, means, deviations, spreads and shares over all nodes count [it as an empty"
        " node|them as empty nodes], so that nodes seem less even, and less full, than those that"
        " are there"
    ),
    BETWEEN: (
        "[container comes and goes|containers come and go] between two steps of the replay:"
        " [it is|they are] placed, and in no measure (--assume step_ms=N makes more steps)"
    ),
    "usage_samples_outside_lives": (
        "[sample of use is from before its|samples of use are from before their] container"
        " arrived or after it departed, and not used"
    ),
}
#: How the names of facts about constraints begin.
_CONSTRAINT = "constraint_"
#: Said by names where a document has them.
LOST = "nodes_lost"
#: What the workload itself tells in a sentence, by name.
_NAMED = frozenset(
    f"containers_{why}"
    for why in (
        "set_aside_too_large",
        "set_aside_shut_out",
        "set_aside_lacking",
        "left_waiting",
        "left_waiting_too_large",
    )
)
#: What changes little, and is told where there is room.
_FURTHER = {
    "rows_incomplete": "[sample that lacks|samples that lack] a resource, left out",
    "rows_stray": "[sample of a time|samples of times] far from all others, left out",
    "nodes_without_usage": "[node|nodes] without recorded use",
    "containers_on_several_nodes": (
        "[container|containers] recorded on several nodes, of which the one with most samples"
        " counts"
    ),
    "containers_with_assumed_request": "[container|containers] with an assumed request",
    "containers_pinned": (
        "[container is tied to its|containers are tied to their] node, as those of daemons are"
    ),
    "containers_pinned_over_capacity": (
        "[container is|containers are] tied to a node that had too little room for [it|them]"
    ),
    "containers_sized": (
        "[container has|containers have] the requests that tracekit requests chose for [it|them]"
    ),
    "containers_sized_like_their_service": (
        "[container has|containers have] the requests that tracekit requests chose for others of"
        " [its|their] service"
    ),
    "containers_in_the_file_of_requests": (
        "[container has|containers have] requests of the file that was given"
    ),
    "containers_without_call_rate": "[container|containers] without a recorded rate of calls",
    "containers_of_no_duration": (
        "[container that ended when it|containers that ended when they] began"
    ),
    "containers_without_recorded_node": "[container|containers] without a recorded node",
    "anti_affinity_rules": "[rule that keeps|rules that keep] containers apart",
    "anti_affinity_broken_by_recorded": "of these rules [was|were] broken in production",
    LOST: "[node was|nodes were] lost on the way",
}


def bending(facts: Mapping[str, int]) -> list[str]:
    """The facts that distort a replay's numbers, in the order of the words; none that is 0."""
    told = {name: words for name, words in _BENDING.items() if facts.get(name)}
    if BETWEEN in told:
        percent = facts.get(BETWEEN_PERCENT, 0)
        share = f"{percent} %" if percent else "less than 1 %"
        told[BETWEEN] += f"; of the time that all containers are there that is {share}"
    return [agreeing(facts[name], words) for name, words in told.items()]


def facts_told(facts: Mapping[str, int]) -> list[str]:
    """Everything that was counted and is not 0; a name without words is said as it is."""
    further = [
        _told(name, value)
        for name, value in facts.items()
        if value and name not in _BENDING and name not in _NAMED and name != BETWEEN_PERCENT
    ]
    return [*bending(facts), *further]


def _told(name: str, value: int) -> str:
    kind = name.removeprefix(_CONSTRAINT)
    if kind != name:
        words = f"[container has|containers have] rules of the kind {kind.replace('_', ' ')}"
        return agreeing(value, words)
    further = _FURTHER.get(name)
    return agreeing(value, further) if further else f"{name.replace('_', ' ')}: {value:,}"


ASSUMED = "assumed"
#: Of a file of the user's own, or by ``tracekit requests``.
CHOSEN = "chosen"
#: Recorded, and not replayed, for an assumption says so: this and the assumption.
SET_ASIDE = "recorded, but set aside by"


def set_aside(by: str) -> str:
    """How a quantity is known that stands in the files and that an assumption does not read."""
    return f"{SET_ASIDE} {by}"


def rests_on(store: Store, *needed: str) -> dict[str, str]:
    """The quantities of a store; those that are needed and absent are assumed."""
    return {
        name: ASSUMED if kind == ABSENT and name in needed else kind
        for name, kind in quantities(store).items()
    }


def requests_rest_on(rests: Mapping[str, str]) -> dict[str, str]:
    """The origin of requests: the least certain of all resources, and that of each."""
    return _each("requests", rests)


def nodes_rest_on(rests: Mapping[str, str]) -> dict[str, str]:
    """The origin of nodes' sizes, likewise."""
    return _each("node sizes", rests)


def reserved_rests_on(reserved: IntArray | None) -> dict[str, str]:
    """The origin of reserved amounts; empty where nothing is reserved."""
    return (
        {}
        if reserved is None
        else {"what is kept free for use that no container explains": INFERRED}
    )


def use_rests_on(unknown: BoolArray) -> dict[str, str]:
    """Whose use is assumed, where that of others is recorded.

    Parameters
    ----------
    unknown : bool, shape (2, containers)
        Whose use of CPU, and of memory, is not recorded.
    """
    silent, containers = unknown.all(axis=0), unknown.shape[1]
    if silent.all():
        return {"use of containers": ASSUMED}
    counts = {
        "use": int(silent.sum()),
        "CPU use": int((unknown[0] & ~silent).sum()),
        "memory use": int((unknown[1] & ~silent).sum()),
    }
    return {
        f"{what} of {count:,} of {counted(containers, 'container')}": ASSUMED
        for what, count in counts.items()
        if count
    }


def in_words(resources: Sequence[str]) -> str:
    """Resources in a sentence: disk and network."""
    names = [name.removesuffix("_milli").replace("_", " ") for name in short_names(resources)]
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def further_told(used: Sequence[str]) -> tuple[str, ...]:
    """A sentence on the resources beyond CPU and memory whose use is recorded; none of none."""
    if not used:
        return ()
    counts = "what is recorded counts as use, and what is requested where nothing is recorded"
    return (f"of {in_words(used)} {counts}",)


def unpriced_told(prices: FloatArray | None) -> tuple[str, ...]:
    """A sentence where some nodes have a price and others none; NaN is one that is not known."""
    lacking = 0 if prices is None else int(np.isnan(prices).sum())
    if prices is None or not lacking:
        return ()
    return (
        f"what nodes in use cost is not known, as {lacking:,} of {len(prices):,} have no price",
    )


def further_rests_on(
    used: Sequence[str], lacking: Sequence[int], containers: int
) -> dict[str, str]:
    """What the use of these resources rests on.

    Parameters
    ----------
    lacking : of how many containers each is not recorded, so that requests stand in
    """
    return {
        **{f"use of {in_words([name])}": RECORDED for name in used},
        **{
            f"use of {in_words([name])} of {count:,} of {counted(containers, 'container')}": ASSUMED
            for name, count in zip(used, lacking, strict=True)
            if count
        },
    }


def _each(quantity: str, rests: Mapping[str, str]) -> dict[str, str]:
    order = (ASSUMED, CHOSEN, INFERRED, RECORDED)
    whole = min(rests.values(), key=order.index)
    return {quantity: whole, **{f"{quantity}: {name}": kind for name, kind in rests.items()}}
