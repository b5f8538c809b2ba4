"""Inputs of the OpenDC simulator: workload traces and topologies.

Facts: atlarge-research/opendc, its documentation of input files and the tests' own data.
"""

from functools import partial

from tracekit.intake.sources import ClusterFile, ClusterSource, Head
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._described import described
from tracekit.intake.sources._kind import Kind
from tracekit.intake.sources.released import _opendc_topology as topology

_TASKS = ("id", "submission_time", "duration", "cpu_count", "cpu_capacity", "mem_capacity")
_FRAGMENTS = ("id", "duration", "cpu_usage")
_FRAGMENT_COLUMNS = {*_FRAGMENTS, "gpu_usage", "cpu_count", "gpu_count", "mem_usage"}


def _is_tasks(head: Head) -> bool:
    return set(_TASKS) <= set(head.columns)


def _is_fragments(head: Head) -> bool:
    return set(_FRAGMENTS) <= set(head.columns) <= _FRAGMENT_COLUMNS


SOURCE = ClusterSource(
    name="opendc",
    title="Inputs of OpenDC: tasks, fragments of their use, topologies of hosts",
    url="https://github.com/atlarge-research/opendc",
    missing_names=frozenset({""}),
    licence="MIT for the files in its repository; traces elsewhere have their own",
    lacks=("placement", "use of memory", "network and disk", "services", "order between tasks"),
    inferred=(
        "cores in use: MHz of the fragment / MHz of the task x its cores",
        "when a fragment begins: where the one before it ends, the first at the submission",
        "departure: submission + duration",
        "unit of times: ms, but s for a file whose submissions are seconds since 1970",
        "unit of mem_capacity: MB, but KB for a file with a task of more than 4 TiB in MB",
    ),
    notes=(
        "memory without a unit is MB of 2^20 bytes, in tasks and topologies",
        "mem_capacity of the repository's bitbrains files is KB, though MB is documented",
        "times are ms, as documented; seconds since 1970 (small_gpu) are met",
    ),
    files=(
        *described(
            "opendc",
            Kind(
                word="tasks",
                title="tasks and what they ask for",
                columns="id! submission_time:number! duration:number! cpu_count:number"
                " cpu_capacity:number mem_capacity:number gpu_count:number gpu_capacity:number",
                rows=partial(named_frames, table="container", needed=_TASKS),
                recognises=_is_tasks,
                rules=(("duration", "duration <= 0", "more than 0"),),
                whole=True,
                alone=True,
            ),
            Kind(
                word="fragments",
                title="what tasks use, piece by piece",
                columns="id! duration:number! cpu_usage:number gpu_usage:number",
                rows=partial(named_frames, table="container_amount", needed=_FRAGMENTS),
                recognises=_is_fragments,
                rules=(("duration", "duration <= 0", "more than 0"),),
                beside=("tasks",),
                needs={"tasks": "ingest tasks.parquet and fragments.parquet together"},
                whole=True,
                alone=True,
            ),
        ),
        ClusterFile(
            word="topology",
            title="clusters of hosts",
            tables=("node", "node_resource"),
            recognises=topology.is_topology,
            read=topology.read_topology,
            alone=True,
        ),
    ),
)
