"""Job logs of parallel computers in the Standard Workload Format.

Facts: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers",
JSSPP 1999; the Parallel Workloads Archive keeps the logs.
"""

import re

from tracekit.sources._cluster import ClusterFile, ClusterSource, Head
from tracekit.sources.released._swf_readers import FIELDS, read_log

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")


def _is_log(head: Head) -> bool:
    """A ``.swf`` whose lines are comments, then 18 numbers."""
    if not head.name.endswith(".swf"):
        return False
    lines = [line.split() for line in head.lines if line.strip()]
    first = next((line for line in lines if not line[0].startswith(";")), None)
    if first is None:
        return bool(lines)
    return len(first) == len(FIELDS) and all(_NUMBER.fullmatch(field) for field in first)


SOURCE = ClusterSource(
    name="swf",
    title="Job logs of parallel computers in the Standard Workload Format (SWF)",
    url="https://www.cs.huji.ac.il/labs/parallel/workload/",
    missing_names=frozenset({"", "-1"}),
    licence="Parallel Workloads Archive: free, acknowledge who gave the log, named in its header",
    files=(
        ClusterFile(
            word="log",
            title="jobs of one parallel computer",
            tables=(
                "node",
                "node_resource",
                "container",
                "container_resource",
                "container_amount",
            ),
            recognises=_is_log,
            read=read_log,
        ),
    ),
    lacks=("use over time: one mean a job", "placement", "network and disk", "memory of nodes"),
    inferred=(
        "a job is one container; its cores are the larger of requested and allocated processors",
        "departure: submission + run time, which is at least 1 s; what it waited is left out",
        "nodes: MaxNodes of MaxProcs / MaxNodes cores; one pool of MaxProcs if a job fits none",
    ),
    notes=(
        "times are since the log's start; UnixStartTime stays among the labels of the nodes",
        "memory is stated for a processor; KB is taken as 1,024 bytes",
        "sizes of partitions are not in the format",
    ),
)
