"""openb: nodes and pods of a GPU cluster, with requests and times of creation and deletion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.units import BYTES_PER_MIB, MS_PER_S
from tracekit.cluster.declared import UsedShare
from tracekit.cluster.loaders import WorkloadLoader, values
from tracekit.cluster.loaders._shape import Sizes, sizes
from tracekit.cluster.loaders._source_files import (
    all_good,
    files_at,
    headed,
    named,
    together,
    whole_rows,
)
from tracekit.cluster.provenance import ASSUMED, set_aside
from tracekit.cluster.workload import UNKNOWN, Workload
from tracekit.intake.sources._cluster import Head, Opened
from tracekit.intake.sources._rows import Rule, refuse
from tracekit.store.quantities import RECORDED

_NODE_NUMBERS = ("cpu_milli", "memory_mib", "gpu")
_POD_NUMBERS = (
    "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time",
)  # fmt: skip
_BACKWARD = Rule(
    column="deletion_time",
    broken=pl.col("deletion_time") < pl.col("creation_time"),
    expected="no time before creation_time",
)
#: What names a node or a pod, its numbers, and the table it comes to, by kind of list.
_LISTS = {"nodes": ("sn", _NODE_NUMBERS, "node"), "pods": ("name", _POD_NUMBERS, "container")}


@dataclass(frozen=True, kw_only=True)
class Openb(WorkloadLoader):
    """Pods ask for CPU, memory and GPUs; what they used, and where, was not published."""

    title: ClassVar[str] = "openb: 8,152 pods with creation and deletion, 1,523 nodes"
    source: ClassVar[str] = (
        "github.com/alibaba/clusterdata cluster-trace-gpu-v2023; Weng et al., USENIX ATC 2023"
    )
    files: ClassVar[str] = "openb_node_list_*.csv and openb_pod_list_*.csv"
    licence: ClassVar[str] = "none stated upstream"

    departures: Annotated[
        Literal["recorded", "none"],
        About(
            "none: every pod stays to the end, as in studies of how many nodes the pods need;"
            " recorded: a pod leaves when it was deleted, and then few nodes are ever busy."
        ),
    ] = "none"
    gpu: Annotated[
        Literal["ignore", "count"],
        About("count: GPUs are a resource, in thousandths, summed over the devices of a node."),
    ] = "ignore"
    used_share: UsedShare = 1.0
    step_ms: Annotated[int, About("Time between two samples.", minimum=1000)] = 10_800_000
    nodes: Annotated[str, About("The node list, where a folder holds several.")] = "all_node"
    pods: Annotated[str, About("The pod list, where a folder holds several.")] = "default"

    def load(self, path: Path, rng: np.random.Generator) -> Workload:  # noqa: ARG002
        """Read a node list and a pod list; pods arrive in order of creation, then of the file."""
        files = files_at(path)
        nodes = _rows("nodes", _one(files, "nodes", self.nodes, path))
        listed = _one(files, "pods", self.pods, path)
        pods = all_good(listed, refuse(_rows("pods", listed), [_BACKWARD], "container"))
        pods = pods.sort("creation_time", maintain_order=True)
        arrival, departure, times = self._times(pods)
        columns = self._sizes(nodes, pods)
        amounts = (columns.request[:, :2].T * self.used_share).astype(np.float32)
        return Workload(
            name="openb",
            step_ms=self.step_ms,
            times_ms=times,
            node_ids=tuple(nodes["sn"]),
            capacity=columns.capacity,
            container_ids=tuple(pods["name"]),
            services=(UNKNOWN,) * pods.height,
            recorded_node=np.full(pods.height, -1, dtype=np.int64),
            arrival_ms=arrival,
            departure_ms=departure,
            request=columns.request,
            nonzero_request=columns.request,
            limit=np.zeros_like(columns.request),
            usage=np.repeat(amounts[:, None], len(times), axis=1),
            background=np.zeros((2, len(times), nodes.height), dtype=np.float32),
            settled_ms=int(times[0]),
            resources=columns.resources,
            exchangeable=np.full(pods.height, self.departures == "none"),
            quantities={
                **dict.fromkeys(("node sizes", "requests"), RECORDED),
                **dict.fromkeys(("arrivals", "departures"), self._known_times()),
                **(
                    {"requests: gpu_milli": set_aside("gpu=ignore")} if self.gpu == "ignore" else {}
                ),
                "use of containers": ASSUMED,
            },
            assumptions=values(self),
            facts={"containers_of_no_duration": int((_duration(pods) == 0).sum())},
        )

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether a CSV there has the columns of a pod list."""
        return any(_has(head, "pods") for head, _ in files_at(path))

    def _known_times(self) -> str:
        """How times are known: the order alone is replayed of what never leaves, and is drawn."""
        return set_aside("departures=none") if self.departures == "none" else RECORDED

    def _times(self, pods: pl.DataFrame) -> tuple[IntArray, IntArray, IntArray]:
        arrival = _ms(pods["creation_time"])
        last = arrival if self.departures == "none" else _ms(pods["deletion_time"])
        start = int(arrival[0]) if len(arrival) else 0
        steps = -(-(int(last.max(initial=start)) - start) // self.step_ms)
        times = start + np.arange(steps + 1, dtype=np.int64) * self.step_ms
        if self.departures == "none":
            return arrival, np.full_like(arrival, times[-1] + self.step_ms), times
        return arrival, np.maximum(last, arrival + 1), times

    def _sizes(self, nodes: pl.DataFrame, pods: pl.DataFrame) -> Sizes:
        capacity = {
            "cpu_milli": nodes["cpu_milli"].to_numpy(),
            "memory_bytes": nodes["memory_mib"].to_numpy() * BYTES_PER_MIB,
            "gpu_milli": nodes["gpu"].to_numpy() * 1000,
        }
        request = {
            "cpu_milli": pods["cpu_milli"].to_numpy(),
            "memory_bytes": pods["memory_mib"].to_numpy() * BYTES_PER_MIB,
        }
        if self.gpu == "count":
            request["gpu_milli"] = pods["num_gpu"].to_numpy() * pods["gpu_milli"].to_numpy()
        return sizes(capacity, request)


def _duration(pods: pl.DataFrame) -> IntArray:
    return _ms(pods["deletion_time"]) - _ms(pods["creation_time"])


def _ms(seconds: pl.Series) -> IntArray:
    return np.round(seconds.to_numpy() * MS_PER_S).astype(np.int64)


def _has(head: Head, kind: str) -> bool:
    name, numbers, _ = _LISTS[kind]
    return headed(name, *numbers)(head)


def _rows(kind: str, opened: Opened) -> pl.DataFrame:
    """All rows of a list, with every number."""
    name, numbers, table = _LISTS[kind]
    return whole_rows(
        opened,
        lambda one: together(named(one, [name], numbers, table)),
        texts=[name],
        numbers=numbers,
    )


def _one(files: list[tuple[Head, Opened]], kind: str, wanted: str, path: Path) -> Opened:
    """The list of that kind; of several, the one whose name ends in ``wanted``."""
    found = [opened for head, opened in files if _has(head, kind)]
    if not found:
        name, numbers, _ = _LISTS[kind]
        raise TracekitError(
            f"'{path}' holds no CSV of {kind} with columns {', '.join((name, *numbers))}",
            hint=f"openb is two files: {Openb.files}",
        )
    meant = [opened for opened in found if Path(opened.name).stem.endswith(wanted)]
    if len(found) > 1 and len(meant) != 1:
        raise TracekitError(
            f"'{path}' holds {len(found)} lists of {kind}: {', '.join(one.name for one in found)}",
            hint=f"choose one by the end of its name: --assume {kind}=NAME",
        )
    return found[0] if len(found) == 1 else meant[0]
