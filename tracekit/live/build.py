"""Makes a server from policies and from the sources of nodes, pods and use."""

import functools
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.fetch.kubernetes import unpacked
from tracekit.intake.fetch.server import Server as Prometheus
from tracekit.intake.sources import Opened
from tracekit.intake.sources.own._json_items import BrokenItem
from tracekit.intake.sources.own._kubernetes.objects import Thing, things
from tracekit.live.extender import Extender, check_served
from tracekit.live.feeds import Poll, Watch, apply
from tracekit.live.objects import LivePod, Node, Sizes
from tracekit.live.serve import Server, log
from tracekit.live.shadow import Shadow
from tracekit.live.state import State
from tracekit.live.use import Use
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.pods import Pod, PodContainer
from tracekit.store.folder import Store


def load_store(state: State, store: Store, samples: int) -> float:
    """Load the nodes, pods and use at the end of a store's trace. Return that time, in s.

    ``samples`` is the number of newest samples of use to load.
    """
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
    """Load nodes and pods from a file or folder of kubectl's JSON output into the state."""
    for one in objects_in(given):
        apply(state, one.event or "ADDED", {"kind": one.kind, **one.value})
    if not state.nodes:
        raise TracekitError(
            f"no nodes in {given}",
            hint="give a store, or what 'kubectl get nodes,pods -A -o json' prints",
        )


def objects_in(given: Path) -> Iterator[Thing]:
    """Yield the objects in a file of kubectl's JSON output, or in a folder's ``*.json*`` files."""
    for file in sorted(given.glob("*.json*")) if given.is_dir() else [given]:
        plain = Opened(path=file, name=file.name, stream=functools.partial(_stream, file))
        objects = things(unpacked(file) if file.suffix == ".gz" else plain)
        yield from (one for one in objects if not isinstance(one, BrokenItem))


def _stream(file: Path) -> BufferedIOBase:
    return file.open("rb")


def _given(load: Workload, row: Any) -> dict[str, int]:
    """The amounts of a row that are not 0, by column."""
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
    """The used fractions of CPU and memory of each node at a step."""
    running = load.present(step) & (load.containers.recorded_node >= 0)
    used = load.use.background[:, step].astype(np.float64)
    for column in range(2):
        used[column] += np.bincount(
            load.containers.recorded_node[running],
            load.use.at(step)[column, running],
            minlength=load.nodes.count,
        )
    cpu, memory = (used / load.nodes.capacity[:, :2].T).tolist()
    return dict(zip(load.nodes.ids, zip(cpu, memory, strict=True), strict=True))


_KINDS = ("Node", "Pod")
#: The shortest span of a rate.
_RATE_S = 120
#: The longest delay after which a policy sees a sample.
_LATEST_MS = 600_000


def build_server(
    policies: Sequence[PlacementPolicy],
    begin: Store | Path | None,
    *,
    kubectl: str | None,
    prometheus: Prometheus | None,
    step_s: int,
    max_age_s: int,
    shadow: Path | None,
) -> Server:
    """Return a server that is not listening yet, with the state of ``begin``.

    Parameters
    ----------
    policies : sequence of PlacementPolicy
        The first one answers. The choices of the others are only recorded in ``shadow``.
    begin : Store or path, optional
        A store, or a file or folder of kubectl's JSON output.
    kubectl, prometheus : optional
        The sources of later changes to nodes and pods, and of node use every ``step_s``.
    max_age_s : int
        The age above which a sample of node use does not count.

    Raises
    ------
    TracekitError
        For a policy that cannot answer, for several without ``shadow``, and for a wrong source.
    """
    if not policies:
        raise TracekitError("no policy is given", hint="for example --policy least_allocated")
    if len(policies) > 1 and shadow is None:
        raise TracekitError(
            f"{len(policies)} policies are given, and one answers",
            hint="record the others beside it: --shadow FOLDER",
        )
    for policy in policies:
        check_served(policy)
    first, *others = policies
    samples = max(_samples(policy, step_s) for policy in policies)
    state = State(Use(most_age_ms=1000 * max_age_s, samples=samples))
    extender = Extender(state=state, policy=first)
    if isinstance(begin, Store):
        if kubectl or prometheus:
            raise TracekitError(
                f"{begin.path} is a record, which ends; a cluster goes on",
                hint="leave the store away, or --kubectl and --prometheus",
            )
        end_s = load_store(state, begin, samples)
        extender.clock = lambda: end_s
    elif begin is not None:
        load_objects(state, begin)
    kinds = _KINDS if kubectl else ()
    watches = [Watch(kind=one, kubectl=kubectl or "", state=state, log=log) for one in kinds]
    return Server(
        extender=extender,
        shadow=None
        if shadow is None
        else Shadow(folder=shadow, state=state, policy=first, others=others),
        watches=watches,
        poll=None
        if prometheus is None
        else Poll(
            server=prometheus,
            step_s=step_s,
            rate_s=max(_RATE_S, step_s),
            samples=samples,
            state=state,
            log=log,
        ),
        needs_use=prometheus is not None and any("usage" in one.reads for one in policies),
    )


def _samples(policy: PlacementPolicy, step_s: int) -> int:
    """How many samples a policy reads, from the present backwards."""
    late_ms = max(now - policy.metric_time_ms(now) for now in range(0, _LATEST_MS, 1000))
    return policy.metric_samples() + late_ms // (1000 * step_s) + 1
