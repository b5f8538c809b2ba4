"""The state out of a record: the end of a store, or what kubectl printed into files."""

import functools
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.fetch.kubernetes import unpacked
from tracekit.intake.sources import Opened
from tracekit.intake.sources.own._json_items import Cut
from tracekit.intake.sources.own._kubernetes.objects import Thing, things
from tracekit.live.feeds import apply
from tracekit.live.objects import LivePod, Node, Sizes
from tracekit.live.state import State
from tracekit.policy.view.pod import Pod, PodContainer


def load_store(state: State, store: Path, samples: int) -> float:
    """Nodes, pods and use as they are at the end of a store; the time of that in seconds."""
    load = source_of(store, None).load()
    last = len(load.use.times_ms) - 1
    for at, name in enumerate(load.nodes.ids):
        state.set_node(
            Node(
                name=name,
                capacity=_given(load, load.nodes.capacity[at]),
                allocatable=_given(load, load.nodes.allocatable[at]),
            )
        )
    for at in np.flatnonzero(load.present(last) & (load.containers.recorded_node >= 0)).tolist():
        state.set_pod(
            LivePod(
                uid=load.containers.ids[at],
                name=load.containers.ids[at],
                service=load.containers.services[at],
                node=load.nodes.ids[load.containers.recorded_node[at]],
                placed_ms=int(load.containers.arrival_ms[at]),
                sizes=_sizes(
                    _given(load, load.containers.request[at]),
                    _given(load, load.containers.limit[at]),
                ),
            )
        )
    for step in range(max(last + 1 - samples, 0), last + 1):
        state.use.add(int(load.use.times_ms[step]), _use(load, step))
    return float(load.use.times_ms[last]) / 1000


def load_objects(state: State, given: Path) -> None:
    """Nodes and pods in what kubectl printed: a file, or a folder of them."""
    for one in objects_in(given):
        apply(state, one.event or "ADDED", {"kind": one.kind, **one.value})
    if not state.nodes:
        raise TracekitError(
            f"no nodes in {given}",
            hint="give a store, or what 'kubectl get nodes,pods -A -o json' prints",
        )


def objects_in(given: Path) -> Iterator[Thing]:
    """The objects in what kubectl printed: a file, or a folder of them."""
    for file in sorted(given.glob("*.json*")) if given.is_dir() else [given]:
        plain = Opened(path=file, name=file.name, stream=functools.partial(_stream, file))
        found = things(unpacked(file) if file.suffix == ".gz" else plain)
        yield from (one for one in found if not isinstance(one, Cut))


def _stream(file: Path) -> BufferedIOBase:
    return file.open("rb")


def _given(load: Workload, row: Any) -> dict[str, int]:
    """The amounts of a row that are there, by column."""
    return {name: one for name, one in zip(load.resources, row.tolist(), strict=True) if one}


def _sizes(request: dict[str, int], limit: dict[str, int]) -> Sizes:
    pod = Pod(containers=(PodContainer(requests=request, limits=limit),))
    return Sizes(
        document={"containers": [{"requests": request, "limits": limit}]},
        pod=pod,
        request=pod.request(),
        nonzero=pod.nonzero_request(),
        limit=pod.limit(),
    )


def _use(load: Workload, step: int) -> dict[str, tuple[float, float]]:
    """Fractions of cpu and memory in use on each node at a step."""
    there = load.present(step) & (load.containers.recorded_node >= 0)
    used = load.use.background[:, step].astype(np.float64)
    for column in range(2):
        used[column] += np.bincount(
            load.containers.recorded_node[there],
            load.use.at(step)[column, there],
            minlength=load.nodes.count,
        )
    cpu, memory = (used / load.nodes.capacity[:, :2].T).tolist()
    return dict(zip(load.nodes.ids, zip(cpu, memory, strict=True), strict=True))
