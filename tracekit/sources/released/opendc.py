"""Inputs of the OpenDC simulator: workload traces and topologies.

Facts: atlarge-research/opendc, its documentation of input files and the tests' own data.
"""

import re

from tracekit.sources._cluster import ClusterFile, ClusterSource, Head
from tracekit.sources.released._opendc_readers import (
    FRAGMENTS,
    TASKS,
    read_fragments,
    read_tasks,
    read_topology,
)

_FRAGMENT_COLUMNS = {*FRAGMENTS, "gpu_usage", "cpu_count", "gpu_count", "mem_usage"}
_TOPOLOGY = re.compile(rb'\s*\{\s*"clusters"\s*:\s*\[')


def _is_tasks(head: Head) -> bool:
    return set(TASKS) <= set(head.columns)


def _is_fragments(head: Head) -> bool:
    return set(FRAGMENTS) <= set(head.columns) <= _FRAGMENT_COLUMNS


def _is_topology(head: Head) -> bool:
    start = head.start
    return bool(_TOPOLOGY.match(start)) and b'"hosts"' in start and b'"coreCount"' in start


SOURCE = ClusterSource(
    name="opendc",
    title="Inputs of OpenDC: tasks, fragments of their use, topologies of hosts",
    url="https://github.com/atlarge-research/opendc",
    missing_names=frozenset({""}),
    licence="MIT for the files in its repository; traces elsewhere have their own",
    files=(
        ClusterFile(
            word="tasks",
            title="tasks and what they ask for",
            tables=("container", "container_resource"),
            recognises=_is_tasks,
            read=read_tasks,
            alone=True,
        ),
        ClusterFile(
            word="fragments",
            title="what tasks use, piece by piece",
            tables=("container_amount",),
            recognises=_is_fragments,
            read=read_fragments,
            alone=True,
        ),
        ClusterFile(
            word="topology",
            title="clusters of hosts",
            tables=("node", "node_resource"),
            recognises=_is_topology,
            read=read_topology,
            alone=True,
        ),
    ),
    lacks=("placement", "use of memory", "network and disk", "services", "order between tasks"),
    inferred=(
        "cores in use: MHz of the fragment / MHz of the task x its cores",
        "when a fragment begins: where the one before it ends, the first at the submission",
        "departure: submission + duration",
        "unit of mem_capacity: MB, but KB for a file with a task of more than 4 TiB in MB",
    ),
    notes=(
        "memory without a unit is MB of 2^20 bytes, in tasks and topologies",
        "mem_capacity of the repository's bitbrains files is KB, though MB is documented",
        "times are taken as ms, as documented; the repository's small_gpu holds seconds",
    ),
)
