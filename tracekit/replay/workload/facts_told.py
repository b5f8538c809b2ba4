"""What was counted while a workload was made, in words; terminal and report say the same."""

from __future__ import annotations

from collections.abc import Mapping

#: What a reader must know before the numbers of a replay, by the name of the fact.
_BENDING = {
    "containers_without_request": ("containers request nothing, and fit wherever there is a node"),
    "containers_with_request_as_use": (
        "containers have no recorded use: what they request stands in for it"
    ),
    "containers_with_request_as_cpu_use": (
        "containers have use of memory but none of CPU: what they request of it stands in"
    ),
    "containers_with_request_as_memory_use": (
        "containers have use of CPU but none of memory: what they request of it stands in"
    ),
    "containers_on_unknown_nodes": "containers ran on nodes that are not listed, or set aside",
    "containers_with_rules_not_held": (
        "containers have rules that the replay does not hold (column not_held of the table"
        " container)"
    ),
    "container_steps_held": (
        "steps of containers have no sample of their own: the last one before holds, or the first"
        " one where there is none before"
    ),
    "steps_without_any_sample": (
        "steps have no sample of any container, although there are some before and after: what each"
        " container used last holds, and averages count these steps too"
    ),
    "usage_samples_outside_lives": (
        "samples of use are from before their container arrived or after it departed, and not used"
    ),
}
#: What the workload itself tells in a sentence, by name.
_NAMED = frozenset({"containers_set_aside_too_large"})
#: What changes little, and is told where there is room.
_FURTHER = {
    "rows_incomplete": "samples that lack a resource, left out",
    "rows_stray": "samples of times far from all others, left out",
    "nodes_without_usage": "nodes without recorded use",
    "containers_on_several_nodes": (
        "containers recorded on several nodes, of which the one with most samples counts"
    ),
    "containers_with_assumed_request": "containers with an assumed request",
}


def bending(facts: Mapping[str, int]) -> list[str]:
    """What bends the numbers of a replay, in the order of the words; nothing of what is 0."""
    return [f"{facts[name]:,} {words}" for name, words in _BENDING.items() if facts.get(name)]


def facts_told(facts: Mapping[str, int]) -> list[str]:
    """Everything that was counted and is not 0; a name without words is said as it is."""
    further = [
        f"{_FURTHER.get(name, name.replace('_', ' '))}: {value:,}"
        for name, value in facts.items()
        if value and name not in _BENDING and name not in _NAMED
    ]
    return [*bending(facts), *further]
